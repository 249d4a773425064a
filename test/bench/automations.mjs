/** The automations of the benchmark. They record their runs in the file BENCH_IDS, see recorder.mjs. */
import { setTimeout as sleep } from 'node:timers/promises'
import { defineBatch, defineContinuous, RetryIn, Type } from '../../dist/automation/public.js'
import { recorder } from './recorder.mjs'

const { ran, flush } = recorder(process.env.BENCH_IDS)
const Text = Type.Object({ text: Type.String() })

/** A task that does nothing. */
export const noop = defineBatch({ type: 'noop', payload: Text, run: ({ task }) => ran(task.id) })

/** Fails once, and requests a retry after 200 ms. */
export const retry = defineBatch({
  type: 'retry',
  payload: Text,
  run({ task }) {
    ran(`${task.id}/${task.attempt}`)
    if (task.attempt === 0) throw new RetryIn(0.2, 'not yet')
  },
})

/** Runs long enough to be killed. Its tasks return after five seconds without an extension. */
export const held = defineBatch({
  type: 'held',
  payload: Type.Object({ ms: Type.Integer() }),
  visibilityTimeoutSeconds: 5,
  async run({ task }) {
    ran(task.id)
    flush()
    await sleep(task.payload.ms)
  },
})

/** Emits `total` outputs as fast as possible. */
export const firehose = defineContinuous({
  type: 'firehose',
  config: Type.Object({ total: Type.Integer({ default: 0 }) }),
  output: Type.Object({ n: Type.Integer(), text: Type.String() }),
  async run({ config, emit, signal, sleep: pause }) {
    const text = 'x'.repeat(150)
    for (let n = 0; n < config.total && !signal.aborted; n += 1) await emit({ n, text })
    await pause(3_600_000)
  },
})
