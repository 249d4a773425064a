/**
 * @module dashboard/components/option-list
 * Renders the options of a combobox. The field that controls the list keeps the focus and handles the keys.
 */
/* oxlint-disable jsx-a11y/prefer-tag-over-role -- a combobox */
/* oxlint-disable jsx-a11y/no-noninteractive-element-to-interactive-role -- a combobox */
/* oxlint-disable jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus -- so has the field */

export interface OptionListProps<T> {
  /** ID of the list; an option has this ID, a hyphen and its index. */
  readonly id: string
  readonly label: string
  readonly className: string
  readonly options: readonly T[]
  /** Index of the marked option; -1 if there is none. */
  readonly marked: number
  readonly keyOf: (option: T) => string
  readonly textOf: (option: T) => string
  /** What is shown at the end of the row. */
  readonly noteOf: (option: T) => string
  readonly onTake: (option: T) => void
}

export function OptionList<T>(props: OptionListProps<T>) {
  const { id, label, className, options, marked, keyOf, textOf, noteOf, onTake } = props
  return (
    <ul role="listbox" id={id} aria-label={label} className={className}>
      {options.map((option, index) => (
        <li
          key={keyOf(option)}
          id={`${id}-${index}`}
          role="option"
          aria-selected={index === marked}
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => onTake(option)}
        >
          <bdi>{textOf(option)}</bdi> <span className="soft">{noteOf(option)}</span>
        </li>
      ))}
    </ul>
  )
}
