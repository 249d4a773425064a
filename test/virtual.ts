/** Helpers for tests with virtual time and real sockets, and a recording log. */
import type { Log, LogLevel, VirtualTime } from '../src/runtime/index.ts'

const PATIENCE_MS = 4_000

/** Advances real I/O and virtual time, one millisecond per turn, until `holds` returns true. */
export async function until(time: VirtualTime, what: string, holds: () => boolean): Promise<void> {
  const start = performance.now()
  while (!holds()) {
    if (performance.now() - start > PATIENCE_MS) throw new Error(`this did not come true: ${what}`)
    await time.advance(1)
  }
}

/** Runs real I/O while the virtual clock stands still. */
export async function turns(count = 40): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => void setImmediate(resolve))
}

export interface KeptLog extends Log {
  readonly lines: { readonly level: LogLevel; readonly message: string; readonly fields: object | undefined }[]
}

export function keptLog(): KeptLog {
  const lines: KeptLog['lines'] = []
  const at =
    (level: LogLevel) =>
    (message: string, fields?: object): void =>
      void lines.push({ level, message, fields })
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), isEnabled: () => true }
}
