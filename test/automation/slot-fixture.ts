/**
 * Implements the slot ports for tests: virtual time, a task source that the test fills, primitives that return results
 * from a table, and a record of all calls.
 */
import {
  buildCatalog,
  type AppliedConfig,
  type EndedRun,
  type Automation,
  type RunnableEntry,
  type Primitives,
  type SlotControl,
  type SlotDeps,
  type StopReason,
  type TaskLease,
  type TaskSource,
  SlotMetrics,
  SlotStopped,
} from '../../src/automation/index.ts'
import type { JsonObject, RpcMethod } from '../../src/protocol/index.ts'
import { seededRandom, VirtualTime, boundLogFields, type SpanOrigin } from '../../src/runtime/index.ts'

export interface SpanRecord {
  readonly name: string
  readonly attributes: Readonly<Record<string, string | number>>
  readonly origin: SpanOrigin | undefined
  error?: unknown
}
export interface LogLine {
  readonly level: string
  readonly message: string
  readonly fields: object | undefined
  readonly bound: object
}
export interface RpcCall {
  readonly method: RpcMethod
  readonly params: JsonObject
}
type RpcHandler = (params: JsonObject) => unknown

export class SlotFixture {
  readonly time = new VirtualTime()
  readonly random = seededRandom(7)
  readonly outputs: JsonObject[] = []
  readonly errors: (string | null)[] = []
  readonly runs: EndedRun[] = []
  readonly spans: SpanRecord[] = []
  readonly logs: LogLine[] = []
  readonly calls: RpcCall[] = []
  /** One line per outcome, in order. */
  readonly settled: string[] = []
  readonly results = new Map<string, RpcHandler>()
  readonly subscriptions: { topic: string; signal: AbortSignal }[] = []
  readonly source: TaskSource
  config: AppliedConfig
  readonly entry: RunnableEntry
  readonly #stopping = new AbortController()
  readonly #killed = new AbortController()
  readonly #waiting: TaskLease[] = []
  #wake: (() => void) | undefined

  constructor(automation: Automation, config: JsonObject = {}) {
    const entry = buildCatalog([automation]).get(automation.type)
    if (entry === undefined) throw new Error('the catalog lost the automation')
    this.entry = entry
    this.config = this.applied(config)
    this.source = { take: (stopping) => this.#take(stopping) }
  }

  applied(config: JsonObject): AppliedConfig {
    return Object.freeze({ ...this.entry.defaults, ...config })
  }

  get control(): SlotControl {
    return { workerId: 'w1', slotId: 3, stopping: this.#stopping.signal, killed: this.#killed.signal }
  }

  get ports(): SlotDeps {
    const log =
      (level: string) =>
      (message: string, fields?: object): void =>
        void this.logs.push({ level, message, fields, bound: boundLogFields() })
    const slotLog = { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') }
    return {
      clock: this.time,
      timers: this.time,
      random: this.random,
      log: slotLog,
      metrics: new SlotMetrics(slotLog).of(3),
      primitives: this.#primitives(),
      config: () => this.config,
      emit: (output) => void this.outputs.push(output),
      onError: (message) => void this.errors.push(message),
      onRunEnded: (run) => void this.runs.push(run),
      span: async (name, attributes, inside, origin) => {
        const record: SpanRecord = { name, attributes, origin }
        this.spans.push(record)
        try {
          return await inside()
        } catch (error) {
          record.error = error
          throw error
        }
      },
    }
  }

  stop(why: StopReason = 'drain'): void {
    this.#stopping.abort(new SlotStopped(why))
    this.#wake?.()
  }

  kill(why: StopReason = 'shutdown'): void {
    this.stop(why)
    this.#killed.abort(new SlotStopped(why))
  }

  /** Hands a task to the slot. @returns `lose`, which loses its lease. */
  offer(
    id: string,
    payload: JsonObject = {},
    { attempt = 0, labels = {}, groupKey = null, retry, trace, lastProgress = null }: Partial<TaskLease> = {},
  ): { lose: () => void } {
    const stopped = new AbortController()
    let isLost = false
    const settle = (line: string): void => void this.settled.push(line)
    this.#waiting.push({
      id,
      payload,
      attempt,
      labels,
      groupKey,
      retry,
      trace,
      lastProgress,
      config: this.config,
      signal: stopped.signal,
      get isLost() {
        return isLost
      },
      interrupt: (reason) => stopped.abort(reason),
      extend: async () => settle(`extend ${id}`),
      report: (text) => settle(`progress ${id} ${text}`),
      ack: (result) => settle(`ack ${id}${result === undefined ? '' : ` ${JSON.stringify(result)}`}`),
      nack: (error, options = {}) => settle(`nack ${id} ${error} ${JSON.stringify(options)}`),
      release: () => settle(`release ${id}`),
    })
    this.#wake?.()
    const lose = (): void => {
      isLost = true
      stopped.abort(new SlotStopped('lease_lost'))
    }
    return { lose }
  }

  async #take(stopping: AbortSignal): Promise<TaskLease | null> {
    while (!stopping.aborted) {
      const lease = this.#waiting.shift()
      if (lease !== undefined) return lease
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    return null
  }

  #primitives(): Primitives {
    return {
      call: async (method, params) => {
        this.calls.push({ method, params: params as JsonObject })
        const answer = this.results.get(method)
        if (answer === undefined) throw new Error(`no answer for ${method}`)
        return answer(params as JsonObject) as never
      },
      subscribe: (topic, signal) => {
        this.subscriptions.push({ topic, signal })
        return { [Symbol.asyncIterator]: () => ({ next: () => Promise.resolve({ done: true, value: undefined }) }) }
      },
    }
  }
}

/** Rejects with the reason when `signal` aborts, as a well-behaved plugin does. */
export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
}
