/**
 * @module dashboard/components/search-form
 * A form that filters a list at the master: choices filter immediately, texts when they are submitted. The key `/`
 * focuses its first text.
 */
import { useId, useState, type SyntheticEvent } from 'react'

interface SearchChoice<Name extends string> {
  readonly name: Name
  readonly label: string
  /** The option that does not filter: `All states`. */
  readonly all: string
  readonly value: string
  /** Values and their texts. */
  readonly options: readonly (readonly [value: string, text: string])[]
}

interface SearchText<Name extends string> {
  readonly name: Name
  readonly label: string
  readonly placeholder: string
  readonly value: string
  readonly maxLength?: number
  /** Why the text cannot filter; null if it can. */
  readonly faultOf?: (text: string) => string | null
}

export interface SearchFormProps<Name extends string> {
  readonly choices: readonly SearchChoice<Name>[]
  readonly texts: readonly SearchText<Name>[]
  /** @param fields All of them, trimmed. */
  readonly onSearch: (fields: Readonly<Record<Name, string>>) => void
}

export function SearchForm<Name extends string>({ choices, texts, onSearch }: SearchFormProps<Name>) {
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({})
  const id = useId()
  const valueOf = ({ name, value }: SearchText<Name>): string => typed[name] ?? value
  const entries = [
    ...choices.map(({ name, value }) => [name, value]),
    ...texts.map((each) => [each.name, valueOf(each).trim()]),
  ]
  const fields = Object.fromEntries(entries) as Readonly<Record<Name, string>>
  const faults = texts.map((each) => each.faultOf?.(valueOf(each).trim()) ?? null)
  const fault = faults.find((each) => each !== null) ?? null
  const search = (change: Readonly<Record<string, string>>): void => {
    if (fault === null) onSearch({ ...fields, ...change })
  }
  const onSubmit = (event: SyntheticEvent): void => {
    event.preventDefault()
    search({})
  }
  return (
    <form className="filter" aria-label="Filter" onSubmit={onSubmit}>
      {choices.map(({ name, label, all, value, options }) => (
        <span key={name}>
          <select aria-label={label} value={value} onChange={({ target }) => search({ [name]: target.value })}>
            <option value="">{all}</option>
            {options.map(([each, text]) => (
              <option key={each} value={each}>
                {text}
              </option>
            ))}
          </select>
        </span>
      ))}
      {texts.map((each, at) => (
        <input
          key={each.name}
          type="search"
          spellCheck={false}
          autoCapitalize="off"
          autoComplete="off"
          {...(at === 0 && { 'data-filter': '' })}
          maxLength={each.maxLength}
          aria-label={each.label}
          placeholder={each.placeholder}
          value={valueOf(each)}
          aria-invalid={faults[at] !== null}
          aria-describedby={faults[at] === null ? undefined : `${id}-fault`}
          onChange={({ target }) => setTyped({ ...typed, [each.name]: target.value })}
        />
      ))}
      <button type="submit" disabled={fault !== null}>
        Search
      </button>
      <output id={`${id}-fault`} className="fault">
        {fault}
      </output>
    </form>
  )
}
