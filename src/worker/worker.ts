/**
 * @module worker/worker
 * Creates the components of a worker process and connects them. The rules are in the components.
 *
 *   control-channel ── outbox ◀── state-reporter, stats, slots' outputs
 *        │ config_changed, drain, task_cancelled
 *   config ──applied──▶ slots ──run──▶ the automation's plugin
 *                         └─ tasks ── leases ── outcome-queue ──▶ rpc-client
 *
 * A worker stops in one of four ways: drained (exit 0), terminated (exit 0), permanently rejected by the master (exit
 * 1), or after an uncaught exception (exit 1).
 */
import { runBatchSlot, runContinuousSlot, type SlotControl, type SlotDeps } from '../automation/index.ts'
import { toMs, type MasterFrame } from '../protocol/index.ts'
import {
  boundLogFields,
  fromHere,
  inSpan,
  withThrottledWarnings,
  RefusalLimiter,
  withLogFields,
  type ProbeListener,
  type ProbeResult,
} from '../runtime/index.ts'
import { workerAddress } from './address.ts'
import { BusClient } from './bus.ts'
import { ConfigFollower } from './config.ts'
import { ControlChannel } from './control-channel.ts'
import { Drain, type DrainForm } from './drain.ts'
import { ActiveErrors } from './active-errors.ts'
import { startHealth, type HealthDeps } from './health.ts'
import { Leases } from './leases.ts'
import { LogRing } from './log-ring.ts'
import { logInto, logWithin, slotLogOf } from './logs.ts'
import { MasterFeatures } from './master-features.ts'
import { Outbox } from './outbox.ts'
import { PluginCalls } from './plugin-calls.ts'
import { RpcClient } from './rpc-client.ts'
import type { SharedDeps, RunningWorker, WorkerOptions, WorkerView } from './running-worker.ts'
import { OutcomeQueue } from './outcome-queue.ts'
import { reservedMetrics } from './reserved-metrics.ts'
import { RunCounters } from './run-counters.ts'
import { SlotRecords } from './slot-records.ts'
import { Slots } from './slots.ts'
import { StateReporter, stateOf, type WorkerCondition } from './state-reporter.ts'
import { Stats } from './stats.ts'
import { StatsSchedule } from './stats-schedule.ts'
import { TaskFeed } from './tasks.ts'
import { UnhandledErrors } from './unhandled-errors.ts'
import { workerGauges } from './worker-gauges.ts'

/** Connections for the long poll, settles, extends and the config poll: enough that none of them waits for another. */
const TASK_CONNECTIONS = 8
/** Separate connections for calls of plugins, so that those never delay a settle. */
const PLUGIN_CONNECTIONS = 32

/**
 * Starts a worker, which reconnects until it is drained, terminated or permanently rejected.
 * @throws {TypeError} for an invalid master URL.
 */
export function startWorker(options: WorkerOptions): RunningWorker {
  const { entry, workerId } = options
  return withLogFields({ automation_type: entry.type, worker_id: workerId }, () => new Worker(options))
}

class Worker implements RunningWorker {
  readonly done: Promise<0 | 1>
  readonly #options: WorkerOptions
  readonly #here = fromHere()
  readonly #logs: LogRing
  readonly #errors: ActiveErrors
  readonly #unhandledErrors: UnhandledErrors
  readonly #records: SlotRecords
  readonly #runs: RunCounters
  readonly #outbox: Outbox
  readonly #channel: ControlChannel
  readonly #taskRpc: RpcClient
  readonly #pluginRpc: RpcClient
  readonly #pluginCalls: PluginCalls
  readonly #bus: BusClient
  readonly #config: ConfigFollower
  readonly #outcomes: OutcomeQueue
  readonly #leases: Leases
  readonly #feed: TaskFeed
  readonly #slots: Slots
  readonly #state: StateReporter
  readonly #stats: Stats
  readonly #drain: Drain
  readonly #finish: (code: 0 | 1) => void
  readonly #statsSchedule: StatsSchedule
  #known = false
  #exitCode: 0 | 1 = 0
  #health: ProbeListener | undefined

