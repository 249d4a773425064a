/**
 * The automations of the benchmark: a task that does nothing, and a firehose of outputs.
 * What ran is written to the file BENCH_IDS at the end, one id a line, so that exact delivery can be checked.
 */
import { appendFileSync } from 'node:fs'
import { defineBatch, defineContinuous, Type } from '../../dist/automation/public.js'

let ids = []
const file = process.env.BENCH_IDS
const flush = () => {
  if (file !== undefined && ids.length > 0) appendFileSync(file, `${ids.join('\n')}\n`)
  ids = []
}
process.on('exit', flush)

export const noop = defineBatch({
  type: 'noop',
  config: Type.Object({}),
  payload: Type.Object({ text: Type.String() }),
  output: Type.Object({}),
  run({ task }) {
    ids.push(task.id)
  },
})

export const firehose = defineContinuous({
  type: 'firehose',
  config: Type.Object({ total: Type.Integer({ default: 0 }) }),
  output: Type.Object({ n: Type.Integer(), text: Type.String() }),
  async run({ config, emit, signal, sleep }) {
    const text = 'x'.repeat(150)
    for (let n = 0; n < config.total && !signal.aborted; n += 1) await emit({ n, text })
    await sleep(3_600_000)
  },
})
