/**
 * @module dashboard/components/filter-bar
 * Renders a filter field with the number of matches and errors in the filter. The key `/` focuses it.
 */
import { useId, type ReactNode } from 'react'
import { useAnnouncement } from './announcements.tsx'
import { FilterInput } from './filter-input.tsx'
import type { FilterSuggestion } from './filter-suggestion.ts'
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
  /** Moves the focus to the first match, for Enter and ↓ in the field. */
  readonly onLeave?: () => void
  /** Suggestions for the filter and the index of the cursor in it. */
  readonly suggest?: (value: string, caret: number) => readonly FilterSuggestion[]
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
  onLeave,
  suggest,
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
      <FilterInput
        id={id}
        value={value}
        onChange={onChange}
        placeholder={placeholder}
        describedBy={`${id}-fault`}
        isInvalid={fault !== null}
        onLeave={onLeave}
        suggest={suggest}
      />
      <span className="found soft">{count}</span>
      {children}
      <output id={`${id}-fault`} className="fault">
        {fault}
      </output>
    </div>
  )
}
