/**
 * @module master/worker-changes/worker-groups
 * Divides the workers of each type into groups of equal ones (D163): the same state, slots, config revision and so on.
 * A client explains the state of 10,000 workers from a few hundred rows. The store is read at most every 5 s, whatever
 * the number of clients.
 */
import type { CatalogEntry } from '../../automation/index.ts'
import { RESERVED_METRICS, toSeconds, type WorkerColumns, type WorkerGroupsBody } from '../../protocol/index.ts'
import { BoundedMap } from '../../runtime/index.ts'
import type { WorkerRow } from '../../storage/index.ts'
import type { MasterDeps } from '../deps.ts'
import { baseConfig, reservedValue, summaryOf, workerColumns } from '../registry/index.ts'

const FRESH_MS = 5_000
const PAGE = 1_000
/** Workers of a type that are listed by themselves. Further ones are in groups as well. Slight: they had an error. */
const MAX_LISTED = { severe: 100, slight: 20 }
/** Errors by which the workers of a type are divided. */
const MAX_ERRORS = 50

interface Group {
  readonly row: WorkerRow
  count: number
}

interface Groups {
  readonly ts: number
  readonly columnsOf: (type: string) => WorkerGroupsBody['automations'][string]
}

type GroupDeps = Pick<MasterDeps, 'backend' | 'catalog' | 'clock'>

/** The workers that a token with a list of workers sees. */
export interface GroupView {
  readonly key: string
  readonly shows: (type: string, id: string) => boolean
}

/** Tokens with a list of workers whose groups are kept. */
const MAX_VIEWS = 20

/**
 * @returns a function that returns the newest groups, and reads the store if they are older than 5 s. Callers that see
 *   every worker, whose view is null, share them.
 */
export function workerGroups(deps: GroupDeps): (view: GroupView | null) => Promise<Groups> {
  const kept = new BoundedMap<string, { readonly atMs: number; readonly groups: Promise<Groups> }>(MAX_VIEWS)
  return (view) => {
    const key = view?.key ?? ''
    const nowMs = deps.clock.monotonicMs()
    const known = kept.use(key)
    if (known !== undefined && nowMs - known.atMs < FRESH_MS) return known.groups
    const made = { atMs: nowMs, groups: read(deps, view) }
    kept.set(key, made)
    made.groups.catch(() => {
      if (kept.use(key) === made) kept.delete(key) // The next caller reads the store again.
    })
    return made.groups
  }
}

async function read({ backend, catalog, clock }: GroupDeps, view: GroupView | null): Promise<Groups> {
  const ts = Math.floor(toSeconds(clock.wallMs()))
  const columns = new Map<string, WorkerColumns & { readonly count: number[] }>()
  for (const entry of catalog.values()) {
    const groups = await groupsOf(backend, entry, view)
    columns.set(entry.type, {
      ...workerColumns(
        groups.map(({ row }) => row),
        entry,
        ts,
      ),
      count: groups.map(({ count }) => count),
    })
  }
  const none = (entry: CatalogEntry): WorkerGroupsBody['automations'][string] => ({
    ...workerColumns([], entry, ts),
    count: [],
  })
  return { ts, columnsOf: (type) => columns.get(type) ?? none(catalog.get(type) as CatalogEntry) }
}

async function groupsOf(
  backend: GroupDeps['backend'],
  entry: CatalogEntry,
  view: GroupView | null,
): Promise<readonly Group[]> {
  const grouping = new Grouping(entry)
  for (let after: string | null = null; ;) {
    const page: readonly WorkerRow[] = await backend.workers.page(entry.type, after, PAGE)
    for (const row of page) if (view === null || view.shows(entry.type, row.id)) grouping.add(row)
    const last = page.at(-1)
    if (last === undefined) return grouping.groups()
    after = last.id
  }
}

/** The groups of one type. */
class Grouping {
  readonly #entry: CatalogEntry
  readonly #groups = new Map<string, Group>()
  readonly #left: Record<Problem, number> = { ...MAX_LISTED }
  readonly #errors = new Set<string>()
  /** By the text of the config, because most workers have the same one. */
  readonly #slots = new Map<string, string>()

  constructor(entry: CatalogEntry) {
    this.#entry = entry
  }

  add(row: WorkerRow): void {
    const key = this.#isListed(row) ? `listed ${row.id}` : this.#keyOf(row)
    const known = this.#groups.get(key)
    if (known === undefined) this.#groups.set(key, { row: withoutLongTexts(row), count: 1 })
    else known.count += 1
  }

  groups(): readonly Group[] {
    return [...this.#groups.values()]
  }

  #isListed(row: WorkerRow): boolean {
    const problem = problemOf(row)
    if (problem === null || this.#left[problem] === 0) return false
    this.#left[problem] -= 1
    return true
  }

  /** Equal for workers of which an explanation says the same. */
  #keyOf({
    connected,
    ended,
    state,
    draining,
    lastError,
    appliedGen,
    config,
    configRevision,
    stats,
  }: WorkerRow): string {
    const isBehind = appliedGen !== null && appliedGen < config.gen
    const isRefused = reservedValue(stats, RESERVED_METRICS.refusedConfigGen) === config.gen
    const running = stats === null ? null : summaryOf(stats).slots
    const error = this.#knownError(lastError)
    return JSON.stringify([
      [connected, ended, state, draining, error, isBehind, isRefused],
      [this.#wantedSlots(config.config), running, configRevision],
    ])
  }

  #wantedSlots(config: string): string {
    const known = this.#slots.get(config)
    if (known !== undefined) return known
    const { enabled, slots } = baseConfig(this.#entry, config)
    const text = JSON.stringify([enabled, slots])
    this.#slots.set(config, text)
    return text
  }

  /** Errors may all differ, so only the first ones divide workers. */
  #knownError(error: string | null): string | null {
    if (error === null || this.#errors.has(error)) return error
    if (this.#errors.size === MAX_ERRORS) return 'other'
    this.#errors.add(error)
    return error
  }
}

type Problem = 'severe' | 'slight'

/** null if nothing is to be said about this worker by itself. */
function problemOf({ connected, state, draining, lastError, appliedGen, config }: WorkerRow): Problem | null {
  if (!connected || draining || state === 'ERROR' || state === 'DRAINING') return 'severe'
  if (appliedGen !== null && appliedGen < config.gen) return 'severe'
  return lastError === null ? null : 'slight'
}

/** The groups stay in memory, and a frame may be a megabyte. */
function withoutLongTexts(row: WorkerRow): WorkerRow {
  const { stats } = row
  if (stats === null) return row
  const refused = reservedValue(stats, RESERVED_METRICS.refusedConfigGen)
  const metrics = refused === null ? {} : { [RESERVED_METRICS.refusedConfigGen]: refused }
  const { slots, cpu_pct, rss_mb, ts } = summaryOf(stats)
  return { ...row, stats: JSON.stringify({ slots, cpu_pct, rss_mb, ts, metrics }) }
}
