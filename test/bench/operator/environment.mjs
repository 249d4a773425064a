/**
 * Starts everything that the measurement needs: etcd, kube-apiserver, a master with the memory backend, a process of
 * simulated workers, and operators, each in its own process. This process is the proxy between operator and master, and
 * watches both sides.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { once } from 'node:events'
import { parse } from 'yaml'
import { startApiServer } from '../../operator/real-apiserver.ts'
import { ADMIN_TOKEN, call, cpuMs, firstLine, freePort, rssBytes, start, startMaster } from '../processes.mjs'
import { Passage } from './passage.mjs'
import { COLLECTION, fleetWorker, fleetWorkerSet, NAMESPACE, SETS, TYPES, workerPath } from './resources.mjs'
import { MasterFeed, ResourceWatch } from './watchers.mjs'

const HERE = import.meta.dirname
const AUTOMATIONS = './test/bench/operator/automations.mjs'
const MAX_CONCURRENT_CREATES = 16
/** As many objects per request are deleted well within its time limit. */
const DELETE_PAGE = 500
/** As in the chart: the image's share of a limit of 256 MiB, and the settings of the operator's pod. */
const HEAP = ['--max-old-space-size=179', '--max-semi-space-size=2']
const ALLOCATOR = { MALLOC_ARENA_MAX: '1', MALLOC_TRIM_THRESHOLD_: '131072' }
const TOKEN_SECONDS = 14_400

export class Environment {
  count
  server
  master
  watch
  feed
  passage
  #profiles
  #workers
  #kubeconfigs = {}
  #passageUrl
  #operators = new Set()
  #hasSet
  /** No operator has started since the FleetWorkers were created. */
  #isFresh = false

  /**
   * @param options.profiles Folder for CPU profiles of the operators; undefined: no profiles.
   * @param options.hasSet One FleetWorkerSet for all workers, which are of one type, in place of FleetWorkers.
   */
  constructor({ count, profiles, hasSet = false }) {
    this.count = count
    this.#hasSet = hasSet
    this.#profiles = profiles
  }

  async start() {
    this.server = await startApiServer()
    for (const plural of ['fleetworkers', 'fleetworkersets'])
      await this.server.install(parse(readFileSync(`crds/${plural}.muster.dev.yaml`, 'utf8')))
    for (const name of ['muster', NAMESPACE]) await this.#ok('POST', '/api/v1/namespaces', { metadata: { name } })
    await this.#apply('-k', 'manifests/operator/cluster-wide')
    await this.#apply('-n', 'muster', '-f', join(HERE, 'baseline/rights.yaml'))
    for (const account of ['muster-operator', 'operator-baseline'])
      this.#kubeconfigs[account] = await this.#writeKubeconfig(account)
    await this.#startFleet()
    this.passage = new Passage(this.master.port)
    this.#passageUrl = await this.passage.start()
  }

