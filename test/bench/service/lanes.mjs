/**
 * Many concurrent reserves of one worker ID, as one process with threads sends them (G31): each lane reserves, acks and
 * reserves again, over its own connection. Tasks are always free, so no reserve may return empty. The other subjects
 * are as many lanes with a worker ID each, in the same round.
 */
import { inFlight, perSecond } from '../load.mjs'
import { WORKER_TOKEN } from '../processes.mjs'
import { FakeWorker } from './fake-worker.mjs'
import { requestBytes, withLoad } from './rest-load.mjs'
import { musterOn, PAYLOAD, withFleet } from './subjects.mjs'

const BATCH = requestBytes('POST', '/api/v1/automations/noop/tasks/batch', {
  tasks: Array.from({ length: 100 }, () => ({ payload: PAYLOAD })),
})
const LANES = [1, 4, 8, 16, 64]
const COMPARED = [8, 64]
const TASKS = { 1: 4_000, 50: 40_000 }
const MOST_MS = 60_000
/** The longest that one reserve may take while tasks are free. */
const STARVED_MS = 1_000

const rpc = (id, method, params) =>
  requestBytes(
    'POST',
    `/api/v1/automations/noop/workers/${id}/rpc`,
    { jsonrpc: '2.0', id: 1, method, params },
    WORKER_TOKEN,
  )

/**
 * Runs one closed loop per ID until the tasks are done. @returns the rate, the longest reserve (`max`) and the longest
 * time without a task for any lane (`drought`), in milliseconds. @throws when a reserve returned empty.
 */
async function drained(load, ids, limit, count) {
  let [left, done, empty, max, drought] = [count, 0, 0, 0, 0]
  const began = performance.now()
  let last = began
  await Promise.all(
    ids.map(async (id) => {
      const reserve = rpc(id, 'tasks.reserve', { limit, wait_ms: 20_000 })
      while (left > 0 && performance.now() - began < MOST_MS) {
        left -= limit
        const sent = performance.now()
        const { result } = JSON.parse(await load.send(reserve))
        const now = performance.now()
        max = Math.max(max, now - sent)
        drought = Math.max(drought, now - last)
        last = now
        done += result.tasks.length
        if (result.tasks.length === 0) empty += 1
        else
          await load.send(
            rpc(id, 'tasks.ack', { tasks: result.tasks.map(({ task_id, token }) => ({ task_id, token })) }),
          )
      }
    }),
  )
  if (empty > 0) throw new Error(`${empty} reserves came back empty while tasks were free`)
  return { value: perSecond(done, performance.now() - began), max, drought }
}

/** @param ids The worker ID of each lane. */
const measureLanes = (ids, limit) => async (bench, fleet) => {
  const workers = [...new Set(ids)].map((id) => new FakeWorker(fleet.port, 'noop', id))
  try {
    await Promise.all(workers.map((worker) => worker.open()))
    const count = bench.count(TASKS[limit])
    const free = ids.length * limit
    await withLoad(fleet.port, 4, (load) => inFlight(Math.ceil((2 * (count + free)) / 100), 4, () => load.send(BATCH)))
    return await withLoad(fleet.port, ids.length, async (load) => {
      await drained(load, ids, limit, count) // Warm-up.
      const costs = await fleet.costs()
      const figures = await drained(load, ids, limit, count)
      return { ...figures, ...(await costs(count)) }
    })
  } finally {
    for (const worker of workers) worker.end()
  }
}

const subjectsOn = (store, limit) => {
  const name = (lanes) => `${musterOn(store)}, ${lanes} ${lanes === 1 ? 'lane' : 'lanes'}`
  const apart = (lanes) => `${name(lanes)}, one id each`
  const on = (ids) => (bench) => withFleet(bench, store, (fleet) => measureLanes(ids, limit)(bench, fleet))
  const shared = (lanes) => on(Array(lanes).fill('lanes'))
  const own = (lanes) => on(Array.from({ length: lanes }, (_, lane) => `lane-${lane}`))
  return {
    subjects: Object.fromEntries(
      LANES.flatMap((lanes) => [
        [name(lanes), shared(lanes)],
        ...(COMPARED.includes(lanes) ? [[apart(lanes), own(lanes)]] : []),
      ]),
    ),
    gates: [
      ...COMPARED.map((lanes) => ({ subject: name(lanes), over: apart(lanes), atLeast: 0.9 })),
      // Throughput does not fall with more lanes; 0.9 allows for the spread of the machine.
      ...LANES.slice(1).map((lanes, at) => ({ subject: name(lanes), over: name(LANES[at]), atLeast: 0.9 })),
      ...LANES.map((lanes) => ({ subject: name(lanes), field: 'max', atMost: STARVED_MS })),
    ],
  }
}

const at = (store, limit) => ({
  id: `lanes-${limit}-${store}`,
  level: 'service',
  title: `reserve ${limit} and ack by lanes of one worker id`,
  unit: 'tasks/s',
  better: 'higher',
  rounds: 3,
  note:
    'each lane has a connection, reserves, acks and reserves again; a reserve that returns empty fails the row; ' +
    'max ms is the longest reserve',
  ...subjectsOn(store, limit),
})

export const lanes = ['memory', 'sqlite', 'redis'].flatMap((store) => [1, 50].map((limit) => at(store, limit)))
