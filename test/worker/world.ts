/** What the worker's tests share: virtual time beside real sockets, a log that is kept, and automations. */
import { buildCatalog, defineBatch, defineContinuous, Type, type CatalogEntry } from '../../src/automation/index.ts'
import type { Log, LogLevel } from '../../src/runtime/index.ts'
import type { VirtualTime } from '../../src/runtime/index.ts'
import type { Host } from '../../src/worker/index.ts'

const PATIENCE_MS = 4_000

/** Lets real I/O and virtual time go on together, a millisecond at a turn, until `holds`. */
export async function until(time: VirtualTime, what: string, holds: () => boolean): Promise<void> {
  const start = performance.now()
  while (!holds()) {
    if (performance.now() - start > PATIENCE_MS) throw new Error(`this did not come true: ${what}`)
    await time.advance(1)
  }
}

/** Lets real I/O go on while the virtual clock stands. */
export async function turns(count = 30): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => void setImmediate(resolve))
}

export interface KeptLog extends Log { readonly lines: { readonly level: LogLevel; readonly message: string; readonly fields: object | undefined }[] }

export function keptLog(): KeptLog {
  const lines: KeptLog['lines'] = []
  const at = (level: LogLevel) => (message: string, fields?: object): void => void lines.push({ level, message, fields })
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), isEnabled: () => true }
}

export const testHost: Host = {
  hardware: () => ({ cores: 4, ram_gb: 8, hostname: 'box', kernel: 'Linux 6' }),
  cpuMs: () => 0,
  rssBytes: () => 64 * 1024 ** 2,
}

type BatchRun = Parameters<typeof defineBatch>[0]['run']
type ContinuousRun = Parameters<typeof defineContinuous>[0]['run']

function entryOf(automation: Parameters<typeof buildCatalog>[0][number]): CatalogEntry {
  const [entry] = buildCatalog([automation]).values()
  if (entry === undefined) throw new Error('the catalog is empty')
  return entry
}

const config = Type.Object({ text: Type.Optional(Type.String()) })

export const batchEntry = (run: BatchRun, visibilityTimeoutSeconds = 60): CatalogEntry =>
  entryOf(defineBatch({ type: 'render', config, payload: Type.Object({ id: Type.String() }), visibilityTimeoutSeconds, run }))

export const continuousEntry = (run: ContinuousRun): CatalogEntry =>
  entryOf(defineContinuous({ type: 'watch', config, output: Type.Object({}, { additionalProperties: true }), run }))
