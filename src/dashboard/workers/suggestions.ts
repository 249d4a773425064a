/**
 * @module dashboard/workers/suggestions
 * Suggests fields of the filter and values that occur in the fleet, for the term at the cursor:
 *
 *   st         state:
 *   state:e    state:error 63
 *   label:z    label:zone
 */
import type { FilterSuggestion } from '../components/filter-suggestion.ts'
import { countText } from '../components/numbers.ts'
import { STATE_WORDS, stateWord } from './display-state.ts'
import { partsOf, type FilterPart } from './filter-parts.ts'
import { managerOf } from './managed.ts'
import type { WorkerRow } from './row.ts'

const MOST = 8

/** The rows of the store, or an array. */
type Rows = Pick<ReadonlyMap<string, WorkerRow>, 'values'> | readonly WorkerRow[]
type Counts = ReadonlyMap<string, number>

type ValuesOf = (row: WorkerRow, nowSeconds: number) => readonly string[]

interface Field {
  readonly name: string
  readonly note: string
  /** The values of a row; null for a number, of which none is suggested. */
  readonly valuesOf: ValuesOf | null
}

const yesNo: ValuesOf = () => []

const FIELDS: readonly Field[] = [
  { name: 'state', note: 'state', valuesOf: (row, now) => [stateWord(row, now).toLowerCase()] },
  { name: 'type', note: 'automation type', valuesOf: ({ automation_type: type }) => [type] },
  { name: 'host', note: 'host name', valuesOf: ({ hardware: { hostname } }) => [hostname] },
  { name: 'label', note: 'label', valuesOf: labelValues },
  { name: 'managed', note: 'managed elsewhere', valuesOf: managedValues },
  { name: 'set', note: 'FleetWorkerSet', valuesOf: setValues },
  {
    name: 'revision',
    note: 'revision of the config',
    valuesOf: ({ config_revision: revision }) => (revision == null ? [] : [revision.split('/')[0] ?? revision]),
  },
  { name: 'online', note: 'connected', valuesOf: yesNo },
  { name: 'enabled', note: 'enabled in the config', valuesOf: yesNo },
  { name: 'behind', note: 'applied config is outdated', valuesOf: yesNo },
  { name: 'error', note: 'has a last error', valuesOf: yesNo },
  { name: 'cpu', note: 'CPU in percent, such as >80', valuesOf: null },
  { name: 'rss', note: 'memory, such as >1gb', valuesOf: null },
  { name: 'slots', note: 'number of slots', valuesOf: null },
  { name: 'seen', note: 'time since last seen, such as >30s', valuesOf: null },
]

function labelValues({ labels = {} }: WorkerRow): readonly string[] {
  return Object.entries(labels).flatMap(([key, value]) => [key, `${key}=${value}`])
}

/** Not the sets, which have a field of their own. */
function managedValues({ managed_by: by }: WorkerRow): readonly string[] {
  const manager = by === null ? null : managerOf(by)
  return manager === null || (manager.kind === 'kubernetes' && manager.of === 'FleetWorkerSet') ? [] : [manager.name]
}

function setValues({ managed_by: by }: WorkerRow): readonly string[] {
  const manager = by === null ? null : managerOf(by)
  return manager?.kind === 'kubernetes' && manager.of === 'FleetWorkerSet' ? [manager.name] : []
}

/** @param caret Index of the cursor in `q`. */
export function suggestionsOf(q: string, caret: number, rows: Rows, nowSeconds: number): readonly FilterSuggestion[] {
  const part = partsOf(q).find(({ from, to }) => from < caret && caret <= to)
  if (part === undefined || q.charAt(part.valueFrom) === '"') return []
  return part.name === null ? fieldSuggestions(q, part, rows, nowSeconds) : valueSuggestions(q, part, rows, nowSeconds)
}

/** Fields that begin with the word, and states and types that do. */
function fieldSuggestions(q: string, part: FilterPart, rows: Rows, nowSeconds: number): readonly FilterSuggestion[] {
  const word = part.value.toLowerCase()
  const values = ['state', 'type'].flatMap((name) =>
    counted(name, word, rows, nowSeconds).map(([value, note]) => replaced(q, part, `${name}:${value}`, note, false)),
  )
  const fields = FIELDS.filter(({ name }) => name.startsWith(word)).map(({ name, note }) =>
    replaced(q, part, `${name}:`, note, true),
  )
  return [...fields, ...values].slice(0, MOST)
}

function valueSuggestions(q: string, part: FilterPart, rows: Rows, nowSeconds: number): readonly FilterSuggestion[] {
  const { name, value } = part
  if (name === null) return []
  // `label:zone=eu-1,eu-2`: the values behind a comma have no key.
  const comma = value.lastIndexOf(',') + 1
  const before = value.slice(0, comma)
  const key = name === 'label' && comma > 0 ? value.slice(0, value.indexOf('=') + 1) : ''
  const word = `${key}${value.slice(comma)}`.toLowerCase()
  const found = counted(name, word, rows, nowSeconds).filter(([text]) => text.toLowerCase() !== word)
  return found.map(([text, note]) => replaced(q, part, `${name}:${before}${text.slice(key.length)}`, note, false))
}

/** Values of the field that begin with the word, the most frequent first, then those that contain it. */
function counted(
  name: string,
  word: string,
  rows: Rows,
  nowSeconds: number,
): readonly (readonly [value: string, note: string])[] {
  return [...countsOf(name, rows, nowSeconds)]
    .map(([value, count]) => ({ value, count, at: value.toLowerCase().indexOf(word) }))
    .filter(({ value, at }) => at >= 0 && !/[\s",]/.test(value))
    .toSorted((a, b) => Math.sign(a.at) - Math.sign(b.at) || b.count - a.count || (a.value < b.value ? -1 : 1))
    .slice(0, MOST)
    .map(({ value, count }) => [value, count === 0 ? '' : countText(count)])
}

/** The values of each field and how many rows have them, counted once a second: not at each key press. */
const countsByRows = new WeakMap<Rows, { readonly second: number; readonly fields: Map<string, Counts> }>()

function countsOf(name: string, rows: Rows, nowSeconds: number): Counts {
  const second = Math.floor(nowSeconds)
  let known = countsByRows.get(rows)
  if (known?.second !== second) countsByRows.set(rows, (known = { second, fields: new Map() }))
  const counts = known.fields.get(name) ?? countValues(name, rows, nowSeconds)
  known.fields.set(name, counts)
  return counts
}

function countValues(name: string, rows: Rows, nowSeconds: number): Counts {
  const counts = new Map<string, number>()
  const valuesOf = FIELDS.find((field) => field.name === name)?.valuesOf
  if (valuesOf == null) return counts
  for (const value of fixedValues(name)) counts.set(value, 0)
  for (const row of rows.values())
    for (const value of valuesOf(row, nowSeconds)) counts.set(value, (counts.get(value) ?? 0) + 1)
  return counts
}

function fixedValues(name: string): readonly string[] {
  if (name === 'state') return STATE_WORDS.map((word) => word.toLowerCase())
  return ['online', 'enabled', 'behind', 'error', 'managed'].includes(name) ? ['yes', 'no'] : []
}

function replaced(
  q: string,
  { negated, from, to }: FilterPart,
  term: string,
  note: string,
  isOpen: boolean,
): FilterSuggestion {
  const text = `${negated ? '-' : ''}${term}`
  return { q: `${q.slice(0, from)}${text}${q.slice(to)}`, caret: from + text.length, text, note, isOpen }
}
