/** @module dashboard/components/moment-input  A field for a date and a time, in the time zone that the user prefers. */
import { preferences } from '../settings/preferences.ts'

export interface MomentInputProps {
  readonly id: string
  readonly value: string
  /** The earliest time, as the field writes it. */
  readonly min?: string
  readonly isInvalid: boolean
  readonly onChange: (value: string) => void
}

export function MomentInput({ id, value, min, isInvalid, onChange }: MomentInputProps) {
  return (
    <span className="moment-input">
      <input
        id={id}
        type="datetime-local"
        value={value}
        min={min}
        aria-invalid={isInvalid}
        onChange={(event) => onChange(event.target.value)}
      />
      {preferences().utc && <span className="soft"> UTC</span>}
    </span>
  )
}
