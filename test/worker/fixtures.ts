/** Shared fixtures of the worker's tests: virtual time with real sockets, a recording log, and automations. */
import {
  buildCatalog,
  defineBatch,
  defineContinuous,
  Type,
  type Automation,
  type RunnableEntry,
} from '../../src/automation/index.ts'
import type { Host } from '../../src/worker/index.ts'

export { advanceUntil, recordingLog, runTurns, type RecordingLog } from '../kit/index.ts'

export const testHost: Host = {
  hardware: () => ({ cores: 4, ram_gb: 8, hostname: 'box', kernel: 'Linux 6' }),
  cpuMs: () => 0,
  rssBytes: () => 64 * 1024 ** 2,
}

type BatchRun = Parameters<typeof defineBatch>[0]['run']
type ContinuousRun = Parameters<typeof defineContinuous>[0]['run']

function entryOf(automation: Automation): RunnableEntry {
  const [entry] = buildCatalog([automation]).values()
  if (entry === undefined) throw new Error('the catalog is empty')
  return entry
}

const config = Type.Object({ text: Type.Optional(Type.String()) })

export const batchEntry = (run: BatchRun, visibilityTimeoutSeconds = 60): RunnableEntry =>
  entryOf(
    defineBatch({ type: 'render', config, payload: Type.Object({ id: Type.String() }), visibilityTimeoutSeconds, run }),
  )

export const continuousEntry = (run: ContinuousRun): RunnableEntry =>
  entryOf(defineContinuous({ type: 'watch', config, output: Type.Object({}, { additionalProperties: true }), run }))
