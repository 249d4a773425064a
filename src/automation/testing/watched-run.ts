/**
 * @module automation/testing/watched-run
 * Monitors one run of the automation. It wraps the context of the slot runner and records every call:
 *
 *   inside: at least one call of the context is open ─▶ virtual time may advance
 *   outside: none is open ─▶ the run works, or waits for something real; virtual time stops
 *
 * A run must not return with open calls, locks or claims. It has two real seconds to return after its signal aborts.
 */
import { inspect, isDeepStrictEqual } from 'node:util'
import { toSeconds } from '../../protocol/index.ts'
import type { Clock, Time } from '../../runtime/index.ts'
import type { BatchContext, Context, Lock, Masker, SlotLog } from '../index.ts'
import { TrackedPromise } from './tracked-promise.ts'
import type { Faults } from './errors.ts'
import type { Call, CallName } from './options.ts'

/** How long a run may continue after its signal aborted. */
export const STOP_WITHIN_MS = 2_000
/** A run with more calls than this, without ever waiting, is an endless loop. */
const MAX_CALLS_A_TURN = 100_000

export interface WatchDeps {
  readonly time: Time
  readonly realClock: Clock
  readonly faults: Faults
  readonly masker: Masker
  readonly calls: Call[]
  /** Runs `log`, and attributes its lines to the automation. */
  readonly asAutomation: (log: () => void) => void
  /** Called after an event that may end a wait. */
  readonly nudge: () => void
  readonly onOverdue: (run: WatchedRun) => void
  /** Called when this run would never end. */
  readonly onStuck: (message: string) => void
}

interface OpenCall {
  readonly record: { -readonly [K in keyof Call]: Call[K] }
  readonly answered: Promise<unknown>
  readonly promise: TrackedPromise<unknown>
}
type Plugin = (context: BatchContext | Context) => unknown
/** What locks and claims have in common. A claim also has `remove`. */
type Holding = Pick<Lock, 'extend' | 'release'> & AsyncDisposable & { readonly remove?: () => Promise<void> }

export class WatchedRun {
  readonly slotId: number
  readonly taskId: string | null
  readonly startSeconds: number
  /** Real time of the last completed call. */
  lastSeenMs: number
  /** Real time at which the signal aborted. */
  stopRequestedAtMs: number | undefined
  /** The signal aborted more than two seconds ago. */
  isOverdue = false
  hasEnded = false
  readonly #deps: WatchDeps
  readonly #context: BatchContext | Context
  readonly #calls: OpenCall[] = []
  readonly #open = new Set<Promise<unknown>>()
  readonly #held = new Set<string>()
  #callsThisTurn = 0

  constructor(context: BatchContext | Context, deps: WatchDeps) {
    this.#context = context
    this.#deps = deps
    this.slotId = context.slotId
    this.taskId = 'task' in context ? context.task.id : null
    this.startSeconds = toSeconds(deps.time.monotonicMs())
    this.lastSeenMs = deps.realClock.monotonicMs()
    if (context.signal.aborted) this.#stopRequested()
    else context.signal.addEventListener('abort', () => this.#stopRequested(), { once: true })
  }

  /** Name of the run in messages. */
  get who(): string {
    return this.taskId === null ? `slot ${this.slotId}` : `slot ${this.slotId}, task "${this.taskId}"`
  }

  get isOutside(): boolean {
    return !this.hasEnded && this.#open.size === 0 && (!this.isOverdue || this.#deps.faults.allows('signal'))
  }

  /** Description of the latest call, for messages. */
  get lastCall(): string {
    const last = this.#calls.at(-1)?.record
    if (last === undefined) return 'it has not called its context'
    const args = last.args.map((arg) => this.#deps.masker.text(shown(arg))).join(', ')
    return `its last call was ${last.call}(${args}), at ${last.atSeconds} s`
  }

  /** Called at each turn of the event loop: the run is not in an endless loop. */
  turned(): void {
    this.#callsThisTurn = 0
  }

  /** @returns what the run returned. */
  async around(run: Plugin): Promise<unknown> {
    try {
      const returned: unknown = await run(this.#watchedContext())
      this.#checkReturn()
      return returned
    } catch (error) {
      this.#keepSecret('its error', error instanceof Error ? error.message : error)
      throw error
    } finally {
      this.hasEnded = true
      this.#checkAwaited()
      this.#deps.nudge()
    }
  }

  /** Reports locks and calls that are still open. Not for a run that threw: the runtime releases them. */
  #checkReturn(): void {
    for (const what of this.#held)
      this.#deps.faults.add(
        'held',
        `${this.who}: ${what} is still held when run returns; release it, or take it with await using`,
      )
    // A sleep may have lost a race.
    const waiting = this.#calls.filter(({ record, answered }) => this.#open.has(answered) && record.call !== 'sleep')
    for (const { record, promise } of waiting)
      if (promise.wasAwaited)
        this.#deps.faults.add('unawaited', `${this.who}: ${record.call} was still under way when run returned`)
  }

  #checkAwaited(): void {
    for (const { record, promise } of this.#calls)
      if (!promise.wasAwaited)
        this.#deps.faults.add('unawaited', `${this.who}: ${record.call} was not awaited; await it before run returns`)
  }

  #stopRequested(): void {
    this.stopRequestedAtMs = this.#deps.realClock.monotonicMs()
  }

  /**
   * Reports that the run has not stopped in two real seconds. Every wait of the context ends with the signal, so it
   * waits for something else.
   */
  overdue(): void {
    if (this.hasEnded || this.isOverdue) return
    this.isOverdue = true
    const { why } = this.#context.signal.reason as { why?: unknown }
    this.#deps.faults.add(
      'signal',
      `${this.who}: run still runs ${toSeconds(STOP_WITHIN_MS)} s after its signal (why: ${String(why)}); ` +
        'pass signal on to what you wait for, and look at signal.aborted in loops',
    )
    this.#deps.onOverdue(this)
  }

