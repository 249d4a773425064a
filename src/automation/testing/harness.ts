/**
 * @module automation/testing/harness
 * Simulates one worker with its store on virtual time: the slot runners of the worker over the memory backend.
 *
 *   a run is outside its context ─▶ real time passes, virtual time stands still
 *   every run waits inside it ────▶ virtual time jumps to the next timer
 *
 * The simulation runs until every slot has ended. Faults of the automation are reported together at the end; a fault
 * that would keep the run from ending is reported immediately.
 */
import { MAX_FRAME_BYTES, toMs, toSeconds, type JsonObject } from '../../protocol/index.ts'
import { seededRandom, sleep, systemTime, VirtualTime, type Random } from '../../runtime/index.ts'
import type { Backend } from '../../storage/index.ts'
import { MemoryBackend } from '../../storage/memory/index.ts'
import {
  buildCatalog,
  Masker,
  SlotMetrics,
  type Automation,
  type BatchContext,
  type RunnableEntry,
  type Context,
  type SlotControl,
  type SlotLog,
  type SlotDeps,
} from '../index.ts'
import { WorkerConfig } from './config.ts'
import type { Faults } from './errors.ts'
import { Link } from './link.ts'
import { OpenResources } from './open-resources.ts'
import type { Call, Handle, LogLine, RunResult } from './options.ts'
import { WaitLimit } from './wait-limit.ts'
import { LocalPrimitives } from './primitives.ts'
import { Slots } from './slots.ts'
import { fillStore, readStore, type Seeds } from './state.ts'
import { LocalTopics } from './topics.ts'
import { WatchedRun } from './watched-run.ts'

const WORKER_ID = 'worker-1'
/** Bytes of a frame that are not part of the output. */
const FRAME_BYTES_BESIDE = 128

export interface HarnessOptions extends Seeds {
  readonly config?: object
  readonly slots?: number
  readonly seed?: number
  readonly maxWaitSeconds?: number
}

/** The parts that depend on the kind of the automation. */
interface Play {
  readonly run: (control: SlotControl, deps: SlotDeps) => Promise<void>
  readonly isDone: () => boolean
  readonly isSettled: () => boolean
}

export class Harness {
  readonly time = new VirtualTime()
  readonly link = new Link(this.time)
  readonly random: Random
  readonly entry: RunnableEntry
  readonly backend: Backend
  readonly config: WorkerConfig
  readonly faults: Faults
  readonly workerId = WORKER_ID
  readonly outputs: JsonObject[] = []
  /** Every ended run of the automation, in order, and what it threw. */
  readonly ended: { readonly run: WatchedRun; readonly endSeconds: number; readonly error: string | null }[] = []
  readonly #options: HarnessOptions
  readonly #calls: Call[] = []
  readonly #logs: LogLine[] = []
  readonly #workerLogs: LogLine[] = []
  readonly #topics = new LocalTopics(this.link)
  readonly #masker: Masker
  readonly #metrics: SlotMetrics
  readonly #primitives: LocalPrimitives
  readonly #waitLimit: WaitLimit
  readonly #resources = new OpenResources()
  readonly #runs = new Set<WatchedRun>()
  #slots: Slots | undefined
  #scripted = 0
  #failure: { readonly error: unknown } | undefined
  #isAutomationLogging = false
  #wake = (): void => {}

