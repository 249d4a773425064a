/**
 * A simulated fleet in one process: real masters and workers on virtual time, a simulated network and store, two
 * producers, an admin, and the faults of a plan.
 */
import { MasterClient } from '../../src/client/index.ts'
import { startMaster, type RunningMaster } from '../../src/master/index.ts'
import {
  seededRandom,
  VirtualTime,
  type CreateHttpPool,
  type Log,
  type LogFields,
  type LogLevel,
  type Random,
} from '../../src/runtime/index.ts'
import { startWorker, type RunningWorker, type WorkerOptions } from '../../src/worker/index.ts'
import { CATALOG } from './automations.ts'
import { Checker } from './checker.ts'
import { FrameEnd } from './frame-end.ts'
import { Network } from './network.ts'
import type { Fault, Plan } from './plan.ts'
import { simulatedPools, type Exchange } from './pool.ts'
import { seedOf, SimProcess } from './process.ts'
import { StoreServer, StoreClient } from './store.ts'

const TOKENS = { admin: 'simulated-admin-token', worker: 'simulated-worker-token' }
const URL = 'http://masters'
const CONTROL_PATH = /\/automations\/([^/]+)\/workers\/([^/]+)\/control$/
const HOST = {
  hardware: () => ({ cores: 1, ram_gb: 1, hostname: 'simulated', kernel: 'simulated' }),
  cpuMs: () => 0,
  rssBytes: () => 0,
}
const RESTART_MS = 1_000
const STEP_MS = 1_000

export interface RunOptions {
  /** Called with each line of the trace. */
  readonly trace?: ((line: string) => void) | undefined
}

export interface RunResult {
  readonly plan: Plan
  /** What was violated, with its invariant in front; null after a correct run. */
  readonly violation: { readonly invariant: string; readonly problem: string } | null
  /** A hash of everything that happened, equal for equal plans. */
  readonly hash: number
  readonly events: number
  readonly counted: Readonly<Record<string, number>>
}

interface Master {
  readonly process: SimProcess
  running: RunningMaster | null
}
interface Worker {
  readonly process: SimProcess
  readonly running: RunningWorker
}
interface Socket {
  readonly worker: FrameEnd
  readonly master: FrameEnd
}

class World {
  readonly checker: Checker
  events = 0
  hash = 0x811c9dc5
  readonly #plan: Plan
  readonly #trace: ((line: string) => void) | undefined
  readonly #time = new VirtualTime()
  readonly #network: Network
  readonly #store: StoreServer
  readonly #masters = new Map<string, Master>()
  readonly #workers = new Map<string, Worker>()
  readonly #sockets = new Map<string, Socket>()
  /** The number of starts of each process, so that each life has its own randomness. */
  readonly #starts = new Map<string, number>()

  constructor(plan: Plan, { trace }: RunOptions) {
    this.#plan = plan
    this.#trace = trace
    this.#network = new Network(this.#time, this.#random('network'), plan.network)
    this.checker = new Checker(() => this.#store.backend)
    const store = new SimProcess('store', this.#time, seedOf(plan.seed, 'store'))
    this.#store = new StoreServer(store, this.#random('backend'), {
      executed: async (call, result, nowMs) => {
        this.#note('store', call.method, () => JSON.stringify([call.args, result]))
        await this.checker.executed(call, result, nowMs)
      },
      restarted: () => {
        this.#note('store', 'restarted')
        this.checker.restarted()
      },
    })
  }

  async run(): Promise<void> {
    const { faultsMs, calmMs, faults, masters, workers } = this.#plan
    await this.#store.start()
    for (let at = 0; at < masters; at += 1) this.#startMaster(`master-${at}`)
    for (const at of workers.keys()) this.#startWorker(`worker-${at}`)
    this.#startProducer('producer-0')
    this.#startProducer('producer-1')
    this.#startAdmin()
    for (const fault of faults) this.#time.after(fault.atMs, () => this.#inject(fault))
    await this.#advance(faultsMs)
    this.#network.heal()
    this.#note('network', 'faults end')
    await this.#advance(calmMs)
    if (this.checker.violation === null) await this.checker.finish()
  }