  #watchedContext(): BatchContext & Context {
    const context = this.#context
    const { kv, counter, lock, bus } = context
    const watched = {
      slotId: context.slotId,
      signal: context.signal,
      metrics: context.metrics,
      now: context.now,
      log: this.#watchedLog(context.log),
      get config() {
        return context.config
      },
      emit: this.#watched('emit', async (output: Parameters<Context['emit']>[0]) => this.#emit(output)),
      kv: {
        get: this.#watched('kv.get', kv.get),
        set: this.#watched('kv.set', kv.set),
        delete: this.#watched('kv.delete', kv.delete),
      },
      counter: { add: this.#watched('counter.add', counter.add), get: this.#watched('counter.get', counter.get) },
      lock: {
        acquire: this.#watched(
          'lock.acquire',
          async (name: string, options: { holdSeconds: number }) =>
            this.#hold('lock', name, `lock "${name}"`, await lock.acquire(name, options)),
          withoutFunctions,
        ),
      },
      pool: (name: never) => this.#watchedPool(name),
      bus: {
        publish: this.#watched('bus.publish', bus.publish),
        subscribe: (topic: string) => this.#watchedSubscription(topic, bus.subscribe(topic)),
      },
      sleep: this.#watched('sleep', context.sleep),
      ...('task' in context && {
        task: Object.freeze({ ...context.task, extend: this.#watched('task.extend', context.task.extend) }),
      }),
    }
    return Object.freeze(watched) as unknown as BatchContext & Context
  }

  /**
   * Records each call. Calls in an endless loop without a wait never return, because nothing else could run otherwise.
   */
  #watched<A extends readonly unknown[], R>(
    call: CallName,
    work: (...args: A) => Promise<R>,
    show: (result: R) => unknown = (result) => result,
    named: readonly unknown[] = [],
  ): (...args: A) => Promise<R> {
    return (...args) => {
      const { calls, faults, time } = this.#deps
      const record: OpenCall['record'] = {
        call,
        args: [...named, ...args],
        slotId: this.slotId,
        taskId: this.taskId,
        atSeconds: toSeconds(time.monotonicMs()),
      }
      calls.push(record)
      if (this.hasEnded) faults.add('unawaited', `${this.who}: ${call} was called after run had ended`)
      const answered = this.#isEndless() ? new Promise<R>(() => {}) : work(...args)
      answered.then(
        (result) => {
          if (result !== undefined) record.result = show(result)
        },
        (error: unknown) => void (record.error = String(error instanceof Error ? error.message : error)),
      )
      const promise = TrackedPromise.of(this.#inside(answered))
      this.#calls.push({ record, answered, promise })
      return promise
    }
  }

  #isEndless(): boolean {
    this.#callsThisTurn += 1
    if (this.#callsThisTurn <= MAX_CALLS_A_TURN) return false
    this.#deps.onStuck(
      `${this.who}: run made ${MAX_CALLS_A_TURN} calls of its context and never waited; ` +
        'a loop needs a sleep, or an end when signal.aborted',
    )
    return true
  }

