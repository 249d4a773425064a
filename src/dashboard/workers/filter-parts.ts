/**
 * @module dashboard/workers/filter-parts
 * Splits the text of a worker filter into its terms, and changes single terms of it. The rest of the text stays as the
 * user has typed it.
 */

export interface FilterPart {
  readonly negated: boolean
  /** The field in lower case; null for a text. */
  readonly name: string | null
  readonly value: string
  /** Index of the first character of the term, and of the one behind it. */
  readonly from: number
  readonly to: number
  /** Index of the first character of the value. */
  readonly valueFrom: number
}

/** Matches a word, or a field with its value. Quotes keep spaces and colons. */
const TERM = /(?<minus>-?)(?:(?<name>[a-zA-Z_]+):)?(?:"(?<quoted>[^"]*)"?|(?<plain>[^\s"]*))/g

export function partsOf(text: string): readonly FilterPart[] {
  return [...text.matchAll(TERM)].flatMap(({ 0: { length }, index, groups = {} }) => {
    const { minus = '', name, quoted, plain } = groups
    const value = quoted ?? plain ?? ''
    if (name === undefined && value === '') return []
    const valueFrom = index + minus.length + (name === undefined ? 0 : name.length + 1)
    return [
      { negated: minus === '-', name: name?.toLowerCase() ?? null, value, from: index, to: index + length, valueFrom },
    ]
  })
}

const textOf = (text: string, parts: readonly FilterPart[]): string =>
  parts.map(({ from, to }) => text.slice(from, to)).join(' ')

const isOf = ({ negated, name }: FilterPart, fields: readonly string[]): boolean =>
  !negated && name !== null && fields.includes(name)

/** Whether the filter has this term, such as `state:error`. */
export function hasTerm(text: string, term: string): boolean {
  return partsOf(text).some(({ from, to }) => text.slice(from, to).toLowerCase() === term)
}

/** Removes the terms of these fields that are not negated. */
export function withoutFields(text: string, fields: readonly string[]): string {
  return textOf(
    text,
    partsOf(text).filter((part) => !isOf(part, fields)),
  )
}

/** Removes the term if the filter has it. Otherwise it replaces the terms of these fields. */
export function toggledTerm(text: string, term: string, fields: readonly string[]): string {
  const rest = withoutFields(text, fields)
  return hasTerm(text, term) ? rest : `${rest} ${term}`.trim()
}
