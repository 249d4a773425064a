/**
 * Many concurrent reserves of one worker ID, as one process with threads sends them: each lane reserves one task, acks
 * it and reserves again, over its own connection. Tasks are always available, so no reserve may return empty.
 */
import { inFlight, perSecond } from '../load.mjs'
import { WORKER_TOKEN } from '../processes.mjs'
import { FakeWorker } from './fake-worker.mjs'
import { requestBytes, withLoad } from './rest-load.mjs'
import { onEachStore, PAYLOAD } from './subjects.mjs'

const ID = 'lanes'
const PATH = `/api/v1/automations/noop/workers/${ID}/rpc`
const BATCH = requestBytes('POST', '/api/v1/automations/noop/tasks/batch', {
  tasks: Array.from({ length: 100 }, () => ({ payload: PAYLOAD })),
})
const TASKS_PER_LANE = 150
const MOST_MS = 20_000

const rpc = (method, params) => requestBytes('POST', PATH, { jsonrpc: '2.0', id: 1, method, params }, WORKER_TOKEN)
const RESERVE = rpc('tasks.reserve', { limit: 1, wait_ms: 5_000 })

/** Runs `lanes` closed loops until the tasks are done. @throws when a reserve returned empty. */
async function drained(load, lanes, count) {
  let [left, empty] = [count, 0]
  const began = performance.now()
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      while (left > 0 && performance.now() - began < MOST_MS) {
        left -= 1
        const { result } = JSON.parse(await load.send(RESERVE))
        const [task] = result.tasks
        if (task === undefined) empty += 1
        else await load.send(rpc('tasks.ack', { tasks: [{ task_id: task.task_id, token: task.token }] }))
      }
    }),
  )
  if (empty > 0) throw new Error(`${empty} reserves came back empty while tasks were free`)
  return perSecond(count - left, performance.now() - began)
}

export const measureLanes = (lanes) => async (bench, fleet) => {
  const worker = new FakeWorker(fleet.port, 'noop', ID)
  await worker.open()
  try {
    const count = Math.ceil(bench.count(TASKS_PER_LANE * Math.max(lanes, 8)) / 100) * 100
    await withLoad(fleet.port, 4, (load) => inFlight((2 * count) / 100, 4, () => load.send(BATCH)))
    return await withLoad(fleet.port, lanes, async (load) => {
      await drained(load, lanes, count) // Warm-up.
      const costs = await fleet.costs()
      const value = await drained(load, lanes, count)
      return { value, ...(await costs(count)) }
    })
  } finally {
    worker.end()
  }
}

const at = (lanes) => ({
  id: `lanes-${lanes}`,
  level: 'service',
  title: `reserve and ack by ${lanes} lanes of one worker id`,
  unit: 'tasks/s',
  better: 'higher',
  rounds: 3,
  note:
    `${lanes} connections; each reserves one task, acks it and reserves again; ` +
    'a reserve that returns empty fails the row',
  subjects: onEachStore(measureLanes(lanes)),
})

export const lanes1 = at(1)
export const lanes16 = at(16)
export const lanes64 = at(64)
