/**
 * @module dashboard/components/filter-bar
 * Renders a filter field with the number of matches and errors in the filter. The key `/` focuses it.
 */
import { useId, type ReactNode } from 'react'
import { useAnnouncement } from './announcements.tsx'
import { countText } from './numbers.ts'

export interface FilterBarProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly placeholder?: string
  /** Error message if the filter, or a part of it, is invalid. */
  readonly fault?: string | null
  readonly found: number
  readonly total: number
  /** Controls at the end of the filter bar. */
  readonly children?: ReactNode
}

export function FilterBar({
  label,
  value,
  onChange,
  placeholder,
  fault = null,
  found,
  total,
  children,
}: FilterBarProps) {
  const id = useId()
  const count = found === total ? countText(total) : `${countText(found)} of ${countText(total)}`
  useAnnouncement(label, `${count} found.`)
  return (
    <div className="filter">
      <label htmlFor={id} className="hidden">
        {label}
      </label>
      <input
        id={id}
        type="search"
        data-filter=""
        value={value}
        placeholder={placeholder}
        spellCheck={false}
        autoCapitalize="off"
        autoComplete="off"
        enterKeyHint="search"
        aria-invalid={fault !== null}
        aria-describedby={`${id}-fault`}
        onChange={(event) => onChange(event.target.value)}
      />
      <span className="found soft">{count}</span>
      {children}
      <output id={`${id}-fault`} className="fault">
        {fault}
      </output>
    </div>
  )
}
