/**
 * @module master/queue/history
 * Computes the history of a type from its rollups (D166). Pure functions.
 *
 * A step of the response has one or more steps of the store. Its counts are differences of running totals: to its last
 * sample from the last sample before. So what happened while no master sampled is in the first step after it, and
 * `seconds` says what that step covers.
 */
import {
  HISTORY_RESOLUTIONS,
  invalid,
  toSeconds,
  type QueueHistoryQuery,
  type HistoryResolution,
  type QueueHistoryStep,
  type LatencyBody,
  type QueueSample,
} from '../../protocol/index.ts'
import type { RollupStep } from '../../storage/index.ts'
import { middleMs } from './latencies.ts'
import { PEAKS } from './rollup-recorder.ts'

/** What to read, and which steps to make of it. */
export interface HistoryRange {
  /** Multiples of `stepMs`. */
  readonly fromMs: number
  readonly toMs: number
  readonly stepMs: number
  readonly resolution: HistoryResolution
}

const DEFAULT_SECONDS = 3_600
/** Lengths of the steps that are chosen if the query has none. */
const STEPS_MS = [15_000, 60_000, 300_000, 900_000, 3_600_000, 14_400_000, 86_400_000]
const DEFAULT_MAX_STEPS = 360
/** Steps of the store that are read before the first one, for the totals from which its counts begin. */
const STEPS_BEFORE = 4

/**
 * @param maxSteps The most steps of the response.
 * @throws {FleetError} INVALID, with the field at fault.
 */
export function rangeOf(query: QueueHistoryQuery, nowMs: number, maxSteps: number): HistoryRange {
  const { startMs, endMs } = endsOf(query, nowMs)
  if (startMs >= endMs) throw invalid('/from', 'must be before "to"')
  const stepMs = query.step === undefined ? chooseStep(startMs, endMs, nowMs, maxSteps) : query.step * 1_000
  const fromMs = Math.max(0, stepMs * Math.floor(startMs / stepMs))
  // A range that ends now has the current step, also if that begins now.
  const toMs = stepMs * (endMs === nowMs ? Math.floor(endMs / stepMs) + 1 : Math.ceil(endMs / stepMs))
  const steps = (toMs - fromMs) / stepMs
  if (steps > maxSteps) {
    const found = `gives ${steps} steps from ${toSeconds(fromMs)} to ${toSeconds(toMs)}`
    const message = `${found}, at most ${maxSteps} are returned`
    throw invalid('/step', `${message}; use a longer step or a shorter range`, 'maximum', { limit: maxSteps })
  }
  const resolution = resolutionFor(stepMs)
  if (!isKept(resolution, fromMs, nowMs)) {
    const keptSeconds = toSeconds(resolution.stepMs * resolution.steps)
    const message = `needs steps of ${toSeconds(resolution.stepMs)} s, which are kept for ${keptSeconds} s`
    throw invalid('/step', `${message}; use a later "from" or a multiple of ${nextSeconds(resolution)}`)
  }
  return { fromMs, toMs, stepMs, resolution }
}

function endsOf({ from, to, seconds }: QueueHistoryQuery, nowMs: number): { startMs: number; endMs: number } {
  if (from === undefined) {
    const endMs = to === undefined ? nowMs : to * 1_000
    return { startMs: endMs - (seconds ?? DEFAULT_SECONDS) * 1_000, endMs }
  }
  if (to !== undefined && seconds !== undefined)
    throw invalid('/seconds', 'cannot be combined with both "from" and "to"; leave out one of the three')
  if (seconds !== undefined) return { startMs: from * 1_000, endMs: (from + seconds) * 1_000 }
  return { startMs: from * 1_000, endMs: to === undefined ? nowMs : to * 1_000 }
}

/** The start of the first step of the store to read. */
export const readFromMs = ({ fromMs, stepMs, resolution }: HistoryRange): number =>
  Math.max(0, fromMs - Math.max(stepMs, STEPS_BEFORE * resolution.stepMs))

/** @param rows From {@link readFromMs} on, oldest first. */
export function stepsOf(rows: readonly RollupStep[], { fromMs, stepMs, resolution }: HistoryRange): QueueHistoryStep[] {
  const steps: QueueHistoryStep[] = []
  let before: RollupStep | null = rows.findLast((row) => row.startMs < fromMs && isSampled(row)) ?? null
  for (const group of groupsOf(rows, fromMs, stepMs)) {
    const { startMs, rows: own } = group
    const sampled = own.filter(isSampled)
    const last = sampled.at(-1) ?? null
    steps.push({
      ts: toSeconds(startMs),
      ...flowsOf(before, last, resolution.stepMs),
      ...gaugesOf(sampled),
      wait: latencyOf(own, 'w'),
      run: latencyOf(own, 'r'),
    })
    before = last ?? before
  }
  return steps
}

