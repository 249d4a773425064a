/**
 * @module automation/make-context
 * Creates the context of one run from the dependencies of its slot. Converts seconds to milliseconds and masks secrets
 * in the log. At the end of the run, it stops renewals, releases locks and claims, ends subscriptions, and rejects
 * later calls.
 */
import { toMs, type RpcMethod, type RpcParams, type RpcResult } from '../protocol/index.ts'
import type { CatalogEntry } from './catalog.ts'
import type { BatchContext, Context, Lock, SlotLog } from './context.ts'
import { LeaseLost } from './errors.ts'
import { AutoRenewedLease, holdMsOf } from './auto-renewed-lease.ts'
import type { Masker } from './mask.ts'
import { makePool, type PoolDeps } from './make-pool.ts'
import { progressText } from './progress.ts'
import { follow, type Follower } from './signals.ts'
import type { AppliedConfig, SlotDeps, TaskLease } from './slot.ts'

export interface RunDeps {
  readonly entry: CatalogEntry
  readonly slotId: number
  readonly slot: SlotDeps
  readonly signal: AbortSignal
  readonly masker: Masker
}

export interface Run<C> {
  readonly context: C
  /** Call this when the run has ended or is abandoned. */
  readonly end: () => void
}

/** The error of a call after the end of its run. */
const ENDED = new Error('the run has ended; await every call before you return')

/** Maximum number of faults that the error of an invalid output lists. */
const FAULTS_NAMED = 5

/** Creates the context of a continuous run. @param config returns the newest applied config. */
export function makeContext(deps: RunDeps, config: () => AppliedConfig): Run<Context> {
  const scope = new Scope(deps, null)
  const get = (): AppliedConfig => {
    const newest = config()
    deps.masker.see(newest)
    return newest
  }
  const context = Object.defineProperty(contextOf(deps, scope), 'config', { get, enumerable: true }) as Context
  return { context: Object.freeze(context), end: () => scope.end() }
}

/**
 * Creates the context of a batch run. Its config is a plain value: an accessor would create a hidden class per context,
 * thousands per second.
 */
export function makeBatchContext(deps: RunDeps, lease: TaskLease): Run<BatchContext> {
  const scope = new Scope(deps, lease.id)
  const extend = scope.guarded(async () => {
    if (lease.isLost) throw new LeaseLost(`task ${lease.id} was lost`)
    await lease.extend()
  })
  const progress = (value: unknown): void => lease.report(progressText(value))
  const { id, payload, attempt, labels, groupKey, lastProgress } = lease
  const task = Object.freeze({ id, payload, attempt, labels, groupKey, lastProgress, extend, progress })
  return { context: Object.freeze({ ...contextOf(deps, scope), config: lease.config, task }), end: () => scope.end() }
}

function contextOf(deps: RunDeps, scope: Scope): Omit<Context, 'config'> {
  const { entry, slotId, slot, signal } = deps
  return {
    slotId,
    signal,
    emit: scope.guarded(async (output: unknown) => slot.emit(checkedOutput(entry, output), scope.taskId)),
    log: scope.log,
    metrics: slot.metrics,
    kv: {
      get: async (key) => (await scope.call('kv.get', { key })).value,
      set: async (key, value, { ttlSeconds } = {}) => {
        if (value === undefined) throw new TypeError('kv.set: undefined is not a value; delete the key instead')
        await scope.call('kv.set', { key, value, ...(ttlSeconds === undefined ? {} : { ttl_ms: toMs(ttlSeconds) }) })
      },
      delete: async (key) => void (await scope.call('kv.delete', { key })),
    },
    lock: { acquire: (name, options) => acquire(scope, name, options) },
    counter: {
      add: async (name, delta) => (await scope.call('counter.add', { name, delta })).value,
      get: async (name) => (await scope.call('counter.get', { name })).value,
    },
    pool: (name) => makePool(name, scope),
    bus: {
      publish: async (topic, message) => void (await scope.call('bus.publish', { topic, message })),
      subscribe: (topic) => slot.primitives.subscribe(topic, scope.signal),
    },
    sleep: (ms) => slot.timers.sleep(ms, signal),
    now: () => slot.clock.wallMs(),
  }
}

