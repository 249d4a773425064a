/**
 * @module dashboard/components/note-and-end
 * The fields of a dialog for something that others see and that ends by itself, such as a pause: a note and an end.
 */
import { useId } from 'react'
import { NoteField, type NoteFieldProps } from './note-field.tsx'

export interface NoteAndEndProps<End extends { readonly text: string }> extends NoteFieldProps {
  readonly ends: readonly [End, ...End[]]
  readonly end: End
  readonly onEnd: (end: End) => void
}

export function NoteAndEnd<End extends { readonly text: string }>({
  note,
  onNote,
  ends,
  end,
  onEnd,
}: NoteAndEndProps<End>) {
  const id = useId()
  return (
    <div className="columns">
      <NoteField note={note} onNote={onNote} />
      <div>
        <label htmlFor={id}>End</label>
        <select
          id={id}
          value={end.text}
          onChange={(event) => onEnd(ends.find((each) => each.text === event.target.value) ?? ends[0])}
        >
          {ends.map((each) => (
            <option key={each.text}>{each.text}</option>
          ))}
        </select>
      </div>
    </div>
  )
}
