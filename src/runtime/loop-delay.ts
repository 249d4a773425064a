/**
 * @module runtime/loop-delay
 * How late the event loop runs what is due: the one number that says whether a Node process has more work than time.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'

export interface LoopDelay {
  /** The 99th percentile of the delay since the last call of either method, in milliseconds; 0 if nothing was seen. */
  takeP99Ms(): number
  /** The longest delay since the last call of either method, in milliseconds; 0 if nothing was measured. */
  takeLongestMs(): number
  stop(): void
}

/** Coarse enough to cost nothing, fine enough for a bound of 100 ms. */
const RESOLUTION_MS = 10
const NS_PER_MS = 1e6

/** Measures this process, from now on. */
export function systemLoopDelay(): LoopDelay {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  histogram.enable()
  const take = (read: () => number): number => {
    const ms = histogram.count === 0 ? 0 : read() / NS_PER_MS
    histogram.reset()
    return Math.max(0, ms - RESOLUTION_MS) // What is recorded is the time between two looks.
  }
  return {
    takeP99Ms: () => take(() => histogram.percentile(99)),
    takeLongestMs: () => take(() => histogram.max),
    stop: () => void histogram.disable(),
  }
}