  constructor(given: WorkerOptions) {
    this.#logs = new LogRing(given.clock)
    const options = { ...given, log: logInto(this.#logs, given.log) }
    const { clock, entry, host, random, timers, token } = options
    const log = logWithin(this.#here, withThrottledWarnings(options.log, clock))
    const shared = {
      clock,
      timers,
      random,
      log,
      ...workerAddress(options.masterUrl, entry.type, options.workerId),
      token: typeof token === 'string' ? () => token : token,
      registerAgain: (why: string) => this.#channel.reconnect(why),
      features: new MasterFeatures(clock),
    }
    let finish: (code: 0 | 1) => void = () => {}
    this.done = new Promise((resolve) => (finish = resolve))
    this.#finish = finish
    this.#options = options
    this.#errors = new ActiveErrors(() => this.#state.sendIfChanged())
    this.#unhandledErrors = new UnhandledErrors({
      ...options,
      errors: this.#errors,
      config: () => this.#config.current,
    })
    this.#records = new SlotRecords(clock, slotLogOf(options.log), this.#errors)
    this.#runs = new RunCounters(entry.kind === 'BatchAutomation', () => this.#statsSchedule.firstFailure())
    const refusals = new RefusalLimiter(shared)
    const http = { ...shared, refusals, createPool: options.createPool }
    this.#taskRpc = new RpcClient({ ...http, connections: TASK_CONNECTIONS })
    this.#pluginRpc = new RpcClient({ ...http, connections: PLUGIN_CONNECTIONS })
    this.#pluginCalls = new PluginCalls({ ...shared, rpc: this.#pluginRpc })
    this.#bus = new BusClient(http)
    this.#stats = new Stats({
      clock,
      host,
      metrics: () => this.#metrics(),
      perSlot: () => this.#records.perSlot(this.#slots.ages(), shared.features.has('slot_tasks')),
    })
    this.#state = new StateReporter({
      ...shared,
      condition: () => this.#condition(),
      send: () => this.#outbox.report('state'),
    })
    this.#outbox = new Outbox({
      ...shared,
      reports: { state: () => this.#state.frame(), stats: () => this.#stats.frame() },
      canNameTasks: () => shared.features.has('output_task'),
    })
    this.#channel = this.#makeChannel(shared)
    this.#config = this.#makeConfig(shared)
    this.#outcomes = new OutcomeQueue({ ...shared, rpc: this.#taskRpc, onDied: () => this.#runs.taskDied() })
    this.#leases = this.#makeLeases(shared)
    this.#feed = this.#makeFeed(shared)
    this.#slots = this.#makeSlots(shared)
    this.#drain = this.#makeDrain(shared)
    this.#statsSchedule = new StatsSchedule({ timers, stats: this.#stats, send: () => this.#outbox.report('stats') })
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

  reportUnhandledError(error: unknown): void {
    this.#unhandledErrors.report(error)
  }

  crash(error: unknown): void {
    // Node runs the handler of an uncaught exception in the asynchronous context of the callback that threw.
    const { task_id: taskId } = boundLogFields()
    const { text, stack, settle } = this.#unhandledErrors.failureOf(error)
    this.#options.log.error('uncaught exception: the worker releases its tasks and exits with code 1', {
      error: text,
      stack,
    })
    if (typeof taskId === 'string') this.#leases.fail(taskId, `an uncaught exception ended the worker: ${text}`, settle)
    this.#exitCode = 1
    this.#here(() => this.#end('crash', 'uncaught exception'))
  }

  #makeChannel(shared: SharedDeps): ControlChannel {
    const { dial, entry, host, labels = {}, log, version, workerId } = this.#options
    const instanceId = shared.random.uuid()
    return new ControlChannel({
      ...shared,
      dial,
      version,
      url: shared.controlUrl,
      outbox: this.#outbox,
      identity: { workerId, type: entry.type, instanceId, hardware: () => host.hardware(), labels },
      onOpen: (isRegistered) => this.#config.connected(isRegistered),
      onClose: () => void (this.#known = false),
      onFrame: (frame) => this.#received(frame),
      onRefused: (why) => {
        log.error('worker stopping: the master rejected it permanently', { why })
        this.#exitCode = 1
        this.#end('shutdown', why)
      },
    })
  }

  #makeConfig(shared: SharedDeps): ConfigFollower {
    return new ConfigFollower({
      ...shared,
      entry: this.#options.entry,
      channelAgeMs: () => this.#channel.ageMs,
      fetch: (headers) => this.#taskRpc.get(shared.configPath, headers),
      onApplied: (config) => this.#applied(config),
      onKnown: () => void (this.#known = this.#channel.isOpen),
      onError: (message) => this.#errors.set('config', message),
    })
  }

  #makeLeases(shared: SharedDeps): Leases {
    const { visibilityMs } = this.#options.entry
    return new Leases({ ...shared, rpc: this.#taskRpc, visibilityMs, outcomes: this.#outcomes })
  }

  #makeFeed(shared: SharedDeps): TaskFeed {
    return new TaskFeed({ ...shared, rpc: this.#taskRpc, leases: this.#leases, config: () => this.#config.current })
  }

  #makeSlots(shared: SharedDeps): Slots {
    const { drainTimeoutSeconds, entry, workerId } = this.#options
    return new Slots({
      ...shared,
      workerId,
      run: (control) => this.#run(control),
      endWithinMs: entry.kind === 'BatchAutomation' ? null : toMs(drainTimeoutSeconds),
      onSpawnError: (message) => {
        if (message !== null) this.#runs.slotFailed()
        this.#errors.set('spawn', message)
      },
      onChange: () => this.#slotsChanged(),
      onGone: (slotId) => this.#records.forget(slotId),
    })
  }

  #makeDrain(shared: SharedDeps): Drain {
    const { drainTimeoutSeconds, entry } = this.#options
    return new Drain({
      ...shared,
      drainTimeoutMs: toMs(drainTimeoutSeconds),
      visibilityMs: entry.visibilityMs,
      slots: this.#slots,
      feed: this.#feed,
      leases: this.#leases,
      outcomes: this.#outcomes,
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
      (listener) => {
        this.#health = listener
        log.info('health listener started', { port: listener.port })
      },
      (error: Error) => {
        log.error(error.message)
        this.#exitCode = 1
        this.#end('shutdown', 'the health listener could not start')
      },
    )
  }

  #received(frame: MasterFrame): void {
    switch (frame.type) {
      case 'config_changed':
        return this.#config.poll()
      case 'task_cancelled':
        return this.#leases.cancelled(frame.task_id, frame.token)
      case 'read_logs':
        return this.#outbox.respond(this.#logs.read(frame))
      case 'drain':
        return this.#end('drain', 'the master requested a drain')
      case 'ping':
      case 'task_assign':
        return // `ping` is handled by the channel; `task_assign` is reserved and never sent.
    }
  }

  #end(form: DrainForm, why: string): void {
    void this.#drain.begin(form, why).then(() => this.#finish(this.#exitCode))
  }

  async #close(): Promise<void> {
    this.#state.stop()
    this.#statsSchedule.stop()
    this.#config.stop()
    this.#outcomes.stop()
    await this.#channel.close(this.#exitCode === 0)
    await Promise.all([this.#taskRpc.close(), this.#pluginRpc.close(), this.#bus.close(), this.#health?.close()])
  }

  #applied(config: ConfigFollower['current']): void {
    this.#unhandledErrors.clear()
    this.#runs.applied(config)
    if (!this.#drain.hasBegun) this.#feed.setSlots(config.enabled ? config.slots : 0)
    this.#slots.apply(config)
    this.#state.sendIfChanged()
  }

  #slotsChanged(): void {
    this.#state.sendIfChanged()
    this.#statsSchedule.slotsChanged()
  }

  /** Runs one slot until it is stopped. */
  #run(control: SlotControl): Promise<void> {
    const { entry } = this.#options
    const deps = this.#slotDeps(control)
    return entry.kind === 'BatchAutomation'
      ? runBatchSlot(entry, control, this.#records.watch(control.slotId, this.#feed), deps)
      : runContinuousSlot(entry, control, deps)
  }

  #slotDeps({ slotId }: SlotControl): SlotDeps {
    const { clock, log, random, timers } = this.#options
    return {
      clock,
      timers,
      random,
      log: slotLogOf(log),
      metrics: this.#records.metricsOf(slotId),
      primitives: {
        call: (method, params) => this.#pluginCalls.call(method, params),
        subscribe: (topic, signal) => this.#bus.subscribe(topic, signal),
      },
      config: () => this.#config.current,
      emit: (output, taskId) => this.#outbox.output(slotId, output, taskId),
      onError: (message) => this.#records.setError(slotId, message),
      onRunEnded: (run) => this.#runs.runEnded(run),
      span: inSpan,
    }
  }

  #metrics(): Readonly<Record<string, number>> {
    const own = { runs: this.#runs, config: this.#config, leases: this.#leases, feed: this.#feed }
    return { ...this.#records.metrics(this.#outbox.outputsEvicted), ...reservedMetrics(own) }
  }

  #condition(): WorkerCondition {
    const state = stateOf({
      target: this.#slots.target,
      active: this.#slots.active,
      failing: this.#records.failing,
      spawnFails: this.#errors.has('spawn'),
    })
    return { state, configGen: this.#config.appliedGen, lastError: this.#errors.last }
  }

  #healthDeps(): HealthDeps {
    const { entry, workerId } = this.#options
    return {
      labels: { automation_type: entry.type, worker_id: workerId },
      isReady: () => this.#readiness(),
      gauges: workerGauges({
        channel: this.#channel,
        drain: this.#drain,
        config: this.#config,
        slots: this.#slots,
        records: this.#records,
        leases: this.#leases,
        outbox: this.#outbox,
        stats: this.#stats,
      }),
    }
  }

  #readiness(): ProbeResult {
    if (this.#drain.hasBegun) return { ok: false, why: 'draining' }
    return this.#known ? { ok: true, why: 'ok' } : { ok: false, why: 'not registered' }
  }
}
