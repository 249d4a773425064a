/**
 * @module worker/worker
 * One worker process: the parts, made and joined. Each has a head of its own; this file holds no rule but theirs.
 *
 *   control-channel ── outbox ◀── state-reporter, stats, slots' outputs
 *        │ config_changed, drain
 *   config ──applied──▶ slots ──run──▶ the automation's plugin
 *                         └─ tasks ── leases ── settles ──▶ rpc-client
 *
 * It ends in one of three ways: drained (exit 0), terminated (exit 0), or refused by the master for good (exit 1).
 */
import {
  runBatchSlot,
  runContinuousSlot,
  SlotMetrics,
  type CatalogEntry,
  type Primitives,
  type SlotControl,
  type SlotPorts,
} from '../automation/index.ts'
import { toMs, type MasterFrame, type ReportedState } from '../protocol/index.ts'
import {
  Complaints,
  fromHere,
  inSpan,
  quieted,
  withLogFields,
  type Cancel,
  type Clock,
  type Log,
  type LogFields,
  type LogLevel,
  type ProbeListener,
  type ProbeVerdict,
  type Random,
  type Timers,
} from '../runtime/index.ts'
import { workerAddress, type WorkerAddress } from './address.ts'
import { BusClient } from './bus.ts'
import { ConfigFollower } from './config.ts'
import { ControlChannel } from './control-channel.ts'
import { Drain } from './drain.ts'
import { ErrorsSeen, type ErrorSource } from './errors-seen.ts'
import { startHealth, type HealthListen } from './health.ts'
import type { Host } from './host.ts'
import { Leases } from './leases.ts'
import { Outbox } from './outbox.ts'
import { RpcClient } from './rpc-client.ts'
import { Settles } from './settles.ts'
import { Slots } from './slots.ts'
import { StateReporter, stateOf, type WorkerCondition } from './state-reporter.ts'
import { Stats } from './stats.ts'
import { TaskFeed } from './tasks.ts'

/** For the long poll, settles, extends and the config poll: few calls, none of which waits for another. */
const TASK_CONNECTIONS = 8
/** For what plugins call, so that they never hold up a settle. */
const PLUGIN_CONNECTIONS = 32
const STATS_EVERY_MS = 15_000
/** Slots that come and go within this are one change. */
const STATS_GAP_MS = 1_000

export interface WorkerOptions {
  /** http or https; a path prefix is kept. */
  readonly masterUrl: string
  /** The worker token, or how to ask for the current one. */
  readonly token: string | (() => string)
  readonly entry: CatalogEntry
  readonly workerId: string
  readonly drainTimeoutSeconds: number
  readonly clock: Clock
  readonly timers: Timers
  readonly random: Random
  readonly log: Log
  readonly host: Host
  /** Where `/healthz`, `/readyz` and `/metrics` are served; null or absent: nowhere. */
  readonly healthListen?: HealthListen | null
}

interface WorkerView {
  readonly state: ReportedState
  readonly connected: boolean
  /** Connected, and the master knows this worker. */
  readonly registered: boolean
  readonly draining: boolean
  readonly configGen: number
  readonly lastError: string | null
  /** Slots that run, those that are ending included. */
  readonly slots: number
  /** Of the health listener, once it listens. */
  readonly healthPort: number | null
}

export interface RunningWorker {
  /** The exit code, once everything is closed. Never rejects. */
  readonly done: Promise<0 | 1>
  /** What SIGTERM asks for: no new work, a deadline for the rest (D53). Repeatable. */
  drain(why: string): void
  state(): WorkerView
  /** For what escaped a plugin: an unhandled rejection, an exception in a callback. Logged, shown as `last_error`; the worker goes on. */
  reportStrayError(error: unknown): void
}

/** Starts a worker. It keeps itself connected until it is drained, terminated, or refused. @throws TypeError for a bad master URL. */
export function startWorker(options: WorkerOptions): RunningWorker {
  const { entry, workerId } = options
  return withLogFields({ automation_type: entry.type, worker_id: workerId }, () => new Worker(options))
}

/** What the parts have in common. They log as the worker, whichever slot set them off; what they warn of over and over is said once a minute. */
interface Ports extends WorkerAddress, Pick<WorkerOptions, 'clock' | 'timers' | 'random' | 'log'> {
  readonly token: () => string
  readonly registerAgain: (why: string) => void
}

