/**
 * Automations for test/e2e/faults.test.ts, run by the built command. `slow` tasks run for the time in their payload,
 * with a lease of two seconds. `bad` tasks misbehave as their payload says. Runs are recorded in the file NOTES.
 */
import { appendFileSync } from 'node:fs'
import { defineBatch, Type } from '../../../dist/automation/public.js'

const note = (...words) => appendFileSync(process.env.NOTES ?? '/dev/null', `${words.join(' ')}\n`)

export const slow = defineBatch({
  type: 'slow',
  visibilityTimeoutSeconds: 2,
  config: Type.Object({}),
  payload: Type.Object({ ms: Type.Integer() }),
  output: Type.Object({ task_id: Type.String(), pid: Type.Integer() }),
  async run({ task, emit, sleep }) {
    note('start', task.id, process.pid, Date.now())
    await sleep(task.payload.ms)
    await emit({ task_id: task.id, pid: process.pid })
  },
})

const WAYS = {
  'throws immediately': () => {
    throw new Error('no good')
  },
  'throws nothing': () => {
    throw null
  },
  'throws a trap': () => {
    throw new Proxy(
      {},
      {
        get: () => {
          throw new Error('trap')
        },
        has: () => {
          throw new Error('trap')
        },
      },
    )
  },
  'leaves a rejection': () => {
    for (let n = 0; n < 1_000; n += 1) void Promise.reject(new Error(`left behind, number ${n}`))
  },
  'throws from a timer': () => {
    setTimeout(() => {
      throw new Error('from a timer')
    }, 1)
    return new Promise(() => {})
  },
  'emits 2 MiB': ({ emit }) => emit({ text: 'x'.repeat(2 * 1024 * 1024) }),
  'emits another schema': ({ emit }) => emit({ other: 1 }),
  'never ends': () => new Promise(() => {}),
  'does well': ({ emit }) => emit({ text: 'done' }),
}

export const bad = defineBatch({
  type: 'bad',
  config: Type.Object({}),
  payload: Type.Object({ way: Type.String() }),
  output: Type.Object({ text: Type.String() }),
  run: (context) => WAYS[context.task.payload.way](context),
})
