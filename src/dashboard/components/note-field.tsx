/** @module dashboard/components/note-field  The field for why something is done, which other users see. */
import { useId } from 'react'

export interface NoteFieldProps {
  readonly note: string
  readonly onNote: (note: string) => void
}

export function NoteField({ note, onNote }: NoteFieldProps) {
  const id = useId()
  return (
    <div>
      <label htmlFor={id}>Note, shown to everybody</label>
      <input
        id={id}
        type="text"
        maxLength={256}
        value={note}
        placeholder="why"
        onChange={(event) => onNote(event.target.value)}
      />
    </div>
  )
}
