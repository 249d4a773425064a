/**
 * Measures the whole system: tasks are added, then one worker process with 100 slots runs them. The rate is tasks /
 * (time to add + time to process). Muster uses REST and the control channel, with master and worker as processes.
 * BullMQ uses Redis directly, from this process and one worker process. As many tasks are added and processed before,
 * as an uncounted warm-up of all processes; their delivery is checked too.
 */
import { MusterClient } from '../../../dist/client/public.js'
import { inFlight, perSecond } from '../load.mjs'
import { ADMIN_TOKEN, call, until } from '../processes.mjs'
import { exactRuns } from '../recorder.mjs'
import { requestBytes, withLoad } from './rest-load.mjs'
import { freshFile, onEachStore, PAYLOAD, withBullmq, withFleet } from './subjects.mjs'

const TASKS = '/api/v1/automations/noop/tasks'
const BATCH = requestBytes('POST', `${TASKS}/batch`, {
  tasks: Array.from({ length: 100 }, () => ({ payload: PAYLOAD })),
})
const SINGLE = requestBytes('POST', TASKS, { payload: PAYLOAD })

/** Adds tasks to Muster. @returns their IDs. */
export const inBatches = (port, count) =>
  withLoad(port, 4, async (load) => {
    const ids = []
    await inFlight(Math.ceil(count / 100), 4, async () => {
      const { results } = JSON.parse(await load.send(BATCH))
      for (const { task_id: id } of results) ids.push(id)
    })
    return ids
  })

const oneByOne = (port, count) =>
  withLoad(port, 200, async (load) => {
    const ids = []
    await inFlight(count, 200, async () => void ids.push(JSON.parse(await load.send(SINGLE)).task_id))
    return ids
  })

/** Each task is one call of the published client, which forms the batches itself. */
async function withClient(port, count) {
  const tasks = new MusterClient({ url: `http://127.0.0.1:${port}`, token: ADMIN_TOKEN }).automation('noop')
  const ids = []
  await inFlight(count, 200, async () => void ids.push((await tasks.submit(PAYLOAD)).id))
  return ids
}

/** Resolves when the queue does not contain the task any more. */
export async function isGone(url, type, id) {
  return !(await call(url, 'GET', `${type}/tasks/${id}`).catch((error) =>
    error.message.includes(': 404 ') ? null : Promise.reject(error),
  ))
}

/** Resolves when no task is pending, and the last ones are acknowledged. */
export async function drained(url, ids) {
  await until('the queue is empty', async () => (await call(url, 'GET', 'noop/queue?n=1')).length === 0)
  for (const id of ids.slice(-20)) await until('the last tasks are acknowledged', () => isGone(url, 'noop', id))
}

const onMuster = (size, add) => async (bench, fleet) => {
  const ran = freshFile(bench)
  const worker = await fleet.worker('noop', ran)
  const configure = (config) => call(fleet.url, 'PATCH', 'noop/workers/w-1/config', config)
  const live = async () => {
    const costs = await fleet.costs()
    const began = performance.now()
    const ids = await add(fleet.port, bench.count(size))
    const added = performance.now()
    await configure({ enabled: true, slots: 100 })
    await drained(fleet.url, ids)
    const processed = performance.now()
    return { ids, began, added, processed, spent: await costs(ids.length) }
  }
  const before = await live()
  await configure({ enabled: false })
  await until('the worker is idle', async () => (await call(fleet.url, 'GET', 'noop/workers/w-1')).state === 'IDLE')
  const { ids, began, added, processed, spent } = await live()
  await worker.stop()
  exactRuns(ran, [...before.ids, ...ids])
  return {
    value: perSecond(ids.length, processed - began),
    add: perSecond(ids.length, added - began),
    process: perSecond(ids.length, processed - added),
    ...spent,
  }
}

const onBullmq = (size, add) => (bench) =>
  withBullmq(bench, 'noop', async ({ queue, worker, isEmpty, costs }) => {
    const ran = freshFile(bench)
    const count = bench.count(size)
    const peer = await worker(ran)
    const live = async () => {
      const spending = await costs()
      const began = performance.now()
      const ids = await add(queue, count)
      const added = performance.now()
      await queue.resume()
      await until('every job is done', isEmpty)
      const processed = performance.now()
      return { ids, began, added, processed, spent: await spending(count) }
    }
    await queue.pause()
    const before = await live()
    await queue.pause()
    const { ids, began, added, processed, spent } = await live()
    await peer.stop()
    exactRuns(ran, [...before.ids, ...ids])
    return {
      value: perSecond(count, processed - began),
      add: perSecond(count, added - began),
      process: perSecond(count, processed - added),
      ...spent,
    }
  })

const addBulk = async (queue, count) => {
  const ids = []
  await inFlight(Math.ceil(count / 100), 4, async () => {
    for (const { id } of await queue.addBulk(Array.from({ length: 100 }, () => ({ name: 'noop', data: PAYLOAD }))))
      ids.push(id)
  })
  return ids
}

const addSingle = async (queue, count) => {
  const ids = []
  await inFlight(count, 200, async () => void ids.push((await queue.add('noop', PAYLOAD)).id))
  return ids
}

const THROUGH_CLIENT = 'Muster, Redis, through the client'
const aheadOfBullmq = [{ subject: 'Muster, Redis', over: 'BullMQ', atLeast: 1 }]

export const systemTasks = {
  id: 'system-100',
  level: 'service',
  title: 'whole system, tasks added in batches of 100',
  unit: 'tasks/s',
  better: 'higher',
  note:
    'all are added (4 requests in flight, load from this process), then one worker process with 100 ' +
    'slots runs them. Favours BullMQ: no HTTP, no intermediate process, no lease to settle over the network',
  subjects: { ...onEachStore(onMuster(20_000, inBatches)), BullMQ: onBullmq(20_000, addBulk) },
  gates: aheadOfBullmq,
}

export const systemTasksSingle = {
  id: 'system-single',
  level: 'service',
  title: 'whole system, tasks added one by one',
  unit: 'tasks/s',
  better: 'higher',
  note: '200 keep-alive connections for REST, 200 adds in flight for the client and BullMQ; the rest as above',
  subjects: {
    ...onEachStore(onMuster(20_000, oneByOne)),
    [THROUGH_CLIENT]: (bench) => withFleet(bench, 'redis', (fleet) => onMuster(20_000, withClient)(bench, fleet)),
    BullMQ: onBullmq(20_000, addSingle),
  },
  gates: [...aheadOfBullmq, { subject: THROUGH_CLIENT, over: 'BullMQ', atLeast: 1.5 }],
}