  /** @throws {AutomationError} when a schema does not compile. */
  constructor(automation: Automation, options: HarnessOptions, faults: Faults) {
    const entry = buildCatalog([automation]).get(automation.type)
    if (entry === undefined) throw new TypeError('the catalog lost its only automation')
    this.#options = options
    this.faults = faults
    this.random = seededRandom(options.seed ?? 1)
    this.backend = new MemoryBackend({ clock: this.time, random: this.random })
    this.entry = { ...entry, run: (context) => this.#run(entry, context) }
    this.config = new WorkerConfig(entry, this.backend, { type: entry.type, id: WORKER_ID }, faults)
    this.#masker = new Masker(entry.secrets)
    this.#metrics = new SlotMetrics(this.#logOf(0))
    this.#primitives = new LocalPrimitives({
      entry,
      backend: this.backend,
      workerId: WORKER_ID,
      link: this.link,
      topics: this.#topics,
    })
    this.#waitLimit = new WaitLimit(systemTime, faults.allows('signal'), options.maxWaitSeconds)
  }

  /** Opens and fills the store, and applies the config. @throws {RunError} for invalid options. */
  async prepare(): Promise<void> {
    const { config = {}, slots } = this.#options
    const { backend, entry } = this
    await backend.open(new AbortController().signal)
    await backend.workers.register([
      {
        type: entry.type,
        id: WORKER_ID,
        conn: 'harness/1',
        instance: '',
        hardware: '{}',
        defaults: JSON.stringify(entry.defaults),
      },
    ])
    await this.setConfig({ enabled: true, ...config, ...(slots !== undefined && { slots }) })
    await fillStore(backend, entry, this.#options, this.#primitives.usedNames, this.faults)
  }

  async setConfig(patch: object): Promise<void> {
    const config = await this.config.patch(patch)
    this.#masker.see(config)
    this.#slots?.apply(config)
  }

  /**
   * Runs the slots until all have ended. Drains them when `isDone`; waits for undelivered outcomes until `isSettled`.
   */
  async play({ run, isDone, isSettled }: Play): Promise<void> {
    const isBatch = this.entry.kind === 'BatchAutomation'
    const slots = new Slots({
      timers: this.time,
      workerId: WORKER_ID,
      isBatch,
      run: (control) => run(control, this.#slotDeps(control)),
      onEnd: (slotId) => this.#slotEnded(slotId),
      onFailure: (error) => this.fail(error),
    })
    this.#slots = slots
    this.#resources.watch()
    slots.apply(this.config.current)
    try {
      for (let isDraining = false; ;) {
        await this.#settled()
        if (this.#failure !== undefined) throw this.#failure.error
        if (slots.areOver && this.#runs.size === 0 && isSettled()) return
        if (isDraining || this.#scripted > 0 || !isDone()) await this.time.advanceToNext()
        else {
          isDraining = true
          slots.stop('drain')
        }
      }
    } finally {
      slots.killAll()
      this.#resources.unwatch()
    }
  }

  /** Calls each entry of the script at its virtual second. */
  follow<H>(script: Readonly<Record<string, (handle: H) => Promise<void> | void>>, handle: H): void {
    for (const [second, act] of Object.entries(script)) {
      const ms = toMs(Number(second))
      if (!(ms >= 0) || typeof act !== 'function')
        throw this.faults.usage(
          `script/${second}: a script has functions by virtual seconds, such as { 30: (h) => h.stop('drain') }`,
        )
      this.#scripted += 1
      this.time.after(
        ms,
        () =>
          void (async () => act(handle))()
            .catch((error: unknown) => this.fail(error))
            .finally(() => {
              this.#scripted -= 1
              this.nudge()
            }),
      )
    }
  }

  /**
   * The functions that both kinds of scripts have. An error in one of them fails the run, even if the script does not
   * await it.
   */
  handle(): Handle<object> {
    return {
      setConfig: (patch) => this.act(() => this.setConfig(patch)),
      stop: (why) => this.#slots?.stop(why),
      disconnect: (seconds) => this.link.cut(seconds),
      publish: (topic, message) => this.#topics.publish(topic, message),
    }
  }

  act(work: () => Promise<void>): Promise<void> {
    const done = work()
    done.catch((error: unknown) => this.fail(error))
    return done
  }

  /** Describes what each run is doing, for messages. */
  describeRuns(): string {
    const { enabled, slots } = this.config.current
    const runs = [...this.#runs].map((run) => `${run.who}: ${run.lastCall}`)
    return runs.length > 0 ? runs.join('; ') : `no slot runs a task (enabled: ${enabled}, slots: ${slots})`
  }

  /** Ends the run with `error`. */
  fail(error: unknown): void {
    this.#failure ??= { error: error instanceof Error ? error : new Error(String(error)) }
    this.nudge()
  }

  /** Wakes the loop to check the state again. */
  readonly nudge = (): void => this.#wake()

  /** Returns the result of the run. @throws {RunError} with all faults of the automation. */
  async result<O>(): Promise<RunResult<O>> {
    const virtualSeconds = toSeconds(this.time.monotonicMs())
    const store = await readStore(this.backend, this.entry, this.#primitives.usedNames, this.time.wallMs())
    await this.backend.close()
    this.faults.throwIfAny()
    // Each output was checked against the schema of type O.
    const outputs = this.outputs as unknown as RunResult<O>['outputs']
    return {
      outputs,
      calls: this.#calls,
      logs: this.#logs,
      workerLogs: this.#workerLogs,
      metrics: this.#metrics.snapshot(),
      ...store,
      published: this.#topics.published,
      virtualSeconds,
    }
  }

  /** Waits, in real time, until every run waits for a call of its context. */
  async #settled(): Promise<void> {
    for (;;) {
      await this.time.advance(0)
      for (const run of this.#runs) run.turned()
      const outside = [...this.#runs].filter((run) => run.isOutside)
      if (outside.length === 0 || this.#failure !== undefined) return
      const late = outside.find((run) => this.#waitLimit.leftMs(run) <= 0)
      if (late === undefined) await this.#waitForEvent(Math.min(...outside.map((run) => this.#waitLimit.leftMs(run))))
      else this.#waitedTooLong(late)
    }
  }

  #waitedTooLong(run: WatchedRun): void {
    if (run.stopRequestedAtMs === undefined || this.faults.allows('signal'))
      this.fail(this.faults.stuck(this.#waitLimit.explain(run, this.#resources.of(run))))
    else run.overdue()
  }

  /** Abandons the overdue run, unless the test allows it. */
  #overdue(run: WatchedRun): void {
    if (this.#slots?.has(run.slotId) !== true) this.#runs.delete(run)
    else if (!this.faults.allows('signal')) this.#slots.kill(run.slotId)
    this.nudge()
  }

  async #waitForEvent(withinMs: number): Promise<void> {
    const over = new AbortController()
    this.#wake = () => over.abort()
    await sleep(systemTime, withinMs, over.signal)
    this.#wake = () => {}
  }

  async #run(entry: RunnableEntry, context: BatchContext | Context): Promise<unknown> {
    const run = new WatchedRun(context, {
      time: this.time,
      realClock: systemTime,
      faults: this.faults,
      masker: this.#masker,
      calls: this.#calls,
      nudge: this.nudge,
      asAutomation: (log) => this.#asAutomation(log),
      onOverdue: (late) => this.#overdue(late),
      onStuck: (message) => this.fail(this.faults.stuck(message)),
    })
    this.#runs.add(run)
    let error: string | null = null
    try {
      return await this.#resources.ownedBy(run, () => run.around(entry.run))
    } catch (thrown) {
      if (thrown !== context.signal.reason)
        error = this.#masker.text(thrown instanceof Error ? thrown.message : String(thrown))
      throw thrown
    } finally {
      this.#runs.delete(run)
      this.ended.push({ run, endSeconds: toSeconds(this.time.monotonicMs()), error })
    }
  }

  #slotEnded(slotId: number): void {
    for (const run of this.#runs) if (run.slotId === slotId && run.isOverdue) this.#runs.delete(run)
    this.nudge()
  }

  #slotDeps({ slotId }: SlotControl): SlotDeps {
    return {
      clock: this.time,
      timers: this.time,
      random: this.random,
      log: this.#logOf(slotId),
      metrics: this.#metrics.of(slotId),
      primitives: this.#primitives,
      config: () => this.config.current,
      emit: (output) => this.#emit(output),
      onError: () => {},
      onRunEnded: () => {},
      span: (_name, _attributes, inside) => inside(),
    }
  }

  #emit(output: JsonObject): void {
    const text = JSON.stringify(output)
    const bytes = Buffer.byteLength(text) + FRAME_BYTES_BESIDE
    if (bytes > MAX_FRAME_BYTES)
      throw new RangeError(
        `the output has ${bytes} bytes as JSON where a frame holds ${MAX_FRAME_BYTES}; ` +
          'emit it in parts, or emit a reference to it',
      )
    this.outputs.push(JSON.parse(text) as JsonObject)
  }

  #asAutomation(log: () => void): void {
    this.#isAutomationLogging = true
    try {
      log()
    } finally {
      this.#isAutomationLogging = false
    }
  }

  #logOf(slotId: number): SlotLog {
    const level =
      (name: keyof SlotLog) =>
      (message: string, fields: object = {}): void => {
        const lines = this.#isAutomationLogging ? this.#logs : this.#workerLogs
        lines.push({ level: name, message, fields, slotId, atSeconds: toSeconds(this.time.monotonicMs()) })
      }
    return { debug: level('debug'), info: level('info'), warn: level('warn'), error: level('error') }
  }
}
