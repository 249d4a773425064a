/**
 * @module runtime/log-throttle
 * Keeps a repeated warning to one line a minute per key, so that one broken worker or an unavailable store cannot
 * fill the log. 10,000 keys are remembered; beyond that the oldest is forgotten, which costs a line at most.
 */
import { BoundedMap } from './bounded-map.ts'
import type { Clock } from './clock.ts'
import type { Log, LogFields } from './log.ts'

const QUIET_MS = 60_000
const MAX_KEYS = 10_000

interface Complaint {
  quietUntilMs: number
  suppressed: number
}

export class LogThrottle {
  readonly #clock: Clock
  readonly #byKey = new BoundedMap<string, Complaint>(MAX_KEYS)

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Calls `say` with how often the same was kept silent since the last line, unless it was said within the last minute.
   */
  run(key: string, say: (suppressed: number) => void): void {
    const nowMs = this.#clock.monotonicMs()
    const known = this.#byKey.get(key)
    if (known !== undefined && nowMs < known.quietUntilMs) {
      known.suppressed += 1
      return
    }
    this.#byKey.set(key, { quietUntilMs: nowMs + QUIET_MS, suppressed: 0 })
    say(known?.suppressed ?? 0)
  }
}

/**
 * `log`, with each warning and error at most once a minute: for a process whose every part says over and over that the
 * its only peer is unavailable. Lines are the same when their message, `error` and `task_id` are.
 */
export function withThrottledWarnings(log: Log, clock: Clock): Log {
  const logThrottle = new LogThrottle(clock)
  const once =
    (level: 'warn' | 'error') =>
    (message: string, fields: LogFields = {}): void => {
      const { error, task_id: taskId } = fields
      const key = JSON.stringify([message, error instanceof Error ? error.message : error, taskId])
      logThrottle.run(key, (suppressed) => log[level](message, suppressed === 0 ? fields : { ...fields, suppressed }))
    }
  return {
    debug: (message, fields) => log.debug(message, fields),
    info: (message, fields) => log.info(message, fields),
    warn: once('warn'),
    error: once('error'),
    isEnabled: (level) => log.isEnabled(level),
  }
}
