/**
 * @module runtime/process-load
 * Measures how busy this process is: the delay of its event loop, and its share of the memory that it may use. Both
 * decide how many workers a master admits (D101).
 */
import { getHeapStatistics } from 'node:v8'
import { systemLoopDelay } from './loop-delay.ts'

export interface ProcessLoad {
  /** The longest delay of the event loop since the last call, in milliseconds; 0 where nothing was measured. */
  takeLongestDelayMs(): number
  /** What is in use of the heap or of the container's memory, whichever is closer to its limit: 0 to 1. */
  memoryShare(): number
  stop(): void
}

/** Measures this process, from now on. */
export function systemProcessLoad(): ProcessLoad {
  const delay = systemLoopDelay() // Not shared, because each reading starts the measurement anew.
  const containerBytes = process.constrainedMemory() // 0, or more than any machine has, if there is no limit.
  return {
    takeLongestDelayMs: () => delay.takeLongestMs(),
    memoryShare: () => {
      const { used_heap_size: heapBytes, heap_size_limit: heapLimitBytes } = getHeapStatistics()
      const containerShare = containerBytes === 0 ? 0 : process.memoryUsage.rss() / containerBytes
      return Math.max(heapBytes / heapLimitBytes, containerShare)
    },
    stop: () => delay.stop(),
  }
}
