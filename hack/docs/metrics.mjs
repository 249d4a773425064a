// Starts a master and an operator, and generates the tables of the metrics that they export.
import { Registry } from 'prom-client'
import { buildCatalog, defineBatch } from '../../src/automation/index.ts'
import { startMaster } from '../../src/master/index.ts'
import { startOperator } from '../../src/operator/index.ts'
import { identityFromText, PooledTransport } from '../../src/operator/kube/index.ts'
import { systemRandom, systemTime } from '../../src/runtime/index.ts'
import { MemoryBackend } from '../../src/storage/memory/index.ts'
import { code, table } from './shape.mjs'

/** Labels of the counters and gauges that the parts of the master register: those without a sample show none. */
function spyOnLabels() {
  const labels = new Map()
  const original = Object.getOwnPropertyDescriptor(Registry.prototype, 'registerMetric')
  Registry.prototype.registerMetric = function (metric) {
    labels.set(metric.name, metric.labelNames)
    return original.value.call(this, metric)
  }
  return { labels, end: () => void Object.defineProperty(Registry.prototype, 'registerMetric', original) }
}

/** One worker with statistics, so that each line of the exposition has a sample. */
async function seed(backend, type) {
  const ref = { type, id: 'w' }
  await backend.workers.register([{ ...ref, conn: 'm/1', instance: '', hardware: '{}', defaults: '{}' }])
  await backend.workers.beat([
    { ...ref, conn: 'm/1', stats: ['{"slots":1,"cpu_pct":1,"rss_mb":1,"ts":1,"metrics":{},"per_slot":[]}'] },
  ])
}

function metrics(exposition, labelsOf) {
  const rows = [...exposition.matchAll(/^# HELP (?<name>\S+) (?<help>.*)\n# TYPE \S+ (?<kind>\w+)$/gm)].map(
    ({ groups: { name, help, kind } }) => {
      const sample = new RegExp(`^${name}\\{(?<labels>[^}]*)\\}`, 'm').exec(exposition)?.groups.labels ?? ''
      const labels = labelsOf.get(name) ?? [...sample.matchAll(/(\w+)="/g)].map(([, label]) => label)
      return [code(name), kind, labels.map(code).join(', '), help]
    },
  )
  return table(['metric', 'kind', 'labels', 'meaning'], rows)
}

/** @returns the route table and the metrics of a master, which only a started one has. */
export async function fromMaster() {
  const spy = spyOnLabels()
  const backend = new MemoryBackend({ clock: systemTime, random: systemRandom })
  const catalog = buildCatalog([
    defineBatch({
      type: 'example',
      payload: { type: 'object' },
      pools: { items: { payload: { type: 'object' } } },
      run: async () => {},
    }),
  ])
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: console.error, isEnabled: () => false }
  const master = await startMaster({
    listen: { host: '127.0.0.1', port: 0 },
    clock: systemTime,
    timers: systemTime,
    random: systemRandom,
    log,
    backend,
    backendScheme: 'memory',
    catalog,
    version: '0',
    tokens: { admin: 'a', worker: 'b', workerPeers: [], scopes: new Map() },
    dashboardDir: null,
    settings: {
      submitRpsPerToken: 0,
      idempotencyTtlSeconds: 1,
      maxBodyBytes: 1_024,
      maxLostLeases: 10,
      maxQueueLength: 10,
      maxSockets: 1_000,
    },
  })
  try {
    await seed(backend, 'example')
    const response = await fetch(`${master.url}/metrics`, { headers: { connection: 'close' } })
    return { routes: master.routes, metrics: metrics(await response.text(), spy.labels) }
  } finally {
    spy.end()
    await master.stop()
  }
}

/** @returns the metrics of an operator; it has all of them although it reaches no server. */
export async function fromOperator() {
  const spy = spyOnLabels()
  const nowhere = 'http://127.0.0.1:1'
  const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: console.error, isEnabled: () => false }
  const identity = identityFromText(
    JSON.stringify({
      'current-context': 'x',
      clusters: [{ name: 'x', cluster: { server: nowhere, 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'x', user: {} }],
      contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
    }),
  )
  const operator = await startOperator({
    masterUrl: nowhere,
    token: () => 'a',
    createTransport: (deps) => new PooledTransport({ identity, ...deps }),
    namespace: 'x',
    watchNamespaces: [],
    tenants: undefined,
    reservedSecrets: [],
    metricsListen: { host: '127.0.0.1', port: 0 },
    leaderElect: true,
    lease: { namespace: 'x', name: 'x' },
    replica: 'x',
    time: systemTime,
    random: systemRandom,
    log: silent,
  })
  try {
    const response = await fetch(`http://127.0.0.1:${operator.port}/metrics`, { headers: { connection: 'close' } })
    return metrics(await response.text(), spy.labels)
  } finally {
    spy.end()
    await operator.stop()
  }
}
