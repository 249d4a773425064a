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
import { COLLECTION, fleetWorker, NAMESPACE, workerPath } from './resources.mjs'
import { MasterFeed, ResourceWatch } from './watchers.mjs'

const HERE = import.meta.dirname
const AUTOMATIONS = './test/bench/operator/automations.mjs'
const MAX_CONCURRENT_CREATES = 16
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
  #kubeconfig
  #passageUrl
  #operators = new Set()

  /** @param options.profiles Folder for CPU profiles of the operators; undefined: no profiles. */
  constructor({ count, profiles }) {
    this.count = count
    this.#profiles = profiles
  }

  async start() {
    this.server = await startApiServer()
    await this.server.install(parse(readFileSync('crds/fleetworkers.muster.dev.yaml', 'utf8')))
    for (const name of ['muster', NAMESPACE]) await this.#ok('POST', '/api/v1/namespaces', { metadata: { name } })
    const { code, stderr } = await this.server.kubectl('apply', '-k', 'manifests/operator/cluster-wide')
    if (code !== 0) throw new Error(`the rights of the operator were refused: ${stderr}`)
    this.master = await startMaster('memory://', { automations: AUTOMATIONS })
    this.passage = new Passage(this.master.port)
    this.#passageUrl = await this.passage.start()
    this.#workers = start(process.execPath, [join(HERE, 'workers.mjs'), `${this.master.port}`, `${this.count}`])
    await firstLine(this.#workers)
    await this.#createAll()
    await this.#writeKubeconfig()
    this.watch = new ResourceWatch(this.server)
    this.feed = new MasterFeed(this.master.url)
    await Promise.all([this.watch.start(), this.feed.start()])
  }

  async #createAll() {
    let next = 0
    await Promise.all(
      Array.from({ length: MAX_CONCURRENT_CREATES }, async () => {
        while (next < this.count) await this.#ok('POST', COLLECTION, fleetWorker(next++))
      }),
    )
  }

  async #writeKubeconfig() {
    const { status } = await this.#ok('POST', '/api/v1/namespaces/muster/serviceaccounts/muster-operator/token', {
      spec: { expirationSeconds: TOKEN_SECONDS },
    })
    this.#kubeconfig = join(this.server.folder, 'operator.kubeconfig')
    writeFileSync(
      this.#kubeconfig,
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
  }

  async #ok(method, path, body, contentType) {
    const { status, body: answer } = await this.server.request(method, path, {
      ...(body !== undefined && { body }),
      ...(contentType !== undefined && { contentType }),
    })
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${answer.message}`)
    return answer
  }

  /** Changes the spec of a FleetWorker. */
  edit(name, spec) {
    return this.#ok('PATCH', `${COLLECTION}/${name}`, { spec }, 'application/merge-patch+json')
  }

  /** Changes the config of a worker at the master, as a dashboard user does. */
  editAtMaster(name, config) {
    return call(this.master.url, 'PATCH', `${workerPath(name)}/config`, config)
  }

  /** Waits only for the start of the process. */
  async startOperator() {
    const port = await freePort()
    if (this.#profiles !== undefined) mkdirSync(this.#profiles, { recursive: true })
    const profile = this.#profiles === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${this.#profiles}`]
    const started = start(
      process.execPath,
      [...HEAP, ...profile, '--import', join(HERE, 'loop-watch.mjs'), 'dist/cmd/muster.js', 'operator'],
      {
        KUBECONFIG: this.#kubeconfig,
        SVC_MASTER_URL: this.#passageUrl,
        SVC_API_TOKEN: ADMIN_TOKEN,
        SVC_TENANTS: '{"*": {"types": ["*"], "workers": ["*"]}}',
        SVC_METRICS_LISTEN: `127.0.0.1:${port}`,
        SVC_LOG_LEVEL: 'error',
        ...ALLOCATOR,
      },
      { hasChannel: true },
    )
    const operator = new OperatorProcess(started, port)
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
    await Promise.all([this.watch?.end(), this.feed?.end()])
    this.passage?.end()
    await this.#workers?.kill()
    await this.master?.kill()
    await this.server?.close()
  }
}

/** One `muster operator` and its metrics. */
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
    this.#cpuMs = cpuMs(this.pid) || this.#cpuMs
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
