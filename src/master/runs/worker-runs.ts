/**
 * @module master/runs/worker-runs
 * Counts what the runs of one worker did under its newest config, from the reserved counters in its stored statistics
 * (D137).
 *
 *   ts  config_gen  runs_failed
 *   0   4           7
 *   15  4           9
 *   18  5           30            a new config: its 30 failed runs count, in a window of 3 s
 *   33  5           200           its 200 failed runs, in a window of 18 s
 *
 * Frames come from the store, so every master returns the same counts, also one that has just started.
 */
import { RESERVED_METRICS, type JsonText } from '../../protocol/index.ts'
import { reservedValue } from '../registry/index.ts'

/** How far back frames are read. A frame comes at least every 15 s, so at least the last minute is covered. */
export const WINDOW_SECONDS = 75
/** Frames that are read at most. There are more than six only while slots start and end all the time. */
export const MAX_FRAMES = 12

export interface RunCounts {
  readonly windowSeconds: number
  readonly done: number
  readonly failed: number
  /** null if the worker does not count them. */
  readonly died: number | null
  /** Under the newest config, since it was applied. */
  readonly config: { readonly done: number; readonly failed: number }
  readonly lastErrorRuns: number | null
}

interface Frame {
  readonly ts: number
  readonly gen: number
  readonly done: number
  readonly failed: number
  readonly died: number
  readonly lastErrorRuns: number | null
}

const TS = /"ts":(?<ts>[\d.eE+]+)/
const NOTHING = { done: 0, failed: 0, died: 0 }
const NO_RUNS: RunCounts = {
  windowSeconds: 0,
  done: 0,
  failed: 0,
  died: null,
  config: { done: 0, failed: 0 },
  lastErrorRuns: null,
}

/** @returns null for a frame without reserved metrics. */
function frameOf(text: JsonText): Frame | null {
  const gen = reservedValue(text, RESERVED_METRICS.configGen)
  const ts = Number(TS.exec(text)?.groups?.['ts'] ?? Number.NaN)
  if (gen === null || !Number.isFinite(ts)) return null
  const count = (name: string): number => reservedValue(text, name) ?? 0
  return {
    ts,
    gen,
    done: count(RESERVED_METRICS.runsOk),
    failed: count(RESERVED_METRICS.runsFailed) + count(RESERVED_METRICS.slotFailures),
    died: count(RESERVED_METRICS.runsDied),
    lastErrorRuns: reservedValue(text, RESERVED_METRICS.lastErrorRuns),
  }
}

/**
 * @param frames Frames of the last {@link WINDOW_SECONDS}, oldest first.
 * @param sinceSeconds When the counters of the oldest frame began if it has the newest config, in unix seconds.
 * @param appliedGen The generation in the newest state frame; null before the first one.
 * @returns zeros in a window of 0 s if no frame has reserved metrics, or if the newest one is of another generation
 *   than the applied one: what runs did under an earlier config says nothing about this one.
 */
export function countRuns(frames: readonly JsonText[], sinceSeconds: number, appliedGen: number | null): RunCounts {
  const known = frames.map(frameOf).filter((frame) => frame !== null)
  const newest = known.at(-1)
  if (newest === undefined || (appliedGen !== null && newest.gen !== appliedGen)) return NO_RUNS
  const { done, failed, lastErrorRuns } = newest
  const base = baseOf(known, newest) ?? { ...NOTHING, ts: sinceSeconds }
  const died = newest.died - base.died
  const failedSince = failed - base.failed
  return {
    windowSeconds: Math.min(WINDOW_SECONDS, Math.max(0, newest.ts - base.ts)),
    done: done - base.done,
    failed: failedSince,
    // A worker that counts deaths also sends the number of its last error.
    died: failedSince > 0 && lastErrorRuns === null ? null : Math.min(died, failedSince),
    config: { done, failed },
    lastErrorRuns,
  }
}

/**
 * @returns the oldest frame from which on the counters grew; with zeros if it is of an earlier config or process.
 *   undefined if the newest frame is the only one.
 */
function baseOf(known: readonly Frame[], newest: Frame): Pick<Frame, 'ts' | 'done' | 'failed' | 'died'> | undefined {
  const restart = known.findLastIndex((frame, at) => {
    const next = known[at + 1]
    return next !== undefined && (next.gen !== frame.gen || next.done < frame.done || next.failed < frame.failed)
  })
  const before = known[restart]
  if (before !== undefined) return { ...NOTHING, ts: before.ts }
  const [first] = known
  return first === newest ? undefined : first
}
