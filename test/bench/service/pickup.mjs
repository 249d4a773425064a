/**
 * Pick-up latency: the time from the response to a submit until the run of that task begins in an idle worker process.
 * Open loop, evenly spaced, one task per request, with load from this process. All processes read the machine's
 * monotonic clock. A run that began before its response was read counts as 0. `sent…` is measured from the time the
 * submit was sent. A warm-up at a higher rate precedes: its delivery is
 * checked, but its latencies are not counted.
 */
import { once } from 'node:events'
import { Redis } from 'ioredis'
import { WebSocket } from 'ws'
import { spread } from '../load.mjs'
import { call, cpuMs, until } from '../processes.mjs'
import { exactRuns, nowMs } from '../recorder.mjs'
import { startRedis } from '../stores.mjs'
import { evenly } from './open-loop.mjs'
import { requestBytes, withLoad } from './rest-load.mjs'
import { drained } from './system-tasks.mjs'
import { freshFile, onEachStore, PAYLOAD, withBullmq, withLimit } from './subjects.mjs'

const SUBMIT = requestBytes('POST', '/api/v1/automations/noop/tasks', { payload: PAYLOAD })
/** After a tenth of it, a fifth of the time of a process was still compilation. */
const WARM_UP = { tasks: 40_000, perSecond: 3_000 }
const SECONDS = 4

/**
 * Submits at the given rate, and records when each was sent and when its response arrived. @returns `{ id, sentMs,
 * answeredMs }` for each.
 */
async function offered(count, rate, submit) {
  const tasks = []
  await evenly(count, rate, async () => {
    const sentMs = nowMs()
    const id = await submit()
    tasks.push({ id, sentMs, answeredMs: nowMs() })
  })
  return tasks
}

/** Offers the warm-up, then the load. @returns the figures of the load. */
async function measured(bench, rate, submit, drain, costs) {
  const before = await offered(bench.count(WARM_UP.tasks), WARM_UP.perSecond, submit)
  await drain(before)
  const spent = await costs()
  const tasks = await offered(bench.count(rate * SECONDS), rate, submit)
  await drain(tasks)
  return { before, tasks, spent: await spent(tasks.length) }
}

function latencies({ before, tasks, spent }, ran) {
  const began = exactRuns(
    ran,
    [...before, ...tasks].map(({ id }) => id),
  )
  const picked = spread(tasks.map(({ id, answeredMs }) => Math.max(0, began.get(id) - answeredMs)))
  const sent = spread(tasks.map(({ id, sentMs }) => began.get(id) - sentMs))
  return { value: picked.p50, ...picked, sentP50: sent.p50, sentP99: sent.p99, sentMax: sent.max, ...spent }
}

const onMuster = (rate) => async (bench, fleet) => {
  const ran = freshFile(bench)
  const worker = await fleet.worker('noop', ran)
  await call(fleet.url, 'PATCH', 'noop/workers/w-1/config', { enabled: true, slots: 100 })
  const drain = (tasks) =>
    drained(
      fleet.url,
      tasks.map(({ id }) => id),
    )
  const figures = await withLoad(fleet.port, 50, (load) =>
    measured(bench, rate, async () => JSON.parse(await load.send(SUBMIT)).task_id, drain, fleet.costs),
  )
  await worker.stop()
  return latencies(figures, ran)
}

const onBullmq = (rate) => (bench) =>
  withBullmq(bench, 'noop', async ({ queue, worker, isEmpty, costs }) => {
    const ran = freshFile(bench)
    const peer = await worker(ran)
    const figures = await measured(
      bench,
      rate,
      async () => (await queue.add('noop', PAYLOAD)).id,
      () => until('every job is done', isEmpty),
      costs,
    )
    await peer.stop()
    return latencies(figures, ran)
  })

