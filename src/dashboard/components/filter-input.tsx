/**
 * @module dashboard/components/filter-input
 * Renders the field of a filter. Escape leaves it and keeps the filter. Enter, and ↓ below the last suggestion, lead to
 * the first match. With suggestions the field is a combobox: ↓ and ↑ move in the list, Enter takes the marked one.
 */
/* oxlint-disable jsx-a11y/prefer-tag-over-role -- a combobox */
import { useId, useRef, useState } from 'react'
import type { FilterSuggestion } from './filter-suggestion.ts'
import { OptionList } from './option-list.tsx'

export interface FilterInputProps {
  readonly id: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly placeholder: string | undefined
  readonly describedBy: string
  readonly isInvalid: boolean
  /** Moves the focus to the first match. */
  readonly onLeave: (() => void) | undefined
  readonly suggest: ((value: string, caret: number) => readonly FilterSuggestion[]) | undefined
}

export function FilterInput(props: FilterInputProps) {
  const { id, value, onChange, placeholder, describedBy, isInvalid, onLeave, suggest } = props
  const listId = useId()
  const field = useRef<HTMLInputElement>(null)
  /** The cursor while suggestions are shown; null otherwise. */
  const [caret, setCaret] = useState<number | null>(null)
  const [marked, setMarked] = useState(-1)
  const items = caret === null || suggest === undefined ? [] : suggest(value, caret)
  const show = (at: number | null): void => {
    setCaret(at)
    setMarked(-1)
  }
  const take = ({ q, caret: at, isOpen }: FilterSuggestion): void => {
    onChange(q)
    show(isOpen ? at : null)
    // After the new value is in the field.
    requestAnimationFrame(() => field.current?.setSelectionRange(at, at))
  }
  const onKeyDown = (event: React.KeyboardEvent<HTMLInputElement>): void => {
    if (event.nativeEvent.isComposing) return
    const act = actOf(event.key, items, marked, { mark: setMarked, take, onLeave })
    if (act === null) return
    event.preventDefault() // A browser would clear the field on Escape.
    if (event.key === 'Escape') event.currentTarget.blur()
    act()
  }
  const isShown = items.length > 0
  return (
    <div className="filter-input">
      <input
        ref={field}
        id={id}
        type={suggest === undefined ? 'search' : 'text'}
        data-filter=""
        value={value}
        placeholder={placeholder}
        spellCheck={false}
        autoCapitalize="off"
        autoComplete="off"
        enterKeyHint="search"
        aria-invalid={isInvalid && !isShown}
        aria-describedby={describedBy}
        onChange={({ target }) => {
          onChange(target.value)
          show(target.selectionStart)
        }}
        onKeyDown={onKeyDown}
        onBlur={() => show(null)}
        {...(suggest !== undefined && {
          role: 'combobox',
          'aria-autocomplete': 'list',
          'aria-expanded': isShown,
          'aria-controls': isShown ? listId : undefined,
          'aria-activedescendant': marked >= 0 && isShown ? `${listId}-${marked}` : undefined,
        })}
      />
      {isShown && <OptionList {...SUGGESTIONS} id={listId} options={items} marked={marked} onTake={take} />}
    </div>
  )
}

interface KeyActs {
  readonly mark: (index: number) => void
  readonly take: (item: FilterSuggestion) => void
  readonly onLeave: (() => void) | undefined
}

/** What a key does in the field; null if the browser handles it. */
function actOf(
  key: string,
  items: readonly FilterSuggestion[],
  marked: number,
  { mark, take, onLeave }: KeyActs,
): (() => void) | null {
  const item = items[marked]
  switch (key) {
    case 'Escape':
      return () => {}
    case 'Enter':
      return item === undefined ? (onLeave ?? null) : () => take(item)
    case 'ArrowDown':
      return marked < items.length - 1 ? () => mark(marked + 1) : (onLeave ?? null)
    case 'ArrowUp':
      return items.length === 0 ? null : () => mark(Math.max(-1, marked - 1))
    default:
      return null
  }
}

const textOf = ({ text }: FilterSuggestion): string => text
const SUGGESTIONS = {
  label: 'Suggestions',
  className: 'suggestions',
  keyOf: textOf,
  textOf,
  noteOf: ({ note }: FilterSuggestion): string => note,
}
