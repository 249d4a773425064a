/** Measures recoveries: tasks that request another attempt, and a worker that is killed. */
import { spread } from '../load.mjs'
import { call, until } from '../processes.mjs'
import { exactRuns, nowMs, readRuns } from '../recorder.mjs'
import { requestBytes, withLoad } from './rest-load.mjs'
import { freshFile, onEachStore, PAYLOAD, withBullmq } from './subjects.mjs'
import { isGone } from './system-tasks.mjs'

const RETRY_MS = 200
const TASKS = 2_000
const PER_REQUEST = 100

async function addAll(port, type, count, payload) {
  const request = requestBytes('POST', `/api/v1/automations/${type}/tasks/batch`, {
    tasks: Array.from({ length: Math.min(count, PER_REQUEST) }, () => ({ payload })),
  })
  const ids = []
  await withLoad(port, 1, async (load) => {
    while (ids.length < count) for (const { task_id: id } of JSON.parse(await load.send(request)).results) ids.push(id)
  })
  return ids
}

/** The delay of second runs after the requested time. Each task ran exactly twice. */
function lateness(file, ids) {
  const began = exactRuns(
    file,
    ids.flatMap((id) => [`${id}/0`, `${id}/1`]),
  )
  const figures = spread(ids.map((id) => began.get(`${id}/1`) - began.get(`${id}/0`) - RETRY_MS))
  return { value: figures.p50, ...figures }
}

const retriedOnMuster = async (bench, fleet) => {
  const ran = freshFile(bench)
  const worker = await fleet.worker('retry', ran)
  await call(fleet.url, 'PATCH', 'retry/workers/w-1/config', { enabled: true, slots: 100 })
  const ids = await addAll(fleet.port, 'retry', bench.count(TASKS), PAYLOAD)
  await until(
    'every task has ended',
    async () => (await Promise.all(ids.map((id) => isGone(fleet.url, 'retry', id)))).every(Boolean),
    { everyMs: 500 },
  )
  await worker.stop()
  return lateness(ran, ids)
}

const retriedOnBullmq = (bench) =>
  withBullmq(
    bench,
    'retry',
    async ({ queue, worker, isEmpty }) => {
      const ran = freshFile(bench)
      const peer = await worker(ran)
      const ids = []
      while (ids.length < bench.count(TASKS)) {
        for (const { id } of await queue.addBulk(
          Array.from({ length: Math.min(bench.count(TASKS), PER_REQUEST) }, () => ({ name: 'retry', data: PAYLOAD })),
        ))
          ids.push(id)
      }
      await until('every job is done', isEmpty, { everyMs: 50 })
      await peer.stop()
      return lateness(ran, ids)
    },
    { attempts: 2, backoff: { type: 'fixed', delay: RETRY_MS } },
  )

/** Kills the worker with all tasks. @returns the time until the other worker has started the last of them. */
async function untilRecovered(ids, killed, [first, second]) {
  await until('all tasks run', () => readRuns(first).length === ids.length, { everyMs: 50 })
  await killed.kill()
  const killedMs = nowMs()
  await until('all tasks run again', () => readRuns(second).length >= ids.length, { everyMs: 50 })
  return (Math.max(...exactRuns(second, ids).values()) - killedMs) / 1_000
}

const HELD = 50

const recoveredOnMuster = async (bench, fleet) => {
  const files = [freshFile(bench), freshFile(bench)]
  const victim = await fleet.worker('held', files[0], 'w-1')
  await call(fleet.url, 'PATCH', 'held/workers/w-1/config', { enabled: true, slots: 100 })
  const ids = await addAll(fleet.port, 'held', HELD, { ms: 60_000 })
  await until('all tasks are taken', () => readRuns(files[0]).length === HELD, { everyMs: 50 })
  await fleet.worker('held', files[1], 'w-2')
  await call(fleet.url, 'PATCH', 'held/workers/w-2/config', { enabled: true, slots: 100 })
  const value = await untilRecovered(ids, victim, files)
  for (const worker of fleet.workers) await worker.kill()
  return { value }
}

const recoveredOnBullmq = (bench) =>
  withBullmq(bench, 'held', async ({ queue, worker }) => {
    const files = [freshFile(bench), freshFile(bench)]
    const victim = await worker(files[0])
    const ids = (await queue.addBulk(Array.from({ length: HELD }, () => ({ name: 'held', data: { ms: 60_000 } })))).map(
      ({ id }) => id,
    )
    await until('all jobs are taken', () => readRuns(files[0]).length === HELD, { everyMs: 50 })
    const heir = await worker(files[1])
    const value = await untilRecovered(ids, victim, files)
    await heir.kill()
    return { value }
  })

export const retried = {
  id: 'retry-lateness',
  level: 'service',
  title: 'a retry requested in 200 ms, its delay beyond that, p50',
  unit: 'ms',
  better: 'lower',
  note:
    '2,000 tasks that fail once, one worker process of 100 slots; ' +
    'counted from the beginning of the failed run; each runs exactly twice',
  subjects: { ...onEachStore(retriedOnMuster), BullMQ: retriedOnBullmq },
}

export const recovered = {
  id: 'worker-killed',
  level: 'service',
  title: 'kill -9 of a worker with 50 tasks until all run in another',
  unit: 's',
  better: 'lower',
  rounds: 1,
  note:
    'leases of 5 s on both sides (BullMQ: lockDuration and stalledInterval 5 s); ' +
    'each task runs exactly once more. Muster sweeps every 10 s',
  subjects: { ...onEachStore(recoveredOnMuster), BullMQ: recoveredOnBullmq },
}