/** One empty script on an idle Redis at the same rate: the latency of the machine itself. */
const roundTrip = (rate) => async (bench) => {
  const redis = await startRedis(bench.directory)
  const client = new Redis({ host: '127.0.0.1', port: redis.port })
  try {
    const tookMs = []
    await evenly(bench.count(rate * SECONDS), rate, async () => {
      const sentMs = nowMs()
      await client.eval('return 1', 0)
      tookMs.push(nowMs() - sentMs)
    })
    const figures = spread(tookMs)
    return { value: figures.p50, ...figures }
  } finally {
    client.disconnect()
    await redis.stop()
  }
}

/** One request to an HTTP server without any work at the same rate: what Node and the kernel take of it. */
const echo = (rate) => (bench) =>
  withLimit('http', ({ port, server }) =>
    withLoad(port, 50, async (load) => {
      await evenly(bench.count(WARM_UP.tasks), WARM_UP.perSecond, () => load.send(SUBMIT))
      const [count, began, tookMs] = [bench.count(rate * SECONDS), cpuMs(server.pid), []]
      await evenly(count, rate, async () => {
        const sentMs = nowMs()
        await load.send(SUBMIT)
        tookMs.push(nowMs() - sentMs)
      })
      const us = ((cpuMs(server.pid) - began) * 1_000) / count
      const figures = spread(tookMs)
      return { value: figures.p50, ...figures, nodeCpuUs: us, serviceCpuUs: us }
    }),
  )

/** The steps of a task without any decision: one call of Redis for the submit and one for the ack, and three frames. */
const steps = (rate) => async (bench) => {
  const redis = await startRedis(bench.directory)
  const run = ({ port, server }) =>
    withLoad(port, 50, async (load) => {
      const worker = new WebSocket(`ws://127.0.0.1:${port}/worker`, { perMessageDeflate: false })
      const [sentMs, tookMs] = [new Map(), []]
      const done = Promise.withResolvers()
      const warmUp = bench.count(WARM_UP.tasks)
      const count = bench.count(rate * SECONDS)
      worker.on('message', (/** @type {Buffer} */ data) => {
        const { type, id } = JSON.parse(data.toString())
        if (type === 'task') {
          tookMs.push(Math.max(0, nowMs() - (sentMs.get(id) ?? 0)))
          worker.send(JSON.stringify({ type: 'ack', id }))
        } else if (tookMs.length === warmUp + count) done.resolve()
      })
      await once(worker, 'open')
      let sent = 0
      const submit = () => {
        const id = `${sent++}`
        sentMs.set(id, nowMs())
        return load.send(requestBytes('POST', '/', { id, payload: PAYLOAD }))
      }
      await evenly(warmUp, WARM_UP.perSecond, submit)
      const began = cpuMs(server.pid)
      await evenly(count, rate, submit)
      await done.promise
      const us = ((cpuMs(server.pid) - began) * 1_000) / count
      worker.terminate()
      const figures = spread(tookMs.slice(warmUp))
      return { value: figures.p50, ...figures, nodeCpuUs: us, serviceCpuUs: us }
    })
  try {
    return await withLimit('steps', run, { settings: [`${redis.port}`] })
  } finally {
    await redis.stop()
  }
}

const at = (rate, more = {}) => ({
  id: `pickup-${rate}`,
  level: 'service',
  title: `pick-up latency at ${rate.toLocaleString('en')} tasks/s, p50`,
  unit: 'ms',
  better: 'lower',
  note:
    'from the response to a submit until its run begins in one worker process of 100 slots; ' +
    'open loop, load from this process; BullMQ in this process and one worker process of concurrency 100',
  subjects: {
    ...onEachStore(onMuster(rate)),
    BullMQ: onBullmq(rate),
    'limit: empty EVAL, one round trip': roundTrip(rate),
    'limit: raw http echo, one request': echo(rate),
    'limit: HTTP + Redis + ws, the steps of a task': steps(rate),
  },
  ...more,
})

export const pickup500 = at(500)
export const pickup2000 = at(2_000)
export const pickup5000 = at(5_000, { aim: 1, gates: [{ subject: 'Muster, Redis', over: 'BullMQ', atMost: 0.5 }] })
