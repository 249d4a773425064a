/**
 * Automations for the store outage tests, run by the built command. `quick` tasks have short leases, `steady` tasks
 * survive long without their master, and `still` tasks are reserved by the test itself. Each run is recorded in the
 * file NOTES.
 */
import { appendFileSync } from 'node:fs'
import { defineBatch, Type } from '../../../dist/automation/public.js'

const shared = {
  config: Type.Object({}),
  payload: Type.Object({ ms: Type.Integer() }),
  output: Type.Object({ task_id: Type.String() }),
  async run({ task, emit, sleep }) {
    appendFileSync(process.env.NOTES ?? '/dev/null', `${task.id} ${Date.now()}\n`)
    await sleep(task.payload.ms)
    await emit({ task_id: task.id })
  },
}

export const quick = defineBatch({ ...shared, type: 'quick', visibilityTimeoutSeconds: 2 })
export const steady = defineBatch({ ...shared, type: 'steady', visibilityTimeoutSeconds: 60 })
export const still = defineBatch({ ...shared, type: 'still', visibilityTimeoutSeconds: 60 })
