/**
 * @module worker/logs
 * Creates the logs of a worker process: one for its components, one for plugins.
 */
import type { SlotDeps } from '../automation/index.ts'
import type { Log, LogFields, LogLevel } from '../runtime/index.ts'
import type { LogRing } from './log-ring.ts'

/** @returns a log that also adds each line to a ring, after it was written and only if its level is enabled. */
export function logInto(ring: Pick<LogRing, 'add'>, log: Log): Log {
  const both =
    (level: LogLevel): Log[LogLevel] =>
    (message, fields) => {
      log[level](message, fields)
      if (log.isEnabled(level)) ring.add(level, message, fields)
    }
  return {
    debug: both('debug'),
    info: both('info'),
    warn: both('warn'),
    error: both('error'),
    isEnabled: (level) => log.isEnabled(level),
  }
}

/** @returns a log that writes its lines inside `here`, so that they have the fields of the worker and not of a slot. */
export function logWithin(here: (write: () => void) => void, log: Log): Log {
  const own =
    (level: LogLevel): Log[LogLevel] =>
    (message, fields) =>
      here(() => log[level](message, fields))
  return {
    debug: own('debug'),
    info: own('info'),
    warn: own('warn'),
    error: own('error'),
    isEnabled: (level) => log.isEnabled(level),
  }
}

/** @returns the log for plugins: functions that do not use `this`. */
export function slotLogOf(log: Log): SlotDeps['log'] {
  return {
    debug: (message, fields) => log.debug(message, fields as LogFields),
    info: (message, fields) => log.info(message, fields as LogFields),
    warn: (message, fields) => log.warn(message, fields as LogFields),
    error: (message, fields) => log.error(message, fields as LogFields),
  }
}
