/**
 * @module master/queue/history-routes
 * Serves the history of queues, and the samples of the last hour (D48, D166). The history of all types is read once for
 * all callers with the same range, at most every 5 s.
 */
import { Type } from 'typebox'
import {
  API_PREFIX,
  FleetHistoryBody,
  HISTORY_RESOLUTIONS,
  QueueHistoryBody,
  QueueHistoryQuery,
  MAX_FLEET_HISTORY_STEPS,
  MAX_HISTORY_STEPS,
  QUEUE_SAMPLES,
  QueueSample,
  QueueStatsQuery,
  toSeconds,
  type FleetHistoryStep,
  type QueueHistoryStep,
} from '../../protocol/index.ts'
import { BoundedMap, type Clock } from '../../runtime/index.ts'
import type { Rollups, RollupStep } from '../../storage/index.ts'
import { covers } from '../auth/index.ts'
import { route, type Route } from '../http/index.ts'
import type { Inspections } from '../inspections/index.ts'
import { rangeOf, readFromMs, sampleOf, stepsOf, type HistoryRange } from './history.ts'

const AUTOMATION = `${API_PREFIX}/automations/{type}`
const FRESH_MS = 5_000
/** The estimated size of a step of the store. */
const STEP_BYTES = 256
/** Ranges whose history of all types is kept. */
const MAX_RANGES = 8

export interface HistoryDeps {
  readonly clock: Clock
  readonly rollups: Pick<Rollups, 'read'>
  readonly inspections: Inspections
  /** The types that have a queue. */
  readonly types: () => readonly string[]
  /** Backend time. */
  readonly backendNowMs: () => number
}

export function historyRoutes(deps: HistoryDeps): readonly Route[] {
  return [samplesRoute(deps), historyRoute(deps), fleetHistoryRoute(deps)]
}

function samplesRoute({ inspections, rollups, backendNowMs }: HistoryDeps): Route {
  return route({
    method: 'GET',
    path: `${AUTOMATION}/queue/stats`,
    access: 'scoped',
    needs: 'read',
    query: QueueStatsQuery,
    response: Type.Array(QueueSample),
    summary: 'Task counts, one sample per 15 s of the last hour, oldest first.',
    handle: async (request) => {
      const { params, query } = request
      const { stepMs } = HISTORY_RESOLUTIONS[0]
      const nowMs = backendNowMs()
      const oldestMs = nowMs - QUEUE_SAMPLES * stepMs
      const sinceMs = Math.min((query.since ?? 0) * 1_000, nowMs) // It may be any number, as large as 1e308.
      const fromMs = Math.floor(Math.max(oldestMs, sinceMs, 0))
      const read = () => rollups.read(params.type, stepMs, fromMs, Math.floor(nowMs) + stepMs)
      const steps = await inspections.piece(request, read, bytesOf)
      const samples = steps.map(sampleOf).filter((sample) => sample !== null && sample.ts >= (query.since ?? 0))
      return { body: samples.slice(-Math.min(query.limit ?? QUEUE_SAMPLES, QUEUE_SAMPLES)) }
    },
  })
}

function historyRoute(deps: HistoryDeps): Route {
  return route({
    method: 'GET',
    path: `${AUTOMATION}/history`,
    access: 'scoped',
    needs: 'read',
    query: QueueHistoryQuery,
    response: QueueHistoryBody,
    summary:
      'Counts, gauges and wait and run times of a queue by steps of time, oldest first. Steps of 15 s are kept for 2 ' +
      'hours, of 1 minute for 2 days, of 15 minutes for 30 days; a step may be any multiple, up to a day.',
    handle: async (request) => {
      const range = rangeOf(request.query, deps.backendNowMs(), MAX_HISTORY_STEPS)
      const rows = await deps.inspections.piece(request, () => readRows(deps, request.params.type, range), bytesOf)
      return { body: { ...rangeBody(range), steps: stepsOf(rows, range) } }
    },
  })
}

function fleetHistoryRoute(deps: HistoryDeps): Route {
  const readShared = sharedReads(deps)
  return route({
    method: 'GET',
    path: `${API_PREFIX}/history`,
    access: 'scoped',
    needs: 'read',
    query: QueueHistoryQuery,
    response: FleetHistoryBody,
    summary: 'The counts and the waiting tasks of all queues that the token covers, by steps of time, up to 5 s old.',
    handle: async (request) => {
      const range = rangeOf(request.query, deps.backendNowMs(), MAX_FLEET_HISTORY_STEPS)
      const all = await deps.inspections.piece(request, () => readShared(range), bytesOfFleet)
      const covered = [...all].filter(([type]) => covers(request.principal, type))
      return { body: { ...rangeBody(range), automations: Object.fromEntries(covered) } }
    },
  })
}

const rangeBody = ({ fromMs, toMs, stepMs }: HistoryRange) => ({
  from: toSeconds(fromMs),
  to: toSeconds(toMs),
  step: toSeconds(stepMs),
})

const bytesOf = (rows: readonly RollupStep[]): number => rows.length * STEP_BYTES

function readRows({ rollups }: HistoryDeps, type: string, range: HistoryRange): Promise<readonly RollupStep[]> {
  return rollups.read(type, range.resolution.stepMs, readFromMs(range), range.toMs)
}

type FleetHistory = ReadonlyMap<string, readonly FleetHistoryStep[]>

const bytesOfFleet = (history: FleetHistory): number =>
  [...history.values()].reduce((sum, steps) => sum + steps.length * STEP_BYTES, 0)

/** @returns a function that reads the history of all types, and shares the result of a range for 5 s. */
function sharedReads(deps: HistoryDeps): (range: HistoryRange) => Promise<FleetHistory> {
  const kept = new BoundedMap<string, { readonly atMs: number; readonly history: Promise<FleetHistory> }>(MAX_RANGES)
  return (range) => {
    const name = `${range.fromMs} ${range.toMs} ${range.stepMs}`
    const known = kept.get(name)
    const atMs = deps.clock.monotonicMs()
    if (known !== undefined && atMs - known.atMs < FRESH_MS) return known.history
    const history = readFleet(deps, range)
    kept.set(name, { atMs, history })
    history.catch(() => kept.delete(name)) // The next caller reads the store again.
    return history
  }
}

/** Reads one type after the other, so that other requests are served between them. */
async function readFleet(deps: HistoryDeps, range: HistoryRange): Promise<FleetHistory> {
  const history = new Map<string, readonly FleetHistoryStep[]>()
  for (const type of deps.types()) history.set(type, stepsOf(await readRows(deps, type, range), range).map(fleetStep))
  return history
}

const fleetStep = ({ ts, seconds, submitted, done, failed, died, waiting }: QueueHistoryStep): FleetHistoryStep => ({
  ts,
  seconds,
  submitted,
  done,
  failed,
  died,
  waiting,
})
