/**
 * @module master/worker-changes/heartbeats
 * Returns the statistics of workers in turn, from the snapshot of the fleet that the overview uses. So they cost the
 * store nothing.
 */
import { toSeconds, type HeartbeatColumns, type WorkerChangesBody } from '../../protocol/index.ts'
import type { FleetSnapshot } from '../metrics/index.ts'
import { ageOf, rounded } from '../registry/index.ts'

type Heartbeats = NonNullable<WorkerChangesBody['stats']>
type Numbers = FleetSnapshot['types'][number]['workers'][number]

/**
 * @param snapshot The types and workers that the caller may see.
 * @param after The `after` of the previous turn; empty for the first one.
 * @param limit Number of workers.
 * @returns the workers behind `after`; the first ones again after the last.
 */
export function heartbeatsAfter({ takenMs, types }: FleetSnapshot, after: string, limit: number): Heartbeats {
  const ts = Math.floor(toSeconds(takenMs))
  const shown = types.toSorted((a, b) => (a.type < b.type ? -1 : 1))
  const slash = after.indexOf('/')
  const [afterType, afterId] = slash === -1 ? ['', ''] : [after.slice(0, slash), after.slice(slash + 1)]
  const workers: Record<string, HeartbeatColumns> = {}
  let left = limit
  let last = ''
  for (const { type, workers: all } of shown) {
    if (left === 0 || type < afterType) continue
    const from = type === afterType ? placeBehind(all, afterId) : 0
    const some = all.slice(from, from + left)
    const end = some.at(-1)
    if (end === undefined) continue
    left -= some.length
    last = `${type}/${end.id}`
    workers[type] = columnsOf(some, ts)
  }
  return { ts, after: left > 0 ? '' : last, workers }
}

/** The place behind an id, also if its worker is gone. Workers are ordered by the UTF-8 bytes of their ids. */
function placeBehind(workers: readonly Numbers[], id: string): number {
  const known = workers.findIndex((each) => each.id === id)
  if (known !== -1) return known + 1
  const bytes = Buffer.from(id)
  const next = workers.findIndex((each) => Buffer.compare(Buffer.from(each.id), bytes) > 0)
  return next === -1 ? workers.length : next
}

function columnsOf(workers: readonly Numbers[], ts: number): HeartbeatColumns {
  return {
    worker_id: workers.map(({ id }) => id),
    seen_age: workers.map(({ lastSeenMs }) => ageOf(ts, lastSeenMs)),
    slots: workers.map(({ stats }) => stats?.slots ?? null),
    cpu_pct: workers.map(({ stats }) => (stats === null ? null : rounded(stats.cpuPct))),
    rss_mb: workers.map(({ stats }) => (stats === null ? null : rounded(stats.rssMb))),
    stats_age: workers.map(({ stats }) => (stats === null ? null : ageOf(ts, stats.ts * 1_000))),
  }
}
