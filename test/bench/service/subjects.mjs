/**
 * Creates the environments of service rows: an empty store with a master, or an empty Redis for the peer. Redis always
 * runs without AOF. Every process is stopped at the end, also after a failure.
 */
import { join } from 'node:path'
import { Queue } from 'bullmq'
import { call, cpuMs, firstLine, start, startMaster, startWorker, until } from '../processes.mjs'
import { redisCosts, startRedis } from '../stores.mjs'

export const PAYLOAD = { text: 'x'.repeat(180) }

let files = 0
export const freshFile = (bench) => join(bench.directory, `service-${(files += 1)}`)

const STORES = { memory: 'memory', sqlite: 'SQLite', redis: 'Redis' }
export const musterOn = (store) => `Muster, ${STORES[store]}`

/** Returns `measure(bench, fleet)` as one subject per store. */
export function onEachStore(measure, stores = ['memory', 'sqlite', 'redis']) {
  return Object.fromEntries(
    stores.map((store) => [musterOn(store), (bench) => withFleet(bench, store, (fleet) => measure(bench, fleet))]),
  )
}

/**
 * Runs `measure` with a fleet of one master and no worker. `fleet.costs()` starts counting; the returned function
 * calculates the costs for a number of items.
 */
export async function withFleet(bench, store, measure, options = {}) {
  const ended = []
  try {
    const redis = store === 'redis' ? await startRedis(bench.directory) : undefined
    if (redis !== undefined) ended.push(redis)
    const backendUrl = {
      memory: 'memory://',
      sqlite: `filedb://${freshFile(bench)}`,
      redis: `kvstore://127.0.0.1:${redis?.port}`,
    }[store]
    const master = await startMaster(backendUrl, options)
    const fleet = {
      store,
      url: master.url,
      port: master.port,
      master,
      workers: [],
      async worker(type, ids, id = 'w-1') {
        const worker = startWorker(master.url, type, ids, id)
        fleet.workers.push(worker)
        await until('the worker is registered', async () =>
          (await call(master.url, 'GET', `${type}/workers?connected=true`)).some((each) => each.worker_id === id),
        )
        return worker
      },
      async restartMaster() {
        await fleet.master.kill()
        fleet.master = await startMaster(backendUrl, { ...options, port: master.port })
      },
      costs: () => costsOf(fleet.master.pid, () => fleet.workers.map(({ pid }) => pid), redis?.port),
    }
    ended.push(
      { stop: () => fleet.master.stop() },
      { stop: () => Promise.all(fleet.workers.map((worker) => worker.stop())) },
    )
    return await measure(fleet)
  } finally {
    for (const each of ended.toReversed()) await each.stop()
  }
}

/**
 * Runs `measure` with an empty BullMQ queue in this process. `peer.worker(ids)` starts a worker process, and resolves
 * when it is ready.
 */
export async function withBullmq(bench, name, measure, jobOptions = {}) {
  const redis = await startRedis(bench.directory)
  const queue = new Queue(name, {
    connection: { host: '127.0.0.1', port: redis.port },
    defaultJobOptions: { removeOnComplete: true, ...jobOptions },
  })
  const workers = []
  try {
    await queue.waitUntilReady()
    const worker = async (ids) => {
      const started = start(process.execPath, ['test/bench/bullmq-worker.mjs', `${redis.port}`, name, ids])
      workers.push(started)
      await firstLine(started)
      return started
    }
    const isEmpty = async () =>
      Object.values(await queue.getJobCounts('waiting', 'active', 'delayed', 'prioritized')).every(
        (count) => count === 0,
      )
    // The producer is a library in this process, so its costs are part of the peer's, as the master's are part of
    // Muster's.
    return await measure({
      queue,
      worker,
      isEmpty,
      costs: () => costsOf(process.pid, () => workers.map(({ pid }) => pid), redis.port),
    })
  } finally {
    for (const each of workers) await each.stop()
    await queue.close()
    await redis.stop()
  }
}

/** Runs `measure` with one of the servers of limit-server.mjs. */
export async function withLimit(mode, measure, { nodeArguments = [], settings = [] } = {}) {
  const server = start(process.execPath, [...nodeArguments, 'test/bench/service/limit-server.mjs', mode, ...settings])
  try {
    const port = Number(await firstLine(server))
    const began = cpuMs(server.pid)
    return await measure({
      port,
      server,
      costs: (items) => ({ nodeCpuUs: ((cpuMs(server.pid) - began) * 1_000) / items }),
    })
  } finally {
    await server.stop()
  }
}

async function costsOf(servicePid, workerPids, redisPort) {
  const cpuOf = () => workerPids().reduce((sum, pid) => sum + cpuMs(pid), cpuMs(servicePid))
  const redis = redisPort === undefined ? undefined : await redisCosts(redisPort)
  const [began, serviceBegan] = [cpuOf(), cpuMs(servicePid)]
  return async (items) => ({
    nodeCpuUs: ((cpuOf() - began) * 1_000) / items,
    serviceCpuUs: ((cpuMs(servicePid) - serviceBegan) * 1_000) / items,
    ...(redis === undefined ? {} : await redis(items)),
  })
}
