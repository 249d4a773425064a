/** The automations of a simulated fleet. A payload says how long its task runs, and how often it fails. */
import { buildCatalog, defineBatch, defineContinuous, Type } from '../../src/automation/index.ts'

const payload = Type.Object({ ms: Type.Integer(), failures: Type.Integer() })

const failing = (attempt: number, failures: number): void => {
  if (attempt < failures) throw new Error('simulated failure')
}

const LONG_VISIBILITY_MS = 4_000

export const CATALOG = buildCatalog([
  defineBatch({
    type: 'short',
    payload,
    visibilityTimeoutSeconds: 10,
    retry: { baseSeconds: 1, factor: 2, capSeconds: 8 },
    run: async ({ task, sleep }) => {
      await sleep(task.payload.ms)
      failing(task.attempt, task.payload.failures)
    },
  }),
  // Each task runs longer than its visibility timeout, so its lease has to be extended.
  defineBatch({
    type: 'long',
    payload,
    visibilityTimeoutSeconds: LONG_VISIBILITY_MS / 1_000,
    retry: { baseSeconds: 1, factor: 2, capSeconds: 8 },
    run: async ({ task, sleep }) => {
      await sleep(LONG_VISIBILITY_MS + task.payload.ms)
      failing(task.attempt, task.payload.failures)
    },
  }),
  defineContinuous({
    type: 'steady',
    output: Type.Object({ n: Type.Integer() }),
    run: async ({ emit, signal, sleep }) => {
      for (let n = 0; !signal.aborted; n += 1) {
        await emit({ n })
        await sleep(5_000)
      }
    },
  }),
])
