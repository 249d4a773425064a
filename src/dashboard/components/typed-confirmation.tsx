/**
 * @module dashboard/components/typed-confirmation
 * The field in which the user types a name or a number before a large irreversible action can start.
 */
import { useId } from 'react'

export interface TypedConfirmationProps {
  /** The text to type. */
  readonly expected: string
  readonly value: string
  readonly onChange: (value: string) => void
}

export function TypedConfirmation({ expected, value, onChange }: TypedConfirmationProps) {
  const id = useId()
  return (
    <p className="typed">
      <label htmlFor={id}>
        Type{' '}
        <code>
          <bdi>{expected}</bdi>
        </code>{' '}
        to confirm
      </label>{' '}
      <input
        id={id}
        type="text"
        autoComplete="off"
        spellCheck={false}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </p>
  )
}
