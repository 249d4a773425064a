/** A log whose lines a test can read. */
import type { Log, LogFields, LogLevel } from '../../src/runtime/index.ts'

export interface LogLine {
  readonly level: LogLevel
  readonly message: string
  readonly fields: LogFields
}

export interface RecordingLog extends Log {
  readonly lines: LogLine[]
}

export function recordingLog(): RecordingLog {
  const lines: LogLine[] = []
  const at =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}): void =>
      void lines.push({ level, message, fields })
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), isEnabled: () => true }
}
