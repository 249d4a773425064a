/**
 * @module runtime/winston-log
 * The log of every process: winston with one Console transport to stdout, in the format text or json.
 *
 *   text  2026-01-01T00:00:00.000Z info  worker registered worker_id=m-7 automation_type=mailer
 *   json  {"time":"…","level":"info","message":"…","worker_id":"m-7",…}
 *
 * A line never spans lines: control characters are escaped. Fields are cut at 8 KiB, lines at 64 KiB. Errors keep their
 * name, message, code and cause, and their stack unless Muster foresaw the failure. Fields bound with withLogFields
 * stand on every line.
 */
import type { Writable } from 'node:stream'
import { createLogger, format, transports, type Logger } from 'winston'
import type { Clock } from './clock.ts'
import { CONTROLS } from './control-characters.ts'
import { boundLogFields, type Log, type LogFields, type LogLevel } from './log.ts'

export interface LogOptions {
  readonly level: LogLevel
  readonly format: 'text' | 'json'
  readonly clock: Clock
  /** Where the lines go; stdout when left out. */
  readonly stream?: Writable
}

/** Length at which a message and a field of a log line are cut. */
export const MAX_LOG_FIELD_CHARS = 8_192
const MAX_LINE_CHARS = 65_536
/** Names of the errors that Muster throws with a code and a sentence for the user. */
const FORESEEN = new Set(['FleetError', 'MasterError'])
/** Keys of the line itself; a field of that name gets an underscore in front. */
const RESERVED = new Set(['time', 'level', 'message'])

export interface ClosableLog extends Log {
  /** Resolves when every line has left the process; to be awaited before it ends. */
  close(): Promise<void>
}

export function createLog(options: LogOptions): ClosableLog {
  const line = options.format === 'json' ? jsonLine : textLine
  const logger = createLogger({
    level: options.level,
    levels: { error: 0, warn: 1, info: 2, debug: 3 },
    format: format.printf((info) => info['line'] as string),
    transports: [
      options.stream === undefined
        ? new transports.Console({ forceConsole: false })
        : new transports.Stream({ stream: options.stream }),
    ],
  })
  const write =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}): void => {
      if (!logger.isLevelEnabled(level)) return
      const time = new Date(options.clock.wallMs()).toISOString()
      logger.log({
        level,
        message: '',
        line: cutText(line(time, level, message, { ...boundLogFields(), ...fields }), MAX_LINE_CHARS),
      })
    }
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    isEnabled: (level) => logger.isLevelEnabled(level),
    close: () => closed(logger),
  }
}

function closed(logger: Logger): Promise<void> {
  return new Promise((resolve) => {
    logger.once('finish', resolve)
    logger.end()
  })
}

function jsonLine(time: string, level: LogLevel, message: string, fields: LogFields): string {
  return JSON.stringify({
    time,
    level,
    message: cutText(message, MAX_LOG_FIELD_CHARS),
    ...Object.fromEntries(cleaned(fields)),
  })
}

function textLine(time: string, level: LogLevel, message: string, fields: LogFields): string {
  const pairs = cleaned(fields).map(
    ([key, value]) =>
      ` ${key}=${typeof value === 'string' && /^[^\s"=]+$/.test(value) ? escaped(value) : JSON.stringify(value)}`,
  )
  return `${time} ${level.padEnd(5)} ${escaped(cutText(message, MAX_LOG_FIELD_CHARS))}${pairs.join('')}`
}

function cleaned(fields: LogFields): readonly [string, unknown][] {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => [RESERVED.has(key) ? `_${key}` : key, plain(value)])
}

/** A value that JSON can hold, cut to its bound. */
function plain(value: unknown): unknown {
  if (value instanceof Error) return describeError(value)
  if (typeof value === 'string') return cutText(value, MAX_LOG_FIELD_CHARS)
  if (typeof value === 'bigint') return value.toString()
  if (typeof value !== 'object' || value === null) return value
  try {
    const text = JSON.stringify(value)
    return text.length > MAX_LOG_FIELD_CHARS ? cutText(text, MAX_LOG_FIELD_CHARS) : value
  } catch {
    return '[not serialisable]' // A cycle or a throwing getter must not lose the line.
  }
}

/**
 * The name, message, code, stack and causes of an error, each cut to its bound. A failure that Muster foresees, such as
 * STORAGE_UNAVAILABLE, has no stack: its message explains more than the place in the program that noticed it.
 */
export function describeError(error: Error): Record<string, unknown> {
  const { code } = error as { code?: string | number }
  return {
    name: error.name,
    message: cutText(error.message, MAX_LOG_FIELD_CHARS),
    ...(code === undefined ? {} : { code }),
    ...(FORESEEN.has(error.name) ? {} : { stack: cutText(error.stack ?? '', MAX_LOG_FIELD_CHARS) }),
    ...(error.cause === undefined ? {} : { cause: plain(error.cause) }),
  }
}

const escaped = (text: string): string =>
  text.replaceAll(CONTROLS, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Cuts a text, and appends its length if it was longer. */
export function cutText(text: string, chars: number): string {
  return text.length <= chars ? text : `${text.slice(0, chars)}…[cut, ${text.length} characters]`
}
