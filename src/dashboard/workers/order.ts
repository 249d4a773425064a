/**
 * @module dashboard/workers/order
 * Sorts the worker list. Ties are broken by ID and type, so equal rows keep their order.
 */
import { isBehind, severityRank } from './display-state.ts'
import { keyOf, liveStats, type WorkerRow } from './row.ts'

const SORTS = ['state', 'worker', 'type', 'host', 'slots', 'cpu', 'rss', 'config', 'managed', 'seen', 'error'] as const
type Sort = (typeof SORTS)[number]
type Value = string | number

/** The order if the address names none: workers that need attention first (D177). */
export const DEFAULT_SORT = 'state'

const names = new Map<string, string>()
const MOST_NAMES = 50_000

/** The ID with zero-padded numbers, so that `m-9` comes before `m-10`. */
function nameOf(row: WorkerRow): string {
  const { worker_id: id } = row
  const known = names.get(id)
  if (known !== undefined) return known
  if (names.size >= MOST_NAMES) names.clear()
  const name = id.toLowerCase().replaceAll(/\d+/g, (digits) => digits.padStart(12, '0'))
  names.set(id, name)
  return name
}

/** Sorts missing texts after all others. */
const LAST_TEXT = '\u{10FFFF}'

/** The value that each order compares. */
const VALUES: Readonly<Record<Sort, (row: WorkerRow, nowSeconds: number) => Value>> = {
  state: severityRank,
  worker: nameOf,
  type: (row) => row.automation_type,
  host: (row) => row.hardware.hostname,
  slots: (row) => liveStats(row)?.slots ?? -1,
  cpu: (row) => liveStats(row)?.cpu_pct ?? -1,
  rss: (row) => liveStats(row)?.rss_mb ?? -1,
  config: (row) => (isBehind(row) ? -1 : row.config_gen),
  managed: (row) => row.managed_by ?? LAST_TEXT,
  seen: (row) => -row.last_seen,
  error: (row) => row.last_error ?? LAST_TEXT,
}

/** Parses `cpu` (ascending) or `-cpu` (descending). Any other text is the default order. */
function readSort(text: string): { readonly sort: Sort; readonly isDown: boolean } {
  const isDown = text.startsWith('-')
  const word = isDown ? text.slice(1) : text
  const sort = SORTS.find((each) => each === word)
  return sort === undefined ? { sort: DEFAULT_SORT, isDown: false } : { sort, isDown }
}

interface Ranked {
  readonly key: string
  readonly value: Value
  readonly tie: string
}

const ranked = (row: WorkerRow, sort: Sort, nowSeconds: number): Ranked => ({
  key: keyOf(row),
  value: VALUES[sort](row, nowSeconds),
  tie: nameOf(row),
})

function compare(a: Ranked, b: Ranked): number {
  if (a.value !== b.value) return a.value < b.value ? -1 : 1
  if (a.tie !== b.tie) return a.tie < b.tie ? -1 : 1
  return a.key < b.key ? -1 : 1
}

/** The keys of the rows, sorted. */
export function sortedKeys(rows: readonly WorkerRow[], text: string, nowSeconds: number): readonly string[] {
  const { sort, isDown } = readSort(text)
  const all = rows
    .map((row) => ranked(row, sort, nowSeconds))
    .toSorted(isDown ? (a, b) => (a.value === b.value ? compare(a, b) : compare(b, a)) : compare)
  return all.map(({ key }) => key)
}

/** Number of rows by which a frozen list differs from the current one: added, removed or out of order. */
export function driftOf(shown: readonly string[], fresh: readonly string[]): number {
  const place = new Map(fresh.map((key, index) => [key, index]))
  let drift = fresh.length
  let last = -1
  for (const key of shown) {
    const at = place.get(key)
    if (at === undefined) {
      drift += 1
      continue
    }
    drift -= 1
    if (at < last) drift += 1
    last = at
  }
  return drift
}
