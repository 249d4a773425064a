/**
 * Everything that the actors of a run share: virtual time, the network, the store, the processes by name, their logs,
 * HTTP clients and control sockets, and the hash of all events.
 */
import { MasterClient, type FeedItem } from '../../src/client/index.ts'
import type { RunningMaster } from '../../src/master/index.ts'
import { FEATURE_HEADERS, type Feature } from '../../src/protocol/index.ts'
import {
  seededRandom,
  VirtualTime,
  type CreateHttpPool,
  type Log,
  type LogFields,
  type LogLevel,
  type Random,
} from '../../src/runtime/index.ts'
import type { WorkerOptions } from '../../src/worker/index.ts'
import { Canaries } from '../kit/canary.ts'
import { catalogOf, type SimCatalog } from './automations.ts'
import { Checker } from './checker.ts'
import { FrameEnd } from './frame-end.ts'
import { callHandler } from './http-pair.ts'
import type { PluginEvent, ReceivedFrame } from './invariants/invariant.ts'
import { Network } from './network.ts'
import { SimApiServer } from './operator/api-server.ts'
import type { Plan } from './plan.ts'
import { simulatedPools, type Exchange } from './pool.ts'
import { seedOf, SimProcess } from './process.ts'
import { StoreServer } from './store.ts'

export const TOKENS = { admin: 'simulated-admin-token', worker: 'simulated-worker-token' }
export const MASTER_URL = 'http://masters'
/** Faults after which the store replays its log. */
const LOSSES = new Set(['store_failover', 'store_restore'])
const METRICS_MS = 2_000
const CONTROL_PATH = /\/automations\/([^/]+)\/workers\/([^/]+)\/control$/

/** Starts one or more processes of the fleet. */
export type StartActor = (environment: Environment) => void

/** A process that faults stop and start. */
export interface Managed {
  readonly process: SimProcess
  /** Starts it again, as a new process with this name. */
  readonly restart: () => void
  /** Stops it as SIGTERM does. Starts it again `restartMs` after it ended. */
  readonly terminate: (restartMs: number) => void
}

interface ServingMaster {
  readonly process: SimProcess
  readonly running: RunningMaster
}
interface SocketPair {
  readonly worker: FrameEnd
  readonly master: FrameEnd
}

export class Environment {
  readonly plan: Plan
  /** The automations of the fleet. */
  readonly catalog: SimCatalog
  readonly time = new VirtualTime(undefined, 1)
  readonly network: Network
  readonly store: StoreServer
  /** The secrets of the run, which must not be in an output. */
  readonly canaries: Canaries
  /** The API server of the cluster; null without an operator. */
  readonly api: SimApiServer | null
  readonly checker: Checker
  readonly managed = new Map<string, Managed>()
  /** Masters that serve, by name. The load balancer chooses among them. */
  readonly masters = new Map<string, ServingMaster>()
  /** The newest control socket of each worker. */
  readonly sockets = new Map<string, SocketPair>()
  /** Outputs that the plugin of a worker still has to emit in one moment. */
  readonly floods = new Map<string, number>()
  /** Submits tasks in one moment; the producers set it. */
  burst: (count: number) => void = () => {}
  events = 0
  hash = 0x811c9dc5
  /** What workers and masters offer each other. */
  readonly #features: ReadonlySet<Feature>
  readonly #trace: ((line: string) => void) | undefined
  /** The number of starts of each process, so that each life has its own randomness. */
  readonly #starts = new Map<string, number>()
  /** The ends of control sockets at masters that are not closed, by worker. */
  readonly #masterEnds = new Map<string, Set<FrameEnd>>()
  #connections = 0
  #noted = { atMs: 0, text: '0.000' }