  /** Lets virtual time advance while `waiting` is pending. */
  #inside<T>(waiting: Promise<T>): Promise<T> {
    this.#open.add(waiting)
    const seen = (): void => {
      this.#open.delete(waiting)
      this.lastSeenMs = this.#deps.realClock.monotonicMs()
      this.#deps.nudge()
    }
    waiting.then(seen, seen)
    this.#deps.nudge()
    return waiting
  }

  async #emit(output: Parameters<Context['emit']>[0]): Promise<void> {
    this.#keepSecret('an output', output)
    try {
      await this.#context.emit(output)
    } catch (error) {
      if (error instanceof TypeError || error instanceof RangeError)
        this.#deps.faults.add('output', `${this.who}: ${error.message}`)
      throw error
    }
  }

  #watchedLog(log: SlotLog): SlotLog {
    const level =
      (name: keyof SlotLog) =>
      (message: string, fields?: object): void => {
        this.#keepSecret('a log line', [message, fields])
        this.#deps.asAutomation(() => log[name](message, fields))
      }
    return { debug: level('debug'), info: level('info'), warn: level('warn'), error: level('error') }
  }

  #watchedPool(name: never): object {
    const pool = this.#context.pool(name)
    const claim = async (options: Parameters<typeof pool.claim>[0]) => {
      const lease = await pool.claim(options)
      return this.#hold('pool', name, lease === null ? '' : `item "${lease.id}" of pool "${String(name)}"`, lease)
    }
    return {
      put: this.#watched('pool.put', pool.put, undefined, [name]),
      claim: this.#watched('pool.claim', claim, withoutFunctions, [name]),
    }
  }

  /** Tracks a lock or claim until it is released. */
  #hold<H extends Holding>(kind: 'lock' | 'pool', name: string, what: string, holding: H | null): H | null {
    if (holding === null) return null
    this.#held.add(what)
    const letGo = (call: CallName, by: () => PromiseLike<void>) =>
      this.#watched(
        call,
        async () => {
          this.#held.delete(what)
          await by()
        },
        undefined,
        [name],
      )
    const { remove } = holding
    return {
      ...holding,
      extend: this.#watched(`${kind}.extend`, holding.extend, undefined, [name]),
      release: letGo(`${kind}.release`, holding.release),
      ...(remove !== undefined && { remove: letGo('pool.remove', remove) }),
      [Symbol.asyncDispose]: letGo(`${kind}.release`, () => holding[Symbol.asyncDispose]()),
    }
  }

  #watchedSubscription(topic: string, messages: AsyncIterable<unknown>): AsyncIterable<unknown> {
    this.#deps.calls.push({
      call: 'bus.subscribe',
      args: [topic],
      slotId: this.slotId,
      taskId: this.taskId,
      atSeconds: toSeconds(this.#deps.time.monotonicMs()),
    })
    return {
      [Symbol.asyncIterator]: () => {
        const iterator = messages[Symbol.asyncIterator]()
        return {
          next: () => this.#inside(iterator.next()),
          return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
        }
      },
    }
  }

  #keepSecret(where: string, value: unknown): void {
    const secret = secretIn(value, this.#deps.masker)
    if (secret !== undefined)
      this.#deps.faults.add(
        'secret',
        `${this.who}: ${where} holds a secret of the config${secret === '' ? '' : `, at ${secret}`}`,
      )
  }
}

/** @returns the JSON pointer of the first text that contains a secret. */
function secretIn(value: unknown, masker: Masker, path = '', depth = 0): string | undefined {
  if (typeof value !== 'object' || value === null)
    return isDeepStrictEqual(masker.value(value), value) ? undefined : path
  if (value instanceof Error) return secretIn(value.message, masker, path)
  if (depth > MAX_DEPTH) return undefined
  for (const [key, each] of Object.entries(value)) {
    const found = secretIn(each, masker, `${path}/${key}`, depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}
/** The maximum depth of a JSON document on the wire. */
const MAX_DEPTH = 64

function withoutFunctions(value: object | null): object | null {
  return value === null
    ? null
    : Object.fromEntries(Object.entries(value).filter(([, each]) => typeof each !== 'function'))
}

const MAX_SHOWN_CHARS = 60
function shown(value: unknown): string {
  const text = inspect(value, { breakLength: Infinity, depth: 2 })
  return text.length <= MAX_SHOWN_CHARS ? text : `${text.slice(0, MAX_SHOWN_CHARS)}…`
}
