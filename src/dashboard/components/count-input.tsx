/** @module dashboard/components/count-input  A labelled field for the number of items of an inspection or action. */
import { useId } from 'react'

export interface CountInputProps {
  readonly label: string
  readonly value: string
  readonly isInvalid: boolean
  readonly placeholder?: string
  readonly onChange: (value: string) => void
}

export function CountInput({ label, value, isInvalid, placeholder, onChange }: CountInputProps) {
  const id = useId()
  return (
    <>
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        className="short number"
        type="text"
        inputMode="numeric"
        value={value}
        placeholder={placeholder}
        aria-invalid={isInvalid}
        onChange={(event) => onChange(event.target.value)}
      />
    </>
  )
}