  /** Stops every process, so that no promise of this run continues. */
  end(): void {
    for (const { process } of [...this.#masters.values(), ...this.#workers.values()]) process.kill()
  }

  /** Ends early after a violation. */
  async #advance(ms: number): Promise<void> {
    for (let passedMs = 0; passedMs < ms && this.checker.violation === null; passedMs += STEP_MS)
      await this.#time.advance(Math.min(STEP_MS, ms - passedMs))
  }

  #random(name: string): Random {
    return seededRandom(seedOf(this.#plan.seed, name))
  }

  #process(name: string): SimProcess {
    const start = (this.#starts.get(name) ?? 0) + 1
    this.#starts.set(name, start)
    return new SimProcess(name, this.#time, seedOf(this.#plan.seed, `${name}/${start}`))
  }

  /** Adds an event to the hash and to the trace. */
  #note(who: string, what: string, detail?: () => string): void {
    this.events += 1
    const text = `${this.#time.monotonicMs().toFixed(3)} ${who} ${what}`
    this.hash = seedOf(this.hash ^ 0x811c9dc5, text)
    this.#trace?.(detail === undefined ? text : `${text} ${detail()}`)
  }

  #logOf({ name }: SimProcess): Log {
    const write =
      (level: LogLevel) =>
      (message: string, fields: LogFields = {}): void =>
        this.#note(name, `${level} ${message}`, () => {
          const { error } = fields
          return JSON.stringify({ ...fields, ...(error instanceof Error && { error: error.stack }) })
        })
    return {
      debug: () => {},
      info: write('info'),
      warn: write('warn'),
      error: write('error'),
      isEnabled: (level) => level !== 'debug',
    }
  }

  /** The master that the load balancer chooses; undefined if that one does not run. */
  #target(): { readonly process: SimProcess; readonly running: RunningMaster } | undefined {
    const name = `master-${Math.floor(this.#network.unit() * this.#plan.masters)}`
    const master = this.#masters.get(name)
    if (master === undefined || master.running === null || !master.process.isAlive) return undefined
    return { process: master.process, running: master.running }
  }

  #poolsOf(process: SimProcess): CreateHttpPool {
    return simulatedPools({
      process,
      network: this.#network,
      target: () => {
        const master = this.#target()
        return master && { process: master.process, handle: master.running.handle }
      },
      onExchange: (exchange) => this.#received(exchange),
    })
  }

  #received(exchange: Exchange): void {
    const { process, method, path, body, status, text } = exchange
    this.#note(process.name, `${method} ${path} ${status} ${text.length}`, () => `${body} -> ${text}`)
    this.checker.received(exchange)
  }

  #startMaster(name: string): void {
    const process = this.#process(name)
    const master: Master = { process, running: null }
    this.#masters.set(name, master)
    this.#note(name, 'starts')
    const starting = startMaster({
      listen: null,
      clock: process,
      timers: process,
      random: process.random,
      log: this.#logOf(process),
      backend: new StoreClient(process, this.#store, this.#network),
      backendScheme: 'memory',
      catalog: CATALOG,
      tokens: { ...TOKENS, workerPeers: [], scopes: new Map() },
      settings: {
        submitRpsPerToken: 0,
        idempotencyTtlSeconds: 60,
        maxBodyBytes: 1_048_576,
        maxLostLeases: 10,
        maxQueueLength: 10_000,
      },
      dashboardDir: null,
      version: 'simulated',
    })
    starting.then(
      (running) => {
        master.running = running
        this.#note(name, 'serves')
      },
      (error: Error) => {
        this.#note(name, 'failed to start', () => error.message)
        this.#time.after(RESTART_MS, () => this.#startMaster(name))
      },
    )
  }

  #startWorker(name: string): void {
    const process = this.#process(name)
    const type = this.#plan.workers[Number(name.slice('worker-'.length))] ?? 'short'
    const entry = CATALOG.get(type)
    if (entry === undefined) throw new TypeError(`no automation ${type}`)
    this.#note(name, 'starts')
    const running = startWorker({
      masterUrl: URL,
      token: TOKENS.worker,
      entry,
      workerId: name,
      drainTimeoutSeconds: 5,
      clock: process,
      timers: process,
      random: process.random,
      log: this.#logOf(process),
      host: HOST,
      createPool: this.#poolsOf(process),
      dial: this.#dialOf(process),
    })
    this.#workers.set(name, { process, running })
    void running.done.then((code) => {
      this.#note(name, `exits with ${code}`)
      process.kill()
      this.#time.after(RESTART_MS, () => this.#restart(name))
    })
  }

  #dialOf(process: SimProcess): NonNullable<WorkerOptions['dial']> {
    return (url) => {
      const client = new FrameEnd(process, this.#network)
      const [, type = '', id = ''] = CONTROL_PATH.exec(url) ?? []
      const target = this.#target()
      if (target === undefined) process.after(1, () => client.fail('connect ECONNREFUSED'))
      else
        this.#network.send(process, target.process, null, () => {
          const server = new FrameEnd(target.process, this.#network)
          server.connect(client)
          const refusal = target.running.accept(server, { type, id, bearerToken: TOKENS.worker })
          this.#network.send(target.process, process, null, () => {
            if (refusal !== null)
              return void client.emit(
                'unexpected-response',
                { destroy: () => {} },
                { statusCode: 503, headers: { 'retry-after': '1' } },
              )
            if (client.readyState !== 0) return server.terminate()
            client.connect(server)
            this.#sockets.set(process.name, { worker: client, master: server })
            client.emit('open')
          })
        })
      return client
    }
  }

  #client(process: SimProcess): MasterClient {
    return new MasterClient({
      masterUrl: URL,
      token: () => TOKENS.admin,
      clock: process,
      timers: process,
      random: process.random,
      createPool: this.#poolsOf(process),
    })
  }

  /** Submits tasks with ids of its own. Repeats a submit whose outcome is unknown. */
  #startProducer(name: string): void {
    const process = this.#process(name)
    const { tasks } = this.#client(process)
    const unit = (): number => process.random.unit()
    let made = 0
    const task = () => ({
      task_id: `${name}-${(made += 1)}`,
      payload: { ms: Math.floor(20 + unit() * 2_000), failures: unit() < 0.9 ? 0 : Math.floor(unit() * 20) },
      priority: Math.floor(unit() * 3) - 1,
      ...(unit() < 0.3 && { idempotency_key: `${name}-key-${made}` }),
    })
    const submit = async (): Promise<void> => {
      const type = unit() < 0.7 ? 'short' : 'long'
      const batch = Array.from({ length: 1 + Math.floor(unit() * 4) }, task)
      for (let attempt = 0; attempt < 3; attempt += 1) {
        try {
          const [first] = batch
          if (batch.length === 1 && first !== undefined) await tasks.submit(type, first)
          else await tasks.submitBatch(type, batch)
          return
        } catch {
          await process.sleep(1_000 * unit())
        }
      }
    }
    const loop = (): void => {
      process.after(-Math.log(1 - unit()) * this.#plan.submitEveryMs, () => {
        void submit()
        loop()
      })
    }
    loop()
  }

  /** Enables the workers, changes their slots, and replays dead tasks. */
  #startAdmin(): void {
    const process = this.#process('admin')
    const client = this.#client(process)
    const { workers } = this.#plan
    const loop = async (): Promise<void> => {
      for (let round = 0; ; round += 1) {
        for (const [at, type] of workers.entries()) {
          await process.sleep(round === 0 ? 200 : 4_000)
          const slots = 1 + Math.floor(process.random.unit() * 4)
          await client.workers.patchConfig(type, `worker-${at}`, { enabled: true, slots }).catch(() => {})
        }
        if (process.random.unit() < 0.5) await client.tasks.replay('short', { n: 5 }).catch(() => {})
      }
    }
    void loop()
  }

  #inject(fault: Fault): void {
    this.#note('fault', fault.kind, () => JSON.stringify(fault))
    switch (fault.kind) {
      case 'kill':
        this.#processOf(fault.target)?.kill()
        return void this.#time.after(fault.restartMs, () => this.#restart(fault.target))
      case 'terminate':
        return this.#terminate(fault.target, fault.restartMs)
      case 'pause':
        return this.#processOf(fault.target)?.pause(fault.ms)
      case 'step_wall':
        return this.#processOf(fault.target)?.stepWall(fault.ms)
      case 'partition':
        return this.#network.partition(fault.target, fault.other, fault.ms)
      case 'silence': {
        const socket = this.#sockets.get(fault.target)
        if (fault.side !== 'master') socket?.worker.silence()
        if (fault.side !== 'worker') socket?.master.silence()
        return
      }
      case 'slow_network':
        return this.#network.slow(fault.factor, fault.ms)
      case 'store_unavailable':
        return this.#store.makeUnavailable(fault.ms)
      case 'store_restart':
        return void this.#store.restart()
      case 'drain':
        return this.#drain(fault.target)
    }
  }

  #processOf(name: string): SimProcess | undefined {
    return (this.#masters.get(name) ?? this.#workers.get(name))?.process
  }

  #restart(name: string): void {
    if (this.#processOf(name)?.isAlive === true) return
    if (this.#masters.has(name)) this.#startMaster(name)
    else this.#startWorker(name)
  }

  #terminate(name: string, restartMs: number): void {
    const worker = this.#workers.get(name)
    if (worker !== undefined) return worker.process.run(() => worker.running.drain('SIGTERM'))
    const master = this.#masters.get(name)
    if (master?.running === null || master === undefined) return
    const { process, running } = master
    process.run(() => {
      void running.stop().then(() => {
        process.kill()
        this.#time.after(restartMs, () => this.#restart(name))
      })
    })
  }

  #drain(name: string): void {
    const type = this.#plan.workers[Number(name.slice('worker-'.length))]
    const process = this.#process('operator')
    if (type !== undefined)
      this.#client(process)
        .workers.drain(type, name)
        .catch(() => {})
  }
}

/** Runs a plan. The process must do nothing else meanwhile. */
export async function runPlan(plan: Plan, options: RunOptions = {}): Promise<RunResult> {
  const world = new World(plan, options)
  try {
    await world.run()
  } finally {
    world.end()
  }
  const { violation } = world.checker
  return {
    plan,
    violation: violation && { invariant: violation.invariant, problem: violation.message },
    hash: world.hash,
    events: world.events,
    counted: Object.fromEntries(world.checker.counted),
  }
}
