/** Automation of the installation test: logs the ID of each task that it runs, and the `note` of its config. */
import { hostname } from 'node:os'
import { defineBatch, Type } from 'muster/automation'

export const echo = defineBatch({
  type: 'echo',
  visibilityTimeoutSeconds: 5,
  config: Type.Object({ note: Type.String({ default: '' }) }),
  payload: Type.Object({ ms: Type.Integer() }),
  output: Type.Object({ task_id: Type.String(), worker: Type.String(), note: Type.String() }),
  async run({ task, config, emit, sleep }) {
    await sleep(task.payload.ms)
    await emit({ task_id: task.id, worker: process.env.SVC_WORKER_ID ?? hostname(), note: config.note })
    process.stdout.write(`ran ${task.id}\n`)
  },
})