/** @returns the sample in a step of 15 s; null without one. */
export function sampleOf({ startMs, peaks }: RollupStep): QueueSample | null {
  if (peaks[PEAKS.sampled] === undefined) return null
  const of = (name: keyof typeof PEAKS): number => peaks[PEAKS[name]] ?? 0
  return {
    ts: toSeconds(startMs),
    high: of('high'),
    normal: of('normal'),
    low: of('low'),
    in_flight: of('inFlight'),
    scheduled: of('scheduled'),
    dead: of('dead'),
    submitted: of('submitted'),
    acked: of('acked'),
    nacked: of('nacked'),
    died: of('died'),
    ...(peaks[PEAKS.cancelled] !== undefined && { cancelled: of('cancelled') }),
  }
}

/** The coarsest resolution whose steps divide this one. */
function resolutionFor(stepMs: number): HistoryResolution {
  return HISTORY_RESOLUTIONS.findLast((each) => stepMs % each.stepMs === 0) ?? HISTORY_RESOLUTIONS[0]
}

/** What is older than the coarsest resolution is missing, which is no fault of the query. */
function isKept(resolution: HistoryResolution, fromMs: number, nowMs: number): boolean {
  if (resolution === HISTORY_RESOLUTIONS.at(-1)) return true
  return fromMs >= nowMs - (resolution.steps + 1) * resolution.stepMs
}

const nextSeconds = (resolution: HistoryResolution): number =>
  toSeconds(HISTORY_RESOLUTIONS[HISTORY_RESOLUTIONS.indexOf(resolution) + 1]?.stepMs ?? resolution.stepMs)

function chooseStep(startMs: number, endMs: number, nowMs: number, maxSteps: number): number {
  const most = Math.min(DEFAULT_MAX_STEPS, maxSteps - 1) // An unaligned range has one step more.
  const fits = (stepMs: number): boolean =>
    (endMs - startMs) / stepMs <= most && isKept(resolutionFor(stepMs), stepMs * Math.floor(startMs / stepMs), nowMs)
  return STEPS_MS.find(fits) ?? 86_400_000
}

interface Group {
  readonly startMs: number
  readonly rows: readonly RollupStep[]
}

function groupsOf(rows: readonly RollupStep[], fromMs: number, stepMs: number): readonly Group[] {
  const groups: { startMs: number; rows: RollupStep[] }[] = []
  for (const row of rows) {
    if (row.startMs < fromMs) continue
    const startMs = stepMs * Math.floor(row.startMs / stepMs)
    if (groups.at(-1)?.startMs === startMs) groups.at(-1)?.rows.push(row)
    else groups.push({ startMs, rows: [row] })
  }
  return groups
}

const isSampled = ({ peaks }: RollupStep): boolean => peaks[PEAKS.sampled] !== undefined

const UNKNOWN_FLOWS = { seconds: null, submitted: null, done: null, failed: null, died: null, cancelled: null }

/** @returns nulls if a total has fallen: the store was restored to an earlier state. */
function flowsOf(before: RollupStep | null, last: RollupStep | null, baseMs: number) {
  if (before === null || last === null) return UNKNOWN_FLOWS
  const added = (name: keyof typeof PEAKS): number => (last.peaks[PEAKS[name]] ?? 0) - (before.peaks[PEAKS[name]] ?? 0)
  const flows = {
    submitted: added('submitted'),
    done: added('acked'),
    failed: added('nacked'),
    died: added('died'),
    cancelled: added('cancelled'),
  }
  if (Object.values(flows).some((count) => count < 0)) return UNKNOWN_FLOWS
  return { seconds: Math.max(toSeconds(baseMs), toSeconds(last.startMs - before.startMs)), ...flows }
}

function gaugesOf(sampled: readonly RollupStep[]) {
  const largest = (name: keyof typeof PEAKS): number | null =>
    sampled.length === 0 ? null : Math.max(...sampled.map(({ peaks }) => peaks[PEAKS[name]] ?? 0))
  const oldestMs = largest('oldest')
  return {
    waiting: largest('waiting'),
    high: largest('high'),
    normal: largest('normal'),
    low: largest('low'),
    in_flight: largest('inFlight'),
    scheduled: largest('scheduled'),
    dead: largest('dead'),
    oldest_seconds: oldestMs === null ? null : toSeconds(oldestMs),
  }
}

const BUCKET = /^[a-z](?<bucket>\d+)$/

/** @returns the quantiles of the times of one kind in all rows; null if there are none. */
function latencyOf(rows: readonly RollupStep[], kind: 'w' | 'r'): LatencyBody | null {
  const counts: number[] = []
  let count = 0
  for (const { sums } of rows) {
    for (const [name, n] of Object.entries(sums)) {
      if (!name.startsWith(kind)) continue
      const bucket = Number(BUCKET.exec(name)?.groups?.['bucket'])
      counts[bucket] = (counts[bucket] ?? 0) + n
      count += n
    }
  }
  if (count === 0) return null
  const at = (share: number): number => quantile(counts, count * share)
  return { count, p50: at(0.5), p95: at(0.95), p99: at(0.99) }
}

/** @returns the time in seconds that `rank` of the times do not exceed, with three digits. */
function quantile(counts: readonly number[], rank: number): number {
  let sum = 0
  const bucket = counts.findIndex((n) => (sum += n ?? 0) >= rank)
  return Number((middleMs(bucket) / 1_000).toPrecision(3))
}
