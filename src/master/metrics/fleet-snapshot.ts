/**
 * @module master/metrics/fleet-snapshot
 * Reads the numbers of the whole fleet from the store, at most every 5 s, for `/metrics`, for the overview and for the
 * list of revisions. Callers during a read share its result.
 */
import type { CatalogEntry } from '../../automation/index.ts'
import type { WorkerFacts } from '../../diagnosis/index.ts'
import { RESERVED_METRICS, type WorkerState } from '../../protocol/index.ts'
import type { Counts, GroupTotals, RolloutHead, WorkerRow } from '../../storage/index.ts'
import type { MasterDeps } from '../deps.ts'
import { reservedValue, summaryOf } from '../registry/index.ts'
import { WorkerFactsReader } from './worker-facts.ts'
import { troubleOf, type Trouble } from './worst-workers.ts'

const FRESH_MS = 5_000
const PAGE = 1_000
const NO_GROUPS: GroupTotals = { ready: 0, waiting: 0, inFlight: 0 }

export interface WorkerNumbers {
  readonly id: string
  readonly state: WorkerState
  /** The master that the worker is connected to; null if it is not connected. */
  readonly masterId: string | null
  /** Whether it runs an older config than the stored one. */
  readonly behind: boolean
  readonly lastSeenMs: number
  /** null before the first stats frame. */
  readonly stats: {
    readonly slots: number
    readonly cpuPct: number
    readonly rssMb: number
    readonly ts: number
  } | null
  readonly hasError: boolean
  /** Runs under the applied config, from the newest stats frame; null if none has failed, or if it does not say. */
  readonly runs: { readonly done: number; readonly failed: number } | null
  /** What is wrong under its revision; null if nothing is, or without a revision. */
  readonly trouble: Trouble | null
  /** What explanations say of it; null for a worker without a problem. */
  readonly facts: WorkerFacts | null
}
export interface TypeNumbers {
  readonly type: string
  readonly kind: CatalogEntry['kind']
  readonly workers: readonly WorkerNumbers[]
  readonly streamLength: number
  readonly streamBytes: number
  /** null if the type is not a batch automation. */
  readonly counts: Counts | null
  /** null if the tasks of the type have no groups. */
  readonly groups: GroupTotals | null
  readonly rollouts: readonly RolloutHead[]
}
export interface FleetSnapshot {
  readonly takenMs: number
  readonly types: readonly TypeNumbers[]
  readonly pools: readonly { readonly pool: string; readonly size: number }[]
}

/** @returns a function that returns the newest snapshot, and reads a new one if that is older than 5 s. */
export function fleetSnapshots(deps: Pick<MasterDeps, 'backend' | 'catalog' | 'clock'>): () => Promise<FleetSnapshot> {
  let kept: { readonly atMs: number; readonly snapshot: Promise<FleetSnapshot> } | null = null
  return () => {
    const nowMs = deps.clock.monotonicMs()
    if (kept !== null && nowMs - kept.atMs < FRESH_MS) return kept.snapshot
    const snapshot = take(deps)
    const made = { atMs: nowMs, snapshot }
    kept = made
    snapshot.catch(() => {
      if (kept === made) kept = null // The next caller reads the store again.
    })
    return snapshot
  }
}

async function take({
  backend,
  catalog,
  clock,
}: Pick<MasterDeps, 'backend' | 'catalog' | 'clock'>): Promise<FleetSnapshot> {
  const entries = [...catalog.values()]
  const batch = entries.filter(({ kind }) => kind === 'BatchAutomation')
  const pools = [...new Set(entries.flatMap((entry) => [...entry.pools.keys()]))]
  const [workers, lengths, bytes, rollouts, counts, sizes] = await Promise.all([
    Promise.all(entries.map((entry) => workersOf(backend, entry))),
    backend.streams.length(entries.map(({ type }) => type)),
    backend.streams.bytes(entries.map(({ type }) => type)),
    backend.rollouts.heads(entries.map(({ type }) => type)),
    batch.length === 0 ? [] : backend.tasks.counts(batch.map(({ type }) => type)),
    pools.length === 0 ? [] : backend.pools.sizes(pools),
  ])
  const countsByType = new Map(batch.map(({ type }, index) => [type, counts[index] ?? null]))
  return {
    takenMs: clock.wallMs(),
    types: entries.map(({ type, kind, groups = null }, index) => ({
      type,
      kind,
      workers: workers[index] ?? [],
      streamLength: lengths[index] ?? 0,
      streamBytes: bytes[index] ?? 0,
      counts: countsByType.get(type) ?? null,
      groups: groups === null ? null : (countsByType.get(type)?.groups ?? NO_GROUPS),
      rollouts: rollouts[index] ?? [],
    })),
    pools: pools.map((pool, index) => ({ pool, size: sizes[index] ?? 0 })),
  }
}

async function workersOf(backend: MasterDeps['backend'], entry: CatalogEntry): Promise<readonly WorkerNumbers[]> {
  const { type } = entry
  const facts = new WorkerFactsReader(entry)
  const found: WorkerNumbers[] = []
  for (let after: string | null = null; ;) {
    const page: readonly WorkerRow[] = await backend.workers.page(type, after, PAGE)
    for (const row of page) found.push(numbersOf(row, facts))
    const last = page.at(-1)
    if (last === undefined) return found // A byte limit may end a page early, so a short page need not be the last.
    after = last.id
  }
}

function numbersOf(row: WorkerRow, facts: WorkerFactsReader): WorkerNumbers {
  const { id, state, connected, conn, appliedGen, config, lastError, lastSeenAtMs, stats } = row
  return {
    id,
    state,
    masterId: connected ? masterOf(conn) : null,
    behind: appliedGen !== null && appliedGen < config.gen,
    lastSeenMs: lastSeenAtMs,
    stats: stats === null ? null : headOf(stats),
    hasError: lastError !== null,
    runs: runsOf(stats),
    trouble: troubleOf(row),
    facts: facts.ofProblem(row),
  }
}

/** Metrics come last in a stored frame, so the slots before them are not searched. */
function runsOf(stats: WorkerRow['stats']): WorkerNumbers['runs'] {
  const metrics = stats?.slice(stats.lastIndexOf('"metrics":')) ?? null
  const count = (name: string): number => reservedValue(metrics, name) ?? 0
  const failed = count(RESERVED_METRICS.runsFailed) + count(RESERVED_METRICS.slotFailures)
  return failed === 0 ? null : { failed, done: count(RESERVED_METRICS.runsOk) }
}

/** `m1/7` is the seventh connection of the master `m1`. */
const masterOf = (conn: string | null): string | null => conn?.slice(0, conn.lastIndexOf('/')) ?? null

/** Frames can be large, and usually nothing has to be parsed. */
function headOf(text: string): WorkerNumbers['stats'] {
  const { slots, cpu_pct: cpuPct, rss_mb: rssMb, ts } = summaryOf(text)
  return { slots, cpuPct, rssMb, ts }
}
