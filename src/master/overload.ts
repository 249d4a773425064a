/**
 * @module master/overload
 * Whether this process has more work than time. The event loop is looked at every second; late at the 99th percentile
 * in five looks on end, it is overloaded until a look finds it in time again. One long pause alone (a stopped process,
 * a slow disk at start) is not: it shows in one look, however long it was.
 *
 *   in time ──five late looks on end──▶ overloaded ──one look in time──▶ in time
 *
 * New tasks are refused then, since they are what can wait elsewhere. Whatever ends work that is there (settles, states,
 * configs) never is.
 */
import type { Cancel, LoopDelay } from '../runtime/index.ts'
import type { MasterDeps, Part } from './deps.ts'

const LOOK_EVERY_MS = 1_000
const LATE_MS = 100
const LATE_LOOKS = 5

export interface Overload extends Part {
  readonly overloaded: () => boolean
}

/** @param loopDelay null: nothing is measured, and nothing ever overloaded. */
export function createOverload(
  { timers, log }: Pick<MasterDeps, 'timers' | 'log'>,
  loopDelay: LoopDelay | null,
): Overload {
  let lateLooks = 0
  let cancel: Cancel = () => {}
  const look = (delay: LoopDelay): void => {
    const p99Ms = delay.takeP99Ms()
    const before = lateLooks
    lateLooks = p99Ms > LATE_MS ? lateLooks + 1 : 0
    if (lateLooks === LATE_LOOKS)
      log.warn('master overloaded: event loop is delayed, rejecting new tasks', {
        event_loop_delay_p99_ms: Math.round(p99Ms),
      })
    if (before >= LATE_LOOKS && lateLooks === 0) log.info('master recovered from overload: accepting new tasks')
  }
  return {
    routes: [],
    overloaded: () => lateLooks >= LATE_LOOKS,
    start: () => {
      if (loopDelay !== null) cancel = timers.every(LOOK_EVERY_MS, () => look(loopDelay))
    },
    stop: () => {
      cancel()
      loopDelay?.stop()
    },
  }
}
