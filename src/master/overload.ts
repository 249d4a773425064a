/**
 * @module master/overload
 * Detects that this process is overloaded, by the delay of its event loop. The delay is measured every second. After
 * five consecutive seconds with a 99th percentile above 100 ms the master is overloaded, until one measurement below.
 * One long pause alone (a stopped process, a slow disk at start) affects one measurement and is no overload.
 *
 *   normal ──five late measurements in a row──▶ overloaded ──one measurement in time──▶ normal
 *
 * An overloaded master rejects new tasks, because clients can submit them later. It never rejects calls that complete
 * existing work: settles, states, configs.
 */
import type { Cancel, LoopDelay } from '../runtime/index.ts'
import type { MasterDeps, Part } from './deps.ts'

const CHECK_EVERY_MS = 1_000
const LATE_MS = 100
const LATE_LIMIT = 5

export interface Overload extends Part {
  readonly isOverloaded: () => boolean
}

/** @param loopDelay null: nothing is measured, and the master is never overloaded. */
export function createOverload(
  { timers, log }: Pick<MasterDeps, 'timers' | 'log'>,
  loopDelay: LoopDelay | null,
): Overload {
  let lateCount = 0
  let cancel: Cancel = () => {}
  const check = (delay: LoopDelay): void => {
    const p99Ms = delay.takeP99Ms()
    const before = lateCount
    lateCount = p99Ms > LATE_MS ? lateCount + 1 : 0
    if (lateCount === LATE_LIMIT)
      log.warn('master overloaded: event loop is delayed, rejecting new tasks', {
        event_loop_delay_p99_ms: Math.round(p99Ms),
      })
    if (before >= LATE_LIMIT && lateCount === 0) log.info('master recovered from overload: accepting new tasks')
  }
  return {
    routes: [],
    isOverloaded: () => lateCount >= LATE_LIMIT,
    start: () => {
      if (loopDelay !== null) cancel = timers.every(CHECK_EVERY_MS, () => check(loopDelay))
    },
    stop: () => {
      cancel()
      loopDelay?.stop()
    },
  }
}
