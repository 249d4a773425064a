/** Automation of the autoscaling test: works for the given time, and puts out when each run began and ended. */
import { hostname } from 'node:os'
import { defineBatch, Type } from 'muster/automation'

export const timed = defineBatch({
  type: 'timed',
  visibilityTimeoutSeconds: 30,
  config: Type.Object({}),
  payload: Type.Object({ ms: Type.Integer() }),
  output: Type.Object({
    task_id: Type.String(),
    attempt: Type.Integer(),
    began_ms: Type.Integer(),
    worker: Type.String(),
    is_end: Type.Boolean(),
  }),
  async run({ task, emit, sleep }) {
    const run = { task_id: task.id, attempt: task.attempt, began_ms: Date.now(), worker: hostname() }
    await emit({ ...run, is_end: false })
    await sleep(task.payload.ms)
    await emit({ ...run, is_end: true })
  },
})
