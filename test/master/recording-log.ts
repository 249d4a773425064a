/** A log whose lines a test can read. */
import type { Log, LogFields, LogLevel } from '../../src/runtime/index.ts'

export interface Line {
  readonly level: LogLevel
  readonly message: string
  readonly fields: LogFields
}

export function recordingLog(): { readonly log: Log; readonly lines: Line[] } {
  const lines: Line[] = []
  const at =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}): void =>
      void lines.push({ level, message, fields })
  return {
    log: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), isEnabled: () => true },
    lines,
  }
}
