/**
 * @module master/metrics/overview
 * Serves `GET /api/v1/overview`: a few numbers per type, from the snapshot that /metrics uses. Any number of clients
 * costs the store the same as one (D48). `ts` is the time of the snapshot.
 */
import { API_PREFIX, OverviewBody, toSeconds, type WorkerState } from '../../protocol/index.ts'
import { covers, workerFilter, type Principal } from '../auth/index.ts'
import { route, type Route } from '../http/index.ts'
import { totalsBody } from '../queue/index.ts'
import { overviewOfReports } from '../rollouts/index.ts'
import type { FleetSnapshot, TypeNumbers, WorkerNumbers } from './fleet-snapshot.ts'

export function overviewRoute(snapshot: () => Promise<FleetSnapshot>): Route {
  return route({
    method: 'GET',
    path: `${API_PREFIX}/overview`,
    access: 'scoped',
    needs: 'read',
    response: OverviewBody,
    summary: 'Counts of workers, slots, tasks and stream entries of each type that the token covers, up to 5 s old.',
    handle: async ({ principal }) => ({ body: overviewBody(shownSnapshot(await snapshot(), principal)) }),
  })
}

/** @returns the types that the principal covers, with the workers that it may read. */
export function shownSnapshot(fleet: FleetSnapshot, principal: Principal): FleetSnapshot {
  const types = fleet.types.filter(({ type }) => covers(principal, type))
  return { ...fleet, types: types.map((numbers) => shownNumbers(numbers, principal)) }
}

function shownNumbers(numbers: TypeNumbers, principal: Principal): TypeNumbers {
  const shows = workerFilter(principal, 'read', numbers.type)
  return shows === null ? numbers : { ...numbers, workers: numbers.workers.filter(({ id }) => shows(id)) }
}

export function overviewBody({ takenMs, types }: FleetSnapshot): OverviewBody {
  const shown = types.map((each) => [each.type, overviewOf(each)] as const)
  return { ts: toSeconds(takenMs), automations: Object.fromEntries(shown) }
}

/** @returns the slots of the connected workers of a type, from their newest statistics. */
export function slotsOf({ workers }: Pick<TypeNumbers, 'workers'>): number {
  return workers.reduce((sum, { masterId, stats }) => sum + (masterId === null ? 0 : (stats?.slots ?? 0)), 0)
}

/**
 * Counts the workers that take tasks: connected and enabled, with at least one slot, neither draining nor idle.
 * @returns their number, and the slots that run in them.
 */
export function workforceOf(workers: readonly WorkerNumbers[]): { readonly slots: number; readonly workers: number } {
  const taking = workers.filter(
    ({ masterId, state }) => masterId !== null && (state === 'RUNNING' || state === 'ERROR'),
  )
  return { slots: slotsOf({ workers: taking }), workers: taking.length }
}

function overviewOf(numbers: TypeNumbers): OverviewBody['automations'][string] {
  const { kind, workers, counts, rollouts, streamLength } = numbers
  return {
    kind,
    workers: workersOf(workers),
    slots: slotsOf(numbers),
    queue: counts === null ? null : totalsBody(counts),
    stream: { length: streamLength },
    ...(rollouts.length > 0 && { rollouts: overviewOfReports(rollouts) }),
  }
}

function workersOf(workers: readonly WorkerNumbers[]): OverviewBody['automations'][string]['workers'] {
  const states: Record<WorkerState, number> = { IDLE: 0, RUNNING: 0, ERROR: 0, DRAINING: 0 }
  let connected = 0
  let inError = 0
  let behind = 0
  for (const worker of workers) {
    states[worker.state] += 1
    if (worker.masterId !== null) {
      connected += 1
      if (worker.state === 'ERROR') inError += 1
    }
    if (worker.behind) behind += 1
  }
  return { total: workers.length, connected, behind, ...states, connected_in_error: inError }
}
