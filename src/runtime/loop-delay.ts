/**
 * @module runtime/loop-delay
 * How late the event loop runs what is due: the one number that says whether a Node process has more work than time.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'

export interface LoopDelay {
  /** The 99th percentile of the delay since the last call, in milliseconds; 0 where nothing was measured. */
  takeP99Ms(): number
  stop(): void
}

/** Coarse enough to cost nothing, fine enough for a bound of 100 ms. */
const RESOLUTION_MS = 10
const NS_PER_MS = 1e6

/** Measures this process, from now on. */
export function systemLoopDelay(): LoopDelay {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  histogram.enable()
  return {
    takeP99Ms: () => {
      const p99Ms = histogram.count === 0 ? 0 : histogram.percentile(99) / NS_PER_MS
      histogram.reset()
      return Math.max(0, p99Ms - RESOLUTION_MS) // What is recorded is the time between two looks.
    },
    stop: () => void histogram.disable(),
  }
}