  constructor(plan: Plan, trace: ((line: string) => void) | undefined) {
    this.plan = plan
    this.catalog = catalogOf(plan)
    this.#features = new Set(plan.taskControl === null ? [] : ['cancel', 'progress', 'result'])
    this.#trace = trace
    this.network = new Network(this.time, this.random('network'), plan)
    const secrets = this.random('secrets')
    this.canaries = new Canaries(() => secrets.uuid().replaceAll('-', ''))
    for (const [role, token] of Object.entries(TOKENS)) this.canaries.add(`the ${role} token`, token)
    const hasCluster = plan.operators > 0
    const api = hasCluster ? new SimApiServer(this.createProcess('api-server'), seedOf(plan.seed, 'uids')) : null
    this.api = api
    this.checker = new Checker({
      plan,
      catalog: this.catalog,
      time: this.time,
      canaries: this.canaries,
      api: () => api,
      backend: () => this.store.backend,
      lifeOf: (name) => this.#lifeOf(name),
      masterOf: (worker) => this.masterOf(worker),
      openSocketsOf: (worker) => [...(this.#masterEnds.get(worker) ?? [])].filter(({ isOpen }) => isOpen).length,
      metricsOf: (master) => this.#metricsOf(master),
    })
    this.store = new StoreServer(new SimProcess('store', this.time, seedOf(plan.seed, 'store')), {
      createRandom: (name) => this.random(name),
      isLogged: plan.faults.some(({ kind }) => LOSSES.has(kind)),
      observer: {
        executed: async (call, result, nowMs) => {
          this.note('store', call.method, () => JSON.stringify([call.args, result]))
          await this.checker.executed(call, result, nowMs)
        },
        appended: (events) => this.checker.appended(events),
        lost: () => {
          this.note('store', 'lost changes')
          this.checker.storeLost()
        },
        kept: () => this.checker.storeKept(),
        reached: (situation) => this.checker.count(situation),
      },
    })
  }

  /** The random stream of one part of the run. */
  random(name: string): Random {
    return seededRandom(seedOf(this.plan.seed, name))
  }

  /** A new process. Each life of a name has its own random stream. */
  createProcess(name: string): SimProcess {
    const start = (this.#starts.get(name) ?? 0) + 1
    this.#starts.set(name, start)
    return new SimProcess(name, this.time, seedOf(this.plan.seed, `${name}/${start}`))
  }

  /** The number of lives that a name has had. */
  startsOf(name: string): number {
    return this.#starts.get(name) ?? 0
  }

  /** The master that a worker is connected to, as the worker sees it; null without a connection. */
  masterOf(worker: string): string | null {
    const socket = this.sockets.get(worker)
    return socket?.worker.isOpen === true ? socket.master.process.name : null
  }

  /** Takes what a plugin has to emit in one moment. */
  takeFlood(worker: string): number {
    const count = this.floods.get(worker) ?? 0
    this.floods.delete(worker)
    return count
  }

  /** A plugin of the process did something. */
  ran(process: SimProcess, event: PluginEvent): void {
    if (!process.isAlive) return
    this.note(process.name, event.kind, () => JSON.stringify(event))
    this.checker.ran(event)
  }

  /** A reader of the event stream received something. */
  fed(process: SimProcess, item: FeedItem): void {
    this.note(process.name, item.kind, () => JSON.stringify(item))
    this.checker.fed(process.name, item)
  }

  /** Adds an event to the hash and to the trace. */
  note(who: string, what: string, detail?: () => string): void {
    this.events += 1
    const text = `${this.#timeText()} ${who} ${what}`
    this.hash = seedOf(this.hash ^ 0x811c9dc5, text)
    this.#trace?.(detail === undefined ? text : `${text} ${detail()}`)
  }

  /** Many events happen at one time. */
  #timeText(): string {
    const nowMs = this.time.monotonicMs()
    if (nowMs !== this.#noted.atMs) this.#noted = { atMs: nowMs, text: nowMs.toFixed(3) }
    return this.#noted.text
  }

  logOf({ name }: SimProcess): Log {
    const write =
      (level: LogLevel) =>
      (message: string, fields: LogFields = {}): void => {
        this.note(name, `${level} ${message}`, () => {
          const { error } = fields
          return JSON.stringify({ ...fields, ...(error instanceof Error && { error: error.stack }) })
        })
        this.checker.logged({ process: name, level, message, fields })
      }
    return {
      debug: () => {},
      info: write('info'),
      warn: write('warn'),
      error: write('error'),
      isEnabled: (level) => level !== 'debug',
    }
  }

  /** Creates HTTP clients of a process. Each request goes to the master that the load balancer chooses. */
  poolsOf(process: SimProcess): CreateHttpPool {
    return simulatedPools({
      process,
      network: this.network,
      target: () => {
        const master = this.#target()
        return master && { process: master.process, handle: master.running.handle }
      },
      onExchange: (exchange) => this.#received(exchange),
      onServed: (served) => this.checker.served(served),
    })
  }

  /** A client of the API with the rights of an admin. */
  client(process: SimProcess): MasterClient {
    return new MasterClient({
      masterUrl: MASTER_URL,
      token: () => TOKENS.admin,
      clock: process,
      timers: process,
      random: process.random,
      createPool: this.poolsOf(process),
    })
  }

  /** Opens control sockets for a worker. */
  dialOf(process: SimProcess): NonNullable<WorkerOptions['dial']> {
    return (url) => {
      const [, type = '', id = ''] = CONTROL_PATH.exec(url) ?? []
      const master = this.#target()
      const connection = (this.#connections += 1)
      const received = (from: string, to: string) => (text: string) => this.#framed({ from, to, connection, text })
      const client = new FrameEnd(process, this.network, received(master?.process.name ?? '', process.name))
      if (master === undefined) process.after(1, () => client.fail('connect ECONNREFUSED'))
      else {
        const server = new FrameEnd(master.process, this.network, received(process.name, master.process.name))
        this.network.send(process, master.process, null, () => this.#accept(client, server, master, { type, id }))
      }
      return client
    }
  }

  #accept(
    client: FrameEnd,
    server: FrameEnd,
    { process: master, running }: ServingMaster,
    ref: { readonly type: string; readonly id: string },
  ): void {
    server.connect(client)
    const ends = this.#masterEnds.get(ref.id) ?? new Set()
    this.#masterEnds.set(ref.id, ends.add(server))
    server.on('close', () => void ends.delete(server))
    const respond = (deliver: () => void): void => this.network.send(master, client.process, null, deliver)
    const leave = running.accept(
      { ...ref, bearerToken: TOKENS.worker, features: this.#features },
      {
        open: (use) => {
          use(server)
          respond(() => {
            if (client.readyState !== 0) return server.terminate()
            client.connect(server)
            this.sockets.set(client.process.name, { worker: client, master: server })
            const features = [...this.#features].join(', ')
            client.emit('upgrade', { headers: { [FEATURE_HEADERS.features]: features } })
            client.emit('open')
          })
        },
        refuse: (_detail, retryAfterSeconds) =>
          respond(() => {
            const headers = { 'retry-after': `${retryAfterSeconds}` }
            client.emit('unexpected-response', { destroy: () => {} }, { statusCode: 503, headers })
          }),
      },
    )
    if (leave !== null) server.on('close', leave)
  }

  /** The master that the load balancer chooses; undefined if that one does not run. */
  #target(): ServingMaster | undefined {
    const master = this.masters.get(`master-${Math.floor(this.network.unit() * this.plan.masters)}`)
    return master?.process.isAlive === true ? master : undefined
  }

  #lifeOf(name: string): number | null {
    return this.managed.get(name)?.process.isAlive === true ? this.startsOf(name) : null
  }

  /** Reads the metrics of a master, without the network between. Takes some virtual time. */
  async #metricsOf(master: string): Promise<string> {
    const serving = this.masters.get(master)
    if (serving === undefined) throw new Error(`${master} does not run`)
    let text = ''
    callHandler(serving.running.handle, { method: 'GET', path: '/metrics', headers: {}, body: '' }, (part) => {
      if (part.kind === 'data') text += part.chunk.toString('utf8')
    })
    await this.time.advance(METRICS_MS)
    return text
  }

  #framed(frame: ReceivedFrame): void {
    this.note(frame.to, 'receives a frame', () => `${frame.from} ${frame.text}`)
    this.checker.framed(frame)
  }

  #received(exchange: Exchange): void {
    const { process, method, path, body, status, text } = exchange
    this.note(process.name, `${method} ${path} ${status} ${text.length}`, () => `${body} -> ${text}`)
    this.checker.received(exchange)
  }
}
