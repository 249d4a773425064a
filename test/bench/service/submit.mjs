/** Measures REST submits without a worker. Every ID is new, and all of them are in the queue afterwards. */
import { inFlight, perSecond } from '../load.mjs'
import { call } from '../processes.mjs'
import { requestBytes, withLoad } from './rest-load.mjs'
import { onEachStore, PAYLOAD, withLimit } from './subjects.mjs'

const TASKS = '/api/v1/automations/noop/tasks'
const SINGLE = requestBytes('POST', TASKS, { payload: PAYLOAD })
const BATCH = requestBytes('POST', `${TASKS}/batch`, {
  tasks: Array.from({ length: 100 }, () => ({ payload: PAYLOAD })),
})
/** Tasks before the measured ones, to warm up the just-in-time compiler. */
const WARM_UP = 5_000

/**
 * Sends `request` `count` times with `width` in flight. @returns the results of `read` for each response, and the time.
 */
function hammer(port, width, request, count, warmUp, read = () => {}) {
  return withLoad(port, width, async (load) => {
    const results = []
    const once = async () => void results.push(read(await load.send(request)))
    await inFlight(warmUp, width, once)
    const began = performance.now()
    await inFlight(count, width, once)
    return { results, ms: performance.now() - began }
  })
}

async function checkQueued(url, ids) {
  const { length } = await call(url, 'GET', 'noop/queue?n=1')
  if (new Set(ids).size !== ids.length || length !== ids.length)
    throw new Error(`delivery was not exact: ${ids.length} answered, ${length} in the queue`)
}

const idOf = (body) => JSON.parse(body).task_id
const idsOf = (body) => JSON.parse(body).results.map(({ task_id: id }) => id)

const single = async (bench, fleet) => {
  const count = bench.count(30_000)
  const costs = await fleet.costs()
  const { results, ms } = await hammer(fleet.port, 200, SINGLE, count, bench.count(WARM_UP), idOf)
  const spent = await costs(results.length)
  await checkQueued(fleet.url, results)
  return { value: perSecond(count, ms), ...spent }
}

const batches = async (bench, fleet) => {
  const count = bench.count(80_000) / 100
  const costs = await fleet.costs()
  const { results, ms } = await hammer(fleet.port, 4, BATCH, count, bench.count(WARM_UP) / 100, idsOf)
  const ids = results.flat()
  const spent = await costs(ids.length)
  await checkQueued(fleet.url, ids)
  return { value: perSecond(count * 100, ms), ...spent }
}

/** Sends the same requests to a limit server. @param items Number of items per request. */
const limit = (mode, width, request, size, items) => (bench) =>
  withLimit(mode, async ({ port, costs }) => {
    const [count, before] = [bench.count(size) / items, bench.count(WARM_UP) / items]
    const { ms } = await hammer(port, width, request, count, before)
    return { value: perSecond(count * items, ms), ...costs((count + before) * items) }
  })

export const submitSingle = {
  id: 'rest-submit',
  level: 'service',
  title: 'REST submit, one task a request',
  unit: 'req/s',
  better: 'higher',
  note: '200 keep-alive connections from this process, which takes a core of its own; a body of 200 bytes',
  subjects: {
    ...onEachStore(single),
    'limit: Express echo': limit('express', 200, SINGLE, 30_000, 1),
    'limit: raw http echo': limit('http', 200, SINGLE, 30_000, 1),
  },
  aim: 25_000,
  gates: [{ subject: 'Muster, Redis', over: 'limit: Express echo', atLeast: 0.6 }],
}

export const submitBatches = {
  id: 'rest-submit-100',
  level: 'service',
  title: 'REST submit, batches of 100',
  unit: 'tasks/s',
  better: 'higher',
  note: '4 keep-alive connections from this process, one request of 100 tasks of 200 bytes in flight on each',
  subjects: { ...onEachStore(batches), 'limit: parse + validate': limit('check', 4, BATCH, 80_000, 100) },
  aim: 100_000,
}