async function acquire(scope: Scope, name: string, options: { holdSeconds: number }): Promise<Lock | null> {
  const holdMs = holdMsOf(options)
  const sentAtMs = scope.monotonicMs()
  const response = await scope.call('lock.acquire', { name, hold_ms: holdMs })
  if (!response.acquired) return null
  const { token } = response
  const held = scope.hold(
    {
      what: `lock "${name}"`,
      extend: (ms) => scope.send('lock.extend', { name, token, hold_ms: ms }),
      release: () => scope.send('lock.release', { name, token }),
    },
    holdMs,
    sentAtMs,
  )
  return {
    token,
    extend: (next) => held.extend(next),
    release: () => held.release(),
    [Symbol.asyncDispose]: () => held.dispose(),
  }
}

function checkedOutput(entry: CatalogEntry, output: unknown) {
  if (typeof output !== 'object' || output === null || Array.isArray(output))
    throw new TypeError('emit takes an object')
  const faults = entry.validateOutput(output)
  if (faults.length === 0) return output as Parameters<SlotDeps['emit']>[0]
  const named = faults.slice(0, FAULTS_NAMED).map(({ path, message }) => `${path || 'the output'} ${message}`)
  throw new TypeError(`the output does not match the schema of ${entry.type}: ${named.join('; ')}`)
}

/** The state of one run: whether it has ended, and its locks and claims. */
class Scope implements PoolDeps {
  readonly entry: CatalogEntry
  readonly log: SlotLog
  readonly slotId: number
  readonly taskId: string | null
  readonly #slot: SlotDeps
  readonly #stopped: AbortSignal
  readonly #held = new Set<AutoRenewedLease>()
  #ended = false
  #subscriptions: { readonly run: AbortController; readonly either: Follower } | undefined

  constructor({ entry, slot, slotId, signal, masker }: RunDeps, taskId: string | null) {
    this.entry = entry
    this.slotId = slotId
    this.taskId = taskId
    this.log = maskedLog(slot.log, masker)
    this.#slot = slot
    this.#stopped = signal
  }

  /** Aborts when the run is stopped and when it ends. Created on first use, because most runs do not subscribe. */
  get signal(): AbortSignal {
    if (this.#subscriptions === undefined) {
      const run = new AbortController()
      if (this.#ended) run.abort(ENDED)
      this.#subscriptions = { run, either: follow(this.#stopped, run.signal) }
    }
    return this.#subscriptions.either.signal
  }

  monotonicMs(): number {
    return this.#slot.clock.monotonicMs()
  }

  /** A call by the run. Rejected after the run has ended. */
  readonly call = this.guarded(<M extends RpcMethod>(method: M, params: RpcParams<M>) => this.send(method, params))

  /** A call for a lock or claim. Its release may come after the end of the run. */
  async send<M extends RpcMethod>(method: M, params: RpcParams<M>): Promise<RpcResult<M>> {
    return this.#slot.primitives.call(method, params)
  }

  /** Tracks a lock or claim until the run ends. One that was granted after the end is released immediately. */
  hold(calls: ConstructorParameters<typeof AutoRenewedLease>[0], holdMs: number, sentAtMs: number): AutoRenewedLease {
    const held = new AutoRenewedLease(
      calls,
      holdMs,
      sentAtMs,
      { ...this.#slot, log: this.log },
      (ended) => void this.#held.delete(ended),
    )
    this.#held.add(held)
    if (this.#ended) void held.dispose()
    return held
  }

  /**
   * Wraps `work` so that it is rejected after the run has ended. Marks its rejection as handled: a call that the plugin
   * did not await must not end the process and all other slots.
   */
  guarded<A extends readonly unknown[], R>(work: (...args: A) => Promise<R>): (...args: A) => Promise<R> {
    return (...args) => {
      const done = this.#ended ? Promise.reject<R>(ENDED) : work(...args)
      done.catch((error: unknown) => this.log.debug('a call of the context failed', { error }))
      return done
    }
  }

  end(): void {
    this.#ended = true
    this.#subscriptions?.either.end()
    this.#subscriptions?.run.abort(ENDED)
    for (const held of this.#held) void held.dispose()
  }
}

function maskedLog(log: SlotLog, masker: Masker): SlotLog {
  const masked =
    (level: keyof SlotLog) =>
    (message: string, fields?: object): void => {
      const text = masker.value(message) as string
      if (fields === undefined) log[level](text)
      else log[level](text, masker.value(fields) as object)
    }
  return { debug: masked('debug'), info: masked('info'), warn: masked('warn'), error: masked('error') }
}
