/**
 * @module runtime/log
 * The log port. The winston implementation is in winston-log.ts; fields bound with `withLogFields`
 * travel along asynchronous calls and stand on every line logged inside.
 */
import { AsyncLocalStorage } from 'node:async_hooks'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'
export const LOG_LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error']
export type LogFields = Readonly<Record<string, unknown>>

export interface Log {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
  /** Guards the making of costly fields on hot paths. */
  isEnabled(level: LogLevel): boolean
}

const bound = new AsyncLocalStorage<LogFields>()

/** Runs `inside` with `fields` on each of its log lines, added to those already bound. */
export function withLogFields<T>(fields: LogFields, inside: () => T): T {
  return bound.run({ ...bound.getStore(), ...fields }, inside)
}

/** Runs later work as if from here: with the log fields, and inside the span, of this place and not of its caller's. */
export function fromHere(): <T>(inside: () => T) => T {
  return AsyncLocalStorage.snapshot()
}

/** The fields bound where this is called. */
export function boundLogFields(): LogFields {
  return bound.getStore() ?? {}
}
