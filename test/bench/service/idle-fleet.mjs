/**
 * 5,000 idle workers: the memory of the master per worker, the cost of their reports, and the time until all have
 * reconnected after the master was killed and restarted. The workers are sockets in this process. Both ends need one
 * file descriptor per worker, so a process must be allowed 6,000.
 */
import { execSync } from 'node:child_process'
import { Worker } from 'node:worker_threads'
import { call, cpuMs, rssBytes, until } from '../processes.mjs'
import { nowMs } from '../recorder.mjs'
import { Unavailable } from '../run.mjs'
import { withFakeWorkers } from './fake-worker.mjs'
import { musterOn, onEachStore, withFleet, withLimit } from './subjects.mjs'

const WORKERS = 5_000
const FILES = 6_000
const WARM_UP = 500
/** Makes resident memory equal the live memory: a small heap for young objects, and a full collection on SIGUSR2. */
const COLLECTS = ['--max-semi-space-size=1', '--expose-gc', '--import', './test/bench/service/collect-on-signal.mjs']
const KIB = 1_024

/**
 * Node raises the soft limit to the hard one at its start, and children inherit it. @throws {Unavailable} for a low
 * limit.
 */
function checkFiles() {
  const files = Number(execSync('ulimit -n', { encoding: 'utf8' }).replace('unlimited', 'Infinity'))
  if (files < FILES) throw new Unavailable(`a process may open ${files} files here, ${FILES} are needed (ulimit -n)`)
}