class Worker implements RunningWorker {
  readonly done: Promise<0 | 1>
  readonly #options: WorkerOptions
  readonly #here = fromHere()
  readonly #errors: ErrorsSeen
  readonly #strays: Complaints
  readonly #failing = new Set<number>()
  readonly #metrics: SlotMetrics
  readonly #outbox: Outbox
  readonly #channel: ControlChannel
  readonly #taskRpc: RpcClient
  readonly #pluginRpc: RpcClient
  readonly #bus: BusClient
  readonly #config: ConfigFollower
  readonly #settles: Settles
  readonly #leases: Leases
  readonly #feed: TaskFeed
  readonly #slots: Slots
  readonly #state: StateReporter
  readonly #stats: Stats
  readonly #drain: Drain
  readonly #finish: (code: 0 | 1) => void
  readonly #cancelStats: () => void
  #cancelStatsGap: Cancel | undefined
  #known = false
  #exitCode: 0 | 1 = 0
  #health: ProbeListener | undefined

  constructor(options: WorkerOptions) {
    const { clock, entry, host, random, timers, token } = options
    const log = this.#ownLog(quieted(options.log, clock))
    const address = workerAddress(options.masterUrl, entry.type, options.workerId)
    const ports = {
      clock,
      timers,
      random,
      log,
      ...address,
      token: typeof token === 'string' ? () => token : token,
      registerAgain: (why: string) => this.#channel.reconnect(why),
    }
    let finish: (code: 0 | 1) => void = () => {}
    this.done = new Promise((resolve) => {
      finish = resolve
    })
    this.#finish = finish
    this.#options = options
    this.#metrics = new SlotMetrics(slotLogOf(options.log))
    this.#strays = new Complaints(clock)
    this.#errors = new ErrorsSeen(() => this.#state.look())
    this.#taskRpc = new RpcClient({ ...ports, connections: TASK_CONNECTIONS })
    this.#pluginRpc = new RpcClient({ ...ports, connections: PLUGIN_CONNECTIONS })
    this.#bus = new BusClient(ports)
    this.#stats = new Stats({ clock, host, metrics: () => this.#allMetrics(), perSlot: () => this.#perSlot() })
    this.#state = new StateReporter({
      ...ports,
      condition: () => this.#condition(),
      send: () => this.#outbox.report('state'),
    })
    this.#outbox = new Outbox({
      ...ports,
      reports: { state: () => this.#state.frame(), stats: () => this.#stats.frame() },
    })
    this.#channel = this.#makeChannel(ports)
    this.#config = this.#makeConfig(ports)
    this.#settles = new Settles({ ...ports, rpc: this.#taskRpc })
    this.#leases = new Leases({
      ...ports,
      rpc: this.#taskRpc,
      visibilityMs: entry.visibilityMs,
      settles: this.#settles,
    })
    this.#feed = new TaskFeed({
      ...ports,
      rpc: this.#taskRpc,
      leases: this.#leases,
      config: () => this.#config.current,
    })
    this.#slots = this.#makeSlots(ports)
    this.#drain = this.#makeDrain(ports)
    this.#cancelStats = timers.every(STATS_EVERY_MS, () => this.#outbox.report('stats'))
    this.#start()
  }

  drain(why: string): void {
    this.#here(() => this.#end('shutdown', why))
  }

  state(): WorkerView {
    const { state, configGen, lastError } = this.#condition()
    return {
      state,
      configGen,
      lastError,
      connected: this.#channel.isOpen,
      registered: this.#known,
      draining: this.#drain.hasBegun,
      slots: this.#slots.size,
      healthPort: this.#health?.port ?? null,
    }
  }

  reportStrayError(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error)
    this.#strays.about('stray', (suppressed) =>
      this.#options.log.error('an error escaped the automation: it was thrown where nothing awaits it', {
        error,
        ...(suppressed > 0 && { suppressed }),
      }),
    )
    this.#errors.set('stray', `an error escaped the automation: ${message}`)
  }

  #makeChannel(ports: Ports): ControlChannel {
    const { entry, host, workerId } = this.#options
    return new ControlChannel({
      ...ports,
      url: ports.controlUrl,
      outbox: this.#outbox,
      identity: { workerId, type: entry.type, instanceId: ports.random.uuid(), hardware: () => host.hardware() },
      onOpen: () => this.#config.poll(),
      onClose: () => void (this.#known = false),
      onFrame: (frame) => this.#received(frame),
      onRefused: (why) => this.#refused(why),
    })
  }

  #makeConfig(ports: Ports): ConfigFollower {
    return new ConfigFollower({
      ...ports,
      entry: this.#options.entry,
      channelAgeMs: () => this.#channel.ageMs,
      fetch: (etag) => this.#taskRpc.get(ports.configPath, etag === null ? {} : { 'if-none-match': etag }),
      onApplied: (config) => this.#applied(config),
      onKnown: () => void (this.#known = this.#channel.isOpen),
      onError: (message) => this.#errors.set('config', message),
    })
  }

  #makeSlots(ports: Ports): Slots {
    const { drainTimeoutSeconds, entry, workerId } = this.#options
    return new Slots({
      ...ports,
      workerId,
      run: (control) => this.#run(control),
      endWithinMs: entry.kind === 'BatchAutomation' ? null : toMs(drainTimeoutSeconds),
      onSpawnError: (message) => this.#errors.set('spawn', message),
      onChange: () => this.#slotsChanged(),
      onGone: (slotId) => this.#gone(slotId),
    })
  }

  #makeDrain(ports: Ports): Drain {
    const { drainTimeoutSeconds, entry } = this.#options
    return new Drain({
      ...ports,
      drainTimeoutMs: toMs(drainTimeoutSeconds),
      visibilityMs: entry.visibilityMs,
      slots: this.#slots,
      feed: this.#feed,
      leases: this.#leases,
      settles: this.#settles,
      outbox: this.#outbox,
      close: () => this.#close(),
    })
  }

  #start(): void {
    const { healthListen, log } = this.#options
    this.#channel.start()
    this.#config.start()
    this.#leases.start()
    this.#state.start()
    if (healthListen === undefined || healthListen === null) return
    startHealth(healthListen, this.#healthDeps()).then(
      (listener) => this.#listening(listener),
      (error: Error) => {
        log.error(error.message)
        this.#exitCode = 1
        this.#end('shutdown', 'the health listener failed')
      },
    )
  }

  #listening(listener: ProbeListener): void {
    this.#health = listener
    this.#options.log.info('the health listener is up', { port: listener.port })
  }

  #received(frame: MasterFrame): void {
    switch (frame.type) {
      case 'config_changed':
        return this.#config.poll()
      case 'drain':
        return this.#end('drain', 'the master asked for it')
      case 'ping':
      case 'task_assign':
        return // The channel's own business; reserved, never sent.
    }
  }

  #refused(why: string): void {
    this.#options.log.error('the worker ends: the master cannot work with it', { why })
    this.#exitCode = 1
    this.#end('shutdown', why)
  }

  #end(form: 'drain' | 'shutdown', why: string): void {
    void this.#drain.begin(form, why).then(() => this.#finish(this.#exitCode))
  }

  async #close(): Promise<void> {
    this.#state.stop()
    this.#cancelStats()
    this.#cancelStatsGap?.()
    this.#config.stop()
    this.#settles.stop()
    await this.#channel.close()
    await Promise.all([this.#taskRpc.close(), this.#pluginRpc.close(), this.#bus.close(), this.#health?.close()])
  }

  #applied(config: ConfigFollower['current']): void {
    this.#errors.set('stray', null) // A new config is a new start.
    if (!this.#drain.hasBegun) this.#feed.setSlots(config.enabled ? config.slots : 0)
    this.#slots.apply(config)
    this.#state.look()
  }

  #slotsChanged(): void {
    this.#state.look()
    if (!this.#stats.slotsAreNews) return
    this.#cancelStatsGap ??= this.#options.timers.after(STATS_GAP_MS, () => {
      this.#cancelStatsGap = undefined
      if (this.#stats.slotsAreNews) this.#outbox.report('stats')
    })
  }

  #ownLog(log: Log): Log {
    const own =
      (level: LogLevel): Log[LogLevel] =>
      (message, fields) =>
        this.#here(() => log[level](message, fields))
    return {
      debug: own('debug'),
      info: own('info'),
      warn: own('warn'),
      error: own('error'),
      isEnabled: (level) => log.isEnabled(level),
    }
  }

  /** Runs one slot until it is stopped. */
  #run(control: SlotControl): Promise<void> {
    const { entry } = this.#options
    const ports = this.#ports(control)
    return entry.kind === 'BatchAutomation'
      ? runBatchSlot(entry, control, this.#feed, ports)
      : runContinuousSlot(entry, control, ports)
  }

  #ports({ slotId }: SlotControl): SlotPorts {
    const { clock, log, random, timers } = this.#options
    const primitives: Primitives = {
      call: (method, params) => this.#pluginRpc.call(method, params),
      subscribe: (topic, signal) => this.#bus.subscribe(topic, signal),
    }
    return {
      clock,
      timers,
      random,
      log: slotLogOf(log),
      metrics: this.#metrics.of(slotId),
      primitives,
      config: () => this.#config.current,
      emit: (output) => this.#outbox.output(slotId, output),
      onError: (message) => this.#slotError(slotId, message),
      span: inSpan,
    }
  }

  #slotError(slotId: number, message: string | null): void {
    if (message === null) this.#failing.delete(slotId)
    else this.#failing.add(slotId)
    this.#errors.set(sourceOf(slotId), message)
  }

  #gone(slotId: number): void {
    this.#slotError(slotId, null)
    this.#metrics.forget(slotId)
  }

  #condition(): WorkerCondition {
    const slots = this.#slots
    const state = stateOf({
      target: slots.target,
      active: slots.active,
      failing: this.#failing.size,
      spawnFails: this.#errors.has('spawn'),
    })
    return { state, configGen: this.#config.appliedGen, lastError: this.#errors.last }
  }

  #allMetrics(): Readonly<Record<string, number>> {
    const evicted = this.#outbox.outputsEvicted
    return { ...this.#metrics.snapshot(), ...(evicted > 0 && { 'counter.outputs_evicted': evicted }) }
  }

  #perSlot(): ReturnType<ConstructorParameters<typeof Stats>[0]['perSlot']> {
    return this.#slots
      .ages()
      .map(({ slotId, ageMs }) => ({
        slot_id: slotId,
        age_seconds: Math.round(ageMs) / 1_000,
        counters: this.#metrics.countersOf(slotId),
      }))
  }

  #healthDeps(): Parameters<typeof startHealth>[1] {
    const { entry, workerId } = this.#options
    const gauge = (help: string, read: () => number): { help: string; read: () => number } => ({ help, read })
    return {
      labels: { automation_type: entry.type, worker_id: workerId },
      isReady: () => this.#readiness(),
      gauges: {
        connected: gauge('1 while the control channel is open.', () => Number(this.#channel.isOpen)),
        draining: gauge('1 while the worker drains.', () => Number(this.#drain.hasBegun)),
        config_gen: gauge('Generation of the applied config.', () => this.#config.appliedGen),
        slots: gauge('Slots that run.', () => this.#slots.size),
        slots_failing: gauge('Slots whose last run failed.', () => this.#failing.size),
        leases: gauge('Tasks held.', () => this.#leases.size),
        frames_waiting: gauge('Output frames that wait for the master.', () => this.#outbox.frames),
        outputs_evicted: gauge(
          'Outputs lost to the bound of the buffer since start.',
          () => this.#outbox.outputsEvicted,
        ),
        cpu_pct: gauge('CPU share of one core, in percent.', () => this.#stats.cpuPercent),
        rss_mb: gauge('Resident memory in MB.', () => this.#stats.rssMegabytes),
      },
    }
  }

  #readiness(): ProbeVerdict {
    if (this.#drain.hasBegun) return { ok: false, why: 'draining' }
    return this.#known ? { ok: true, why: 'ok' } : { ok: false, why: 'not registered' }
  }
}

const sourceOf = (slotId: number): ErrorSource => `slot ${slotId}`

/** The log as a plugin sees it: functions without `this`. */
function slotLogOf(log: Log): SlotPorts['log'] {
  return {
    debug: (message, fields) => log.debug(message, fields as LogFields),
    info: (message, fields) => log.info(message, fields as LogFields),
    warn: (message, fields) => log.warn(message, fields as LogFields),
    error: (message, fields) => log.error(message, fields as LogFields),
  }
}