  /**
   * Restores the state before the first start of an operator, at the same API server: new FleetWorkers without a
   * status, and a new master with new workers. No operator may run.
   */
  async reset() {
    if (this.#isFresh) return
    await this.#stopFleet()
    do await this.#ok('DELETE', `${COLLECTION}?limit=${DELETE_PAGE}`)
    while ((await this.#ok('GET', `${COLLECTION}?limit=1`)).items.length > 0)
    await this.#startFleet()
  }

  async #startFleet() {
    this.master = await startMaster('memory://', { automations: AUTOMATIONS, port: this.master?.port })
    const args = [`${this.master.port}`, `${this.count}`, ...(this.#hasSet ? [TYPES[0]] : [])]
    this.#workers = start(process.execPath, [join(HERE, 'workers.mjs'), ...args])
    await firstLine(this.#workers)
    await this.#createAll()
    this.watch = new ResourceWatch(this.server, this.#collection)
    this.feed = new MasterFeed(this.master.url)
    await Promise.all([this.watch.start(), this.feed.start()])
    this.#isFresh = true
  }

  async #stopFleet() {
    await Promise.all([this.watch?.end(), this.feed?.end()])
    await this.#workers?.kill()
    await this.master?.kill()
  }

  get #collection() {
    return this.#hasSet ? SETS : COLLECTION
  }

  async #createAll() {
    if (this.#hasSet) return this.#ok('POST', SETS, fleetWorkerSet())
    let next = 0
    await Promise.all(
      Array.from({ length: MAX_CONCURRENT_CREATES }, async () => {
        while (next < this.count) await this.#ok('POST', COLLECTION, fleetWorker(next++))
      }),
    )
  }

  async #apply(...args) {
    const { code, stderr } = await this.server.kubectl('apply', ...args)
    if (code !== 0) throw new Error(`the rights of an operator were refused: ${stderr}`)
  }

  /** @returns the path of a kubeconfig for a ServiceAccount. */
  async #writeKubeconfig(account) {
    const { status } = await this.#ok('POST', `/api/v1/namespaces/muster/serviceaccounts/${account}/token`, {
      spec: { expirationSeconds: TOKEN_SECONDS },
    })
    const path = join(this.server.folder, `${account}.kubeconfig`)
    writeFileSync(
      path,
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Config',
        'current-context': 'bench',
        clusters: [
          { name: 'bench', cluster: { server: this.server.url, 'certificate-authority': this.server.caFile } },
        ],
        users: [{ name: 'operator', user: { token: status.token } }],
        contexts: [{ name: 'bench', context: { cluster: 'bench', user: 'operator', namespace: 'muster' } }],
      }),
      { mode: 0o600 },
    )
    return path
  }

  async #ok(method, path, body, contentType) {
    const { status, body: answer } = await this.server.request(method, path, {
      ...(body !== undefined && { body }),
      ...(contentType !== undefined && { contentType }),
    })
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${answer.message}`)
    return answer
  }

  /** Changes the spec of a FleetWorker, or of the set. */
  edit(name, spec) {
    return this.#ok('PATCH', `${this.#collection}/${name}`, { spec }, 'application/merge-patch+json')
  }

  annotate(name, annotations) {
    const body = { metadata: { annotations } }
    return this.#ok('PATCH', `${this.#collection}/${name}`, body, 'application/merge-patch+json')
  }

  /** Changes the config of a worker at the master, as a dashboard user does. */
  editAtMaster(name, config) {
    return call(this.master.url, 'PATCH', `${workerPath(name)}/config`, config)
  }

  /**
   * Waits only for the start of the process. @param options.watchesLoop Measures its event loop, which costs a little
   * CPU time.
   */
  async startOperator({ watchesLoop = true } = {}) {
    const port = await freePort()
    if (this.#profiles !== undefined) mkdirSync(this.#profiles, { recursive: true })
    const profile = this.#profiles === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${this.#profiles}`]
    const loop = watchesLoop ? ['--import', join(HERE, 'loop-watch.mjs')] : []
    const started = start(
      process.execPath,
      [...HEAP, ...profile, ...loop, 'dist/cmd/muster.js', 'operator'],
      {
        KUBECONFIG: this.#kubeconfigs['muster-operator'],
        SVC_MASTER_URL: this.#passageUrl,
        SVC_API_TOKEN: ADMIN_TOKEN,
        SVC_TENANTS: '{"*": {"types": ["*"], "workers": ["*"]}}',
        SVC_METRICS_LISTEN: `127.0.0.1:${port}`,
        SVC_LOG_LEVEL: 'error',
        ...ALLOCATOR,
      },
      { hasChannel: watchesLoop },
    )
    return this.#added(new OperatorProcess(started, port))
  }

  /** Starts the operator of baseline/. Waits only for the start of the process. @param program Its path. */
  async startBaseline(program) {
    const port = await freePort()
    const started = start(program, [`--metrics-bind-address=127.0.0.1:${port}`, '--zap-log-level=panic'], {
      KUBECONFIG: this.#kubeconfigs['operator-baseline'],
      SVC_MASTER_URL: this.#passageUrl,
      SVC_API_TOKEN: ADMIN_TOKEN,
    })
    return this.#added(new OperatorProcess(started, port))
  }

  #added(operator) {
    this.#isFresh = false
    this.#operators.add(operator)
    return operator
  }

  /** CPU time so far by process, in milliseconds; `machine`: of all processors. */
  cpu() {
    const children = readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((pid) => childOf(pid) ?? [])
    const named = (name) => children.filter(({ comm }) => comm === name).reduce((sum, { pid }) => sum + cpuMs(pid), 0)
    return {
      etcd: named('etcd'),
      'kube-apiserver': named('kube-apiserver'),
      master: cpuMs(this.master.pid),
      workers: cpuMs(this.#workers.pid),
      operators: [...this.#operators].reduce((sum, operator) => sum + operator.cpuMs, 0),
      probe: cpuMs(process.pid),
      machine: machineMs(),
    }
  }

  /** Stops everything, also after a failure in `start`. */
  async end() {
    await Promise.all([...this.#operators].map((operator) => operator.kill()))
    this.passage?.end()
    await this.#stopFleet()
    await this.server?.close()
  }
}

/** One operator and its metrics. */
class OperatorProcess {
  #process
  #port
  #cpuMs = 0

  constructor(started, port) {
    this.#process = started
    this.#port = port
  }

  get pid() {
    return this.#process.pid
  }

  /** CPU time so far; after the process has ended, the last known value. */
  get cpuMs() {
    const { exitCode, signalCode } = this.#process.child
    const isRunning = exitCode === null && signalCode === null // Its pid is not that of another process.
    if (isRunning) this.#cpuMs = cpuMs(this.pid) || this.#cpuMs
    return this.#cpuMs
  }

  get rssBytes() {
    return rssBytes(this.pid)
  }

  stop() {
    return this.#process.stop()
  }

  kill() {
    return this.#process.kill()
  }

  /** The sum of a metric over its matching series; 0 while the operator is not reachable. */
  async metric(name, labels = '') {
    const text = await fetch(`http://127.0.0.1:${this.#port}/metrics`).then(
      (answer) => answer.text(),
      () => '',
    )
    const lines = text
      .split('\n')
      .filter((line) => (line.startsWith(`${name}{`) || line.startsWith(`${name} `)) && line.includes(labels))
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
  }

  async isAlive() {
    return (await fetch(`http://127.0.0.1:${this.#port}/healthz`).catch(() => null)) !== null
  }

  async isReady() {
    return (await fetch(`http://127.0.0.1:${this.#port}/readyz`).catch(() => null))?.status === 200
  }

  /** The longest block of its event loop since the previous call. */
  async loop() {
    const answer = once(this.#process.child, 'message')
    this.#process.child.send('read')
    return (await answer)[0]
  }
}

const STAT = /^(\d+) \((.*)\) \S+ (\d+)/s
function childOf(pid) {
  try {
    const [, , comm, parent] = STAT.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))
    return Number(parent) === process.pid ? { pid, comm } : undefined
  } catch {
    return undefined // It has ended.
  }
}

const TICK_MS = 10
/** All time except idle and waiting for the disk. */
function machineMs() {
  const [user, nice, system, , , irq, softirq, steal] = readFileSync('/proc/stat', 'utf8')
    .split('\n')[0]
    .split(/\s+/)
    .slice(1)
    .map(Number)
  return (user + nice + system + irq + softirq + steal) * TICK_MS
}