async function collected({ pid, child }) {
  for (let times = 0; times < 3; times += 1) {
    child.kill('SIGUSR2')
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
  return rssBytes(pid)
}

async function memoryPerWorker(bench, port, server) {
  checkFiles()
  const count = bench.count(WORKERS)
  await withFakeWorkers(port, 'noop', WARM_UP, () => {}) // The first ones load code and pools that stay.
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  const before = await collected(server)
  return withFakeWorkers(port, 'noop', count, async () => ({
    value: ((await collected(server)) - before) / count / KIB,
    rssMib: before / KIB / KIB,
  }))
}

const onMuster = (store) => (bench) =>
  withFleet(bench, store, ({ port, master }) => memoryPerWorker(bench, port, master), { nodeArguments: COLLECTS })
const bare = (bench) =>
  withLimit('sockets', ({ port, server }) => memoryPerWorker(bench, port, server), { nodeArguments: COLLECTS })

/** The chart's setting for the heap of young objects. */
const AS_DEPLOYED = ['--max-semi-space-size=4']
const REPORT_EVERY_MS = 15_000
/** Three reports per worker; the heap for young objects has reached its size then. */
const REPORTING_MS = 3 * REPORT_EVERY_MS
const TICK_MS = 50
const METRICS = {
  'counter.done': 12_345,
  'counter.failed': 3,
  'gauge.backlog': 4,
  'histogram.ms.p50': 1.2,
  'histogram.ms.p95': 3.4,
  'histogram.ms.p99': 8.8,
  'histogram.ms.count': 12_345,
}

function report(worker) {
  const ts = Date.now() / 1_000
  worker.send({ type: 'state', state: 'RUNNING', config_gen: 1, ts, last_error: null })
  worker.send({
    type: 'stats',
    slots: 1,
    cpu_pct: 0.4,
    rss_mb: 60,
    ts,
    metrics: METRICS,
    per_slot: [{ slot_id: 0, age_seconds: 12.3, counters: { 'counter.done': 3 } }],
  })
}

/** Each worker reports every 15 s, evenly spread. Resolves after `ms`, by default after three reports of each. */
async function reportFor(workers, ms = REPORTING_MS) {
  const perTick = (workers.length * TICK_MS) / REPORT_EVERY_MS
  let due = 0
  let next = 0
  const timer = setInterval(() => {
    due += perTick
    for (; next < due; next += 1) report(workers[next % workers.length])
  }, TICK_MS)
  await new Promise((resolve) => setTimeout(resolve, ms))
  clearInterval(timer)
}

/** Memory as the system reports it, without a collection. */
async function memoryPerReportingWorker(bench, port, server) {
  checkFiles()
  const count = bench.count(WORKERS)
  await new Promise((resolve) => setTimeout(resolve, 3_000))
  const before = rssBytes(server.pid)
  return withFakeWorkers(port, 'noop', count, async (workers) => {
    await reportFor(workers)
    return { value: (rssBytes(server.pid) - before) / count / KIB }
  })
}

/** CPU of the master, in milliseconds a second for 1,000 workers. */
async function costOfReports(bench, fleet) {
  checkFiles()
  const count = bench.count(WORKERS)
  return withFakeWorkers(fleet.port, 'noop', count, async (workers) => {
    await reportFor(workers, REPORT_EVERY_MS) // The state of the first report is a change.
    const costs = await fleet.costs()
    await reportFor(workers)
    const reports = (count * REPORTING_MS) / REPORT_EVERY_MS
    const figures = await costs(reports)
    return { value: (figures.serviceCpuUs * reports * 1_000) / REPORTING_MS / count, ...figures }
  })
}

/**
 * Requests /healthz continuously from its own thread. `end` returns the longest wait while a master was running, in
 * milliseconds.
 */
function watchHealth(port) {
  const thread = new Worker(new URL('health-watch.mjs', import.meta.url), { workerData: { port } })
  return () =>
    new Promise((resolve) => {
      thread.once('message', (figures) => {
        resolve(figures)
        void thread.terminate()
      })
      thread.postMessage('end')
    })
}

const storm = (store) => (bench) =>
  withFleet(bench, store, async (fleet) => {
    checkFiles()
    const count = bench.count(WORKERS)
    return withFakeWorkers(fleet.port, 'noop', count, async (workers) => {
      await fleet.restartMaster()
      const [began, cpuBeganMs] = [nowMs(), cpuMs(fleet.master.pid)]
      const endWatch = watchHealth(fleet.port)
      const backAt = []
      await until(
        'all workers are registered again',
        () => {
          backAt.push([nowMs(), workers.filter((worker) => worker.isRegistered).length])
          return backAt.at(-1)[1] === count
        },
        { everyMs: 50 },
      )
      const seconds = (nowMs() - began) / 1_000
      const nodeCpuUs = (cpuMs(fleet.master.pid) - cpuBeganMs) * (1_000 / count)
      const { longestMs } = await endWatch()
      const listed = await call(fleet.url, 'GET', 'noop/workers?connected=true&view=summary&limit=10000')
      if (listed.length !== count) throw new Error(`${count} workers are back, the master lists ${listed.length}`)
      const refusals = workers.reduce((sum, worker) => sum + worker.refusals, 0)
      if (refusals > 0) throw new Error(`all are back after ${seconds} s, but ${refusals} handshakes were rejected`)
      const half = backAt.find(([, back]) => back >= count / 2)
      return {
        value: seconds,
        halfBackSeconds: (half[0] - began) / 1_000,
        max: longestMs,
        nodeCpuUs,
      }
    })
  })

export const idleWorker = {
  id: 'idle-worker',
  level: 'service',
  title: 'memory of the master for an idle worker, 5,000 connected',
  unit: 'KiB',
  better: 'lower',
  rounds: 1,
  note:
    'growth of resident memory / 5,000 after a garbage collection, on a heap with 1 MiB for young objects, after ' +
    '500 others have connected and disconnected. With the memory backend, it includes the records of the workers',
  subjects: {
    [musterOn('memory')]: onMuster('memory'),
    [musterOn('redis')]: onMuster('redis'),
    'limit: bare ws server': bare,
  },
  aim: 14,
  gates: [{ subject: musterOn('redis'), over: 'limit: bare ws server', atMost: 1.5 }],
}

export const reconnectStorm = {
  id: 'reconnect-storm',
  level: 'service',
  title: 'until 5,000 workers are registered again after kill -9 of the master',
  unit: 's',
  better: 'lower',
  rounds: 1,
  note:
    'from the new master being ready; workers return after the pauses of real ones. ' +
    'max: the longest response time of /healthz meanwhile',
  aim: 5,
  subjects: Object.fromEntries(['memory', 'sqlite', 'redis'].map((store) => [musterOn(store), storm(store)])),
}

const reportingOn = (nodeArguments) => (bench) =>
  withFleet(bench, 'redis', ({ port, master }) => memoryPerReportingWorker(bench, port, master), { nodeArguments })

export const reportingWorker = {
  id: 'reporting-worker',
  level: 'service',
  title: 'memory of the master for a worker that reports every 15 s, 5,000 connected',
  unit: 'KiB',
  better: 'lower',
  rounds: 1,
  note:
    'growth of resident memory / 5,000 after three reports of each, without a forced collection; ' +
    'the master with the settings of the chart (4 MiB for young objects) and with the default of Node',
  subjects: {
    [musterOn('redis')]: reportingOn(AS_DEPLOYED),
    [`${musterOn('redis')}, default heap`]: reportingOn([]),
    'limit: bare ws server': (bench) =>
      withLimit('sockets', ({ port, server }) => memoryPerReportingWorker(bench, port, server)),
  },
  aim: 18,
}

export const reports = {
  id: 'reports',
  level: 'service',
  title: 'CPU of the master for 1,000 workers that report every 15 s, 5,000 connected',
  unit: 'ms/s',
  better: 'lower',
  rounds: 1,
  note:
    'each worker sends a state without a change and its statistics. Costs are per report, of both frames. ' +
    'The pings of the workers are included',
  subjects: onEachStore(costOfReports),
  aim: 10,
}
