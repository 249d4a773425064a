/**
 * @module dashboard/workers/grouping
 * Groups the rows of the worker list by error, host, generation or type. Errors that differ only in numbers are one
 * group, which shows the most frequent of them.
 */
import { plural } from '../components/numbers.ts'
import { configText, severityRank, stateWord, type StateWord } from './display-state.ts'
import { keyOf, type WorkerRow } from './row.ts'

export const GROUPINGS = ['error', 'host', 'generation', 'type'] as const
export type Grouping = (typeof GROUPINGS)[number]

/** One row of the list for several workers. */
export class GroupRow {
  readonly key: string
  readonly title: string
  readonly rows: readonly WorkerRow[]
  readonly isOpen: boolean

  constructor({ key, title }: GroupLayout, rows: readonly WorkerRow[], isOpen: boolean) {
    this.key = key
    this.title = title
    this.rows = rows
    this.isOpen = isOpen
  }
}

export type ListRow = WorkerRow | GroupRow

export const keyOfListRow = (row: ListRow): string => (row instanceof GroupRow ? `group ${row.key}` : keyOf(row))

/** Which workers a group has. It stays while rows must not move. */
export interface GroupLayout {
  readonly key: string
  readonly title: string
  readonly members: readonly string[]
}

const MAX_CHARACTERS = 300

/** What workers of one group have in common. */
function valueOf(row: WorkerRow, by: Grouping): string {
  switch (by) {
    case 'error':
      return (row.last_error ?? '').slice(0, MAX_CHARACTERS).replaceAll(/\d+/g, '#')
    case 'host':
      return row.hardware.hostname
    case 'generation':
      return configText(row)
    case 'type':
      return row.automation_type
  }
}

/** Groups in the order of their worst worker, then by how many are as bad, then by size and name. */
export function groupLayout(rows: readonly WorkerRow[], by: Grouping, nowSeconds: number): readonly GroupLayout[] {
  const groups = new Map<string, WorkerRow[]>()
  for (const row of rows) {
    const value = valueOf(row, by)
    const group = groups.get(value)
    if (group === undefined) groups.set(value, [row])
    else group.push(row)
  }
  return [...groups]
    .map(([value, members]) => ({ value, members, ...worstOf(members, nowSeconds) }))
    .toSorted(
      (a, b) =>
        a.rank - b.rank || b.count - a.count || b.members.length - a.members.length || (a.value < b.value ? -1 : 1),
    )
    .map(({ value, members }) => ({
      key: `${by} ${value}`,
      title: titleOf(members, by, value),
      members: members.map(keyOf),
    }))
}

function worstOf(rows: readonly WorkerRow[], nowSeconds: number): { readonly rank: number; readonly count: number } {
  let rank = Infinity
  let count = 0
  for (const row of rows) {
    const each = severityRank(row, nowSeconds)
    if (each < rank) [rank, count] = [each, 0]
    if (each === rank) count += 1
  }
  return { rank, count }
}

function titleOf(rows: readonly WorkerRow[], by: Grouping, value: string): string {
  switch (by) {
    case 'error':
      return mostFrequent(rows.map(({ last_error: error }) => error ?? '')) || 'No last error'
    case 'generation':
      return `Generation ${value}`
    case 'host':
      return value === '' ? 'Unknown host' : value
    case 'type':
      return value
  }
}

/** The first of the most frequent texts. */
function mostFrequent(texts: readonly string[]): string {
  const counts = new Map<string, number>()
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1)
  return [...counts].reduce((best, each) => (each[1] > best[1] ? each : best), ['', 0] as const)[0]
}

/** The rows of the list: each group, followed by its workers if it is open. */
export function listRows(
  layout: readonly GroupLayout[],
  rows: ReadonlyMap<string, WorkerRow>,
  open: ReadonlySet<string>,
): readonly ListRow[] {
  return layout.flatMap((group): ListRow[] => {
    const members = group.members.flatMap((key) => rows.get(key) ?? [])
    if (members.length === 0) return []
    const isOpen = open.has(group.key)
    return isOpen ? [new GroupRow(group, members, true), ...members] : [new GroupRow(group, members, false)]
  })
}

export interface GroupFacts {
  readonly count: string
  /** How many are in each state, the worst first. */
  readonly states: readonly { readonly word: StateWord; readonly count: number }[]
  /** The most frequent error of the workers in ERROR; null if the title shows it, or if none is in ERROR. */
  readonly reason: string | null
}

const WORDS: readonly StateWord[] = ['ERROR', 'offline', 'late', 'DRAINING', 'IDLE', 'RUNNING']

/** What the row of a group shows now. */
export function groupFacts({ rows, title }: GroupRow, nowSeconds: number): GroupFacts {
  const counts = new Map<StateWord, number>()
  const errors: string[] = []
  for (const row of rows) {
    const word = stateWord(row, nowSeconds)
    counts.set(word, (counts.get(word) ?? 0) + 1)
    if (word === 'ERROR' && row.last_error !== null) errors.push(row.last_error)
  }
  const reason = mostFrequent(errors)
  return {
    count: plural(rows.length, 'worker'),
    states: WORDS.flatMap((word) => {
      const count = counts.get(word)
      return count === undefined ? [] : [{ word, count }]
    }),
    reason: reason === '' || reason === title ? null : reason,
  }
}
