/**
 * The automations of a simulated fleet. A payload says how long its task runs, how often it fails, and in which way.
 * Configs have two fields that different admins change. Outputs are numbered for each life of a worker.
 */
import { buildCatalog, defineBatch, defineContinuous, Permanent, Type } from '../../src/automation/index.ts'
import type { RunnableEntry } from '../../src/automation/index.ts'
import type { PluginEvent } from './invariants/invariant.ts'
import type { Plan } from './plan.ts'

const payload = Type.Object({
  ms: Type.Integer(),
  failures: Type.Integer(),
  /** What the plugin does instead of ending normally. */
  poison: Type.Optional(Type.Union([Type.Literal('permanent'), Type.Literal('text'), Type.Literal('hang')])),
})
const config = Type.Object({
  a: Type.Integer({ default: 0 }),
  b: Type.Integer({ default: 0 }),
  /** The revision of the spec of a FleetWorker. */
  revision: Type.Integer({ default: 0 }),
  api_key: Type.Optional(Type.String({ writeOnly: true })),
})
const output = Type.Object({ by: Type.String(), n: Type.Integer() })

interface RunTask {
  readonly payload: { readonly ms: number; readonly failures: number; readonly poison?: string }
  readonly attempt: number
}

const LONG_VISIBILITY_MS = 4_000
const HANG_MS = 40_000
const EMIT_EVERY_MS = 5_000
const retry = { baseSeconds: 1, factor: 2, capSeconds: 8 }

async function runTask(task: RunTask, sleep: (ms: number) => Promise<void>): Promise<void> {
  const { ms, failures, poison } = task.payload
  await sleep(poison === 'hang' ? HANG_MS : ms)
  if (poison === 'permanent') throw new Permanent('simulated permanent failure')
  // oxlint-disable-next-line typescript/only-throw-error -- a plugin may throw anything
  if (poison === 'text') throw 'simulated failure without an error'
  if (task.attempt < failures) throw new Error('simulated failure')
}

/** The automations that a fleet runs, by type. */
export type SimCatalog = ReadonlyMap<string, RunnableEntry>

const AUTOMATIONS = [
  defineBatch({
    type: 'short',
    payload,
    config,
    visibilityTimeoutSeconds: 10,
    retry,
    run: ({ task, sleep }) => runTask(task, sleep),
  }),
  // Each task runs longer than its visibility timeout, so its lease has to be extended.
  defineBatch({
    type: 'long',
    payload,
    config,
    visibilityTimeoutSeconds: LONG_VISIBILITY_MS / 1_000,
    retry,
    run: ({ task, sleep }) => runTask(task, (ms) => sleep(LONG_VISIBILITY_MS + ms)),
  }),
  defineContinuous({
    type: 'steady',
    config,
    output,
    run: async ({ emit, signal, sleep }) => {
      while (!signal.aborted) {
        // `emitNumbered` replaces the output.
        await emit({ by: '', n: 0 })
        await sleep(EMIT_EVERY_MS)
      }
    },
  }),
]
const PLAIN = buildCatalog(AUTOMATIONS)

/** The automations of a plan. One with task control has the type `grouped`, whose tasks report progress. */
export function catalogOf({ taskControl }: Pick<Plan, 'taskControl'>): SimCatalog {
  if (taskControl === null) return PLAIN
  const grouped = defineBatch({
    type: 'grouped',
    payload,
    config,
    result: Type.Object({ id: Type.String() }),
    visibilityTimeoutSeconds: 5,
    retry,
    groups: taskControl.groups,
    run: async ({ task, sleep }) => {
      task.progress({ begun: task.attempt })
      await runTask(task, sleep)
      task.progress({ ended: task.attempt })
      return { id: task.id }
    },
  })
  return buildCatalog([...AUTOMATIONS, grouped])
}

export interface WorkerLife {
  readonly worker: string
  /** The number of this life, so that the outputs of two lives differ. */
  readonly life: number
  /** @returns how many further outputs the plugin emits now. */
  readonly takeFlood: () => number
  readonly onEvent: (event: PluginEvent) => void
}

/** The automation of a type, as one life of a worker runs it: what its plugin does is reported. */
export function entryOf(
  catalog: SimCatalog,
  type: string,
  { worker, life, takeFlood, onEvent }: WorkerLife,
): RunnableEntry {
  const entry = catalog.get(type)
  if (entry === undefined) throw new TypeError(`no automation ${type}`)
  const by = `${worker}/${life}`
  let n = 0
  return {
    ...entry,
    run: async (context) => {
      onEvent({ kind: 'run_started', worker, type, config: context.config })
      if ('task' in context) {
        const { id } = context.task as { id: string }
        const startedWith = structuredClone(context.config)
        onEvent({ kind: 'task_started', worker, type, id })
        try {
          return await entry.run(context)
        } finally {
          onEvent({ kind: 'task_ended', worker, type, id })
          onEvent({ kind: 'run_ended', worker, type, startedWith, config: context.config })
        }
      }
      const emitNumbered = async (): Promise<void> => {
        for (let left = 1 + takeFlood(); left > 0; left -= 1) {
          n += 1
          await context.emit({ by, n })
        }
      }
      return entry.run({ ...context, emit: emitNumbered })
    },
  }
}
