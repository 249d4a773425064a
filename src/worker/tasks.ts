/**
 * @module worker/tasks
 * Reserves tasks for all batch slots, and hands them to waiting slots in the order in which they called `take`.
 *
 *   take ─▶ waiting ◀── hand out ── tasks of tasks.reserve {limit: waiting + prefetch} ──▶ ready ──take──▶ slot
 *                                                   ready for 2 s, or more than can be prefetched ──▶ released
 *
 * If the master offers it, the reserve is a stream (D125): tasks arrive one by one, and the next stream replaces it
 * when less than half of the wanted tasks may still arrive. So a reserve always waits at the master. Otherwise it is a
 * long poll, and one is in flight at a time. Streams are not used for 10 minutes after none of their lines arrived
 * within 5 s (a proxy buffers responses), and for 60 s after a master rejected one. Until the first line of any stream
 * has arrived, a stream asks for one task, because such a proxy would keep its tasks.
 *
 * An empty response before the poll's timeout (worker draining, master overloaded) is followed by a pause, as is a
 * failure. `stop` reserves nothing more, and releases leases without a slot, including those of the last call.
 */
import type { AppliedConfig, TaskLease, TaskSource } from '../automation/index.ts'
import {
  MAX_RESERVED_PER_CALL,
  MAX_WAIT_MS,
  type ReservedTask,
  type RpcError,
  type RpcParams,
} from '../protocol/index.ts'
import { Backoff, type Cancel, type Clock, type Log, type Random, type Timers } from '../runtime/index.ts'
import type { HeldLease } from './lease.ts'
import type { CallRpc, Leases } from './leases.ts'
import type { MasterFeatures } from './master-features.ts'
import { Prefetch } from './prefetch.ts'
import { asRpcError, requestedDelayMs, type RpcClient } from './rpc-client.ts'

/** Below the master's 30 s, so that the response is sent before a proxy closes the connection. */
const WAIT_MS = Math.min(25_000, MAX_WAIT_MS)
/** The long poll, plus the delay of a slow network. */
const CALL_MS = WAIT_MS + 10_000
/** An empty response within this time means that the master did not wait. */
const EARLY_MS = 1_000
const PAUSE_BASE_MS = 200
const PAUSE_CAP_MS = 5_000
/** A prefetched lease that no slot takes within this time is released for other workers. */
const READY_MS = 2_000
const FIRST_LINE_MS = 5_000
const NO_STREAM_BEHIND_PROXY_MS = 600_000

interface Waiter {
  readonly give: (lease: HeldLease | null) => void
}
interface Ready {
  readonly lease: HeldLease
  readonly sinceMs: number
}

export interface TaskFeedDeps {
  readonly clock: Clock
  readonly timers: Timers
  readonly random: Random
  readonly log: Log
  readonly rpc: CallRpc & Pick<RpcClient, 'stream'>
  readonly features: Pick<MasterFeatures, 'drop' | 'has'>
  readonly leases: Leases
  readonly config: () => AppliedConfig
  readonly registerAgain: (why: string) => void
}

export class TaskFeed implements TaskSource {
  readonly #deps: TaskFeedDeps
  readonly #pause: Backoff
  readonly #prefetch: Prefetch
  readonly #waiting = new Set<Waiter>()
  #ready: Ready[] = []
  #slots = 0
  readonly #calls = new Set<Promise<void>>()
  /** The newest stream, and how many tasks may still arrive on it; undefined if none is open. */
  #stream: { left: number } | undefined
  /** Lines of a stream have arrived before. */
  #hasStreamed = false
  #cancelNext: Cancel | undefined
  #cancelReady: Cancel | undefined
  #stopped = false
  /**
   * Identifies the polls of this worker, so that the master recognises one whose connection was lost (D78). Undefined
   * for a master that does not support it.
   */
  #pollId: string | undefined
  readonly #abort = new AbortController()

  constructor(deps: TaskFeedDeps) {
    this.#deps = deps
    this.#pause = new Backoff({ baseMs: PAUSE_BASE_MS, capMs: PAUSE_CAP_MS, floor: 0.5, random: deps.random })
    this.#prefetch = new Prefetch(deps.clock.monotonicMs())
    this.#pollId = deps.random.uuid()
  }

  /** Whether a reserve is under way, which may still bring tasks. */
  get isReserving(): boolean {
    return this.#calls.size > 0
  }

  /** @param slots Number of slots to reserve for. */
  setSlots(slots: number): void {
    this.#slots = slots
    for (const { lease } of this.#ready.splice(Prefetch.maxFor(slots))) lease.release()
  }

  take(stopping: AbortSignal): Promise<TaskLease | null> {
    if (stopping.aborted) return Promise.resolve(null)
    this.#prefetch.taken()
    const ready = this.#nextReady()
    const taken = ready === undefined ? this.#wait(stopping) : Promise.resolve(ready)
    this.#schedule()
    return taken
  }

  /** Stops reserving. A call in flight has `graceMs` to return. Resolves when it has ended. */
  async stop(graceMs: number): Promise<void> {
    this.#stopped = true
    this.#cancelNext?.()
    this.#cancelReady?.()
    for (const { lease } of this.#ready.splice(0)) lease.release()
    const cancel = this.#deps.timers.after(graceMs, () => this.#abort.abort(new Error('the worker is stopping')))
    this.#endStream()
    await Promise.all(this.#calls)
    cancel()
  }

  /**
   * Skips leases older than READY_MS even if the timer that releases them is late: after a suspended process resumes,
   * they may have expired.
   */
  #nextReady(): HeldLease | undefined {
    const before = this.#deps.clock.monotonicMs() - READY_MS
    for (let next = this.#ready.shift(); next !== undefined; next = this.#ready.shift()) {
      if (next.sinceMs > before && !next.lease.isLost) return next.lease
      next.lease.release()
    }
    return undefined
  }

  #wait(stopping: AbortSignal): Promise<TaskLease | null> {
    return new Promise((resolve) => {
      const give = (lease: HeldLease | null): void => {
        this.#waiting.delete(waiter)
        stopping.removeEventListener('abort', leave)
        resolve(lease)
      }
      const leave = (): void => give(null)
      const waiter: Waiter = { give }
      this.#waiting.add(waiter)
      stopping.addEventListener('abort', leave, { once: true })
    })
  }

  /**
   * Reserves at the end of this turn, so that one limit counts all slots that become free together. The reserve is sent
   * before the outcomes of the finished tasks (outcome-queue.ts). The master looks the worker up meanwhile, and can
   * store the outcomes and the new leases in one commit.
   */
  #schedule(ms = 0): void {
    if (this.#stopped || this.#cancelNext !== undefined) return
    if (this.#calls.size > (this.#stream === undefined ? 0 : 1)) return
    if (ms === 0 && !this.#isShort()) return
    this.#cancelNext =
      ms === 0 ? atEndOfTurn(() => this.#startReserve()) : this.#deps.timers.after(ms, () => this.#startReserve())
  }

  #startReserve(): void {
    this.#cancelNext = undefined
    if (!this.#isShort()) return
    const mayStream = this.#pollId !== undefined && this.#deps.features.has('stream')
    const call = (mayStream ? this.#reserveStream() : this.#reserve()).then((pauseMs) => {
      this.#calls.delete(call)
      this.#schedule(pauseMs)
    })
    this.#calls.add(call)
  }

  #isShort(): boolean {
    const depth = this.#prefetch.depth(this.#slots)
    const isShort = this.#waiting.size > 0 || (depth > 0 && this.#ready.length <= depth / 2)
    return isShort && (this.#stream === undefined || this.#stream.left < this.#wanted / 2)
  }

  /** Number of tasks to reserve. */
  get #wanted(): number {
    const wanted = this.#waiting.size + this.#prefetch.depth(this.#slots) - this.#ready.length
    return Math.min(MAX_RESERVED_PER_CALL, Math.max(1, wanted))
  }

  /**
   * Opens a stream, which replaces the one before; never rejects. @returns how long to wait before the next reserve, in
   * milliseconds.
   */
  async #reserveStream(): Promise<number> {
    const { clock, features, log, rpc } = this.#deps
    const limit = this.#hasStreamed ? this.#wanted : 1
    const stream = { left: limit }
    this.#stream = stream
    const startMs = clock.monotonicMs()
    const onTasks = (tasks: readonly ReservedTask[]): void => {
      if (stream.left === limit && tasks.length > 0)
        this.#prefetch.recordResponse(clock.monotonicMs(), clock.monotonicMs() - startMs, tasks.length >= limit)
      stream.left = Math.max(0, stream.left - tasks.length)
      this.#handOut(tasks)
      this.#schedule()
    }
    const onAlive = (): void => {
      this.#hasStreamed = true
      this.#schedule()
    }
    try {
      await rpc.stream(this.#params(limit, WAIT_MS), {
        onTasks,
        onAlive,
        firstLineMs: FIRST_LINE_MS,
        signal: this.#abort.signal,
      })
      const isReplaced = this.#stream !== stream
      if (!isReplaced && stream.left === limit && clock.monotonicMs() - startMs < EARLY_MS) return this.#pause.nextMs()
      this.#pause.reset()
      return 0
    } catch (error) {
      const failure = asRpcError(error)
      if (failure.data['isSilent'] === true) {
        log.warn('streams of tasks do not arrive, using long polls for 10 minutes: a proxy may buffer responses')
        features.drop('stream', NO_STREAM_BEHIND_PROXY_MS)
        return 0
      }
      if (failure.code !== 'invalid_params') return this.#failed(failure)
      features.drop('stream')
      return 0
    } finally {
      if (this.#stream === stream) this.#stream = undefined
    }
  }

  #params(limit: number, waitMs: number): RpcParams<'tasks.reserve'> {
    return { limit, wait_ms: waitMs, ...(this.#pollId !== undefined && { poll_id: this.#pollId }) }
  }

  /** Ends the open stream with a poll that replaces it and does not wait. */
  #endStream(): void {
    if (this.#stream === undefined) return
    this.#stream = undefined
    const call = this.#reserve({ limit: 1, waitMs: 0 }).then(() => void this.#calls.delete(call))
    this.#calls.add(call)
  }

  /** Sends one long poll; never rejects. @returns how long to wait before the next one, in milliseconds. */
  async #reserve({ limit = this.#wanted, waitMs = WAIT_MS } = {}): Promise<number> {
    const { clock, rpc } = this.#deps
    const startMs = clock.monotonicMs()
    try {
      const { tasks } = await rpc.call('tasks.reserve', this.#params(limit, waitMs), {
        timeoutMs: CALL_MS,
        signal: this.#abort.signal,
      })
      const tookMs = clock.monotonicMs() - startMs
      this.#prefetch.recordResponse(clock.monotonicMs(), tookMs, tasks.length >= limit)
      this.#handOut(tasks)
      if (tasks.length === 0 && tookMs < EARLY_MS) return this.#pause.nextMs()
      this.#pause.reset()
      return 0
    } catch (error) {
      return this.#failed(asRpcError(error))
    }
  }

  #failed(error: RpcError): number {
    if (this.#stopped) return 0
    if (error.code === 'invalid_params' && this.#pollId !== undefined) {
      this.#pollId = undefined
      return 0
    }
    if (error.code === 'unknown_worker') this.#deps.registerAgain('the master has no record of this worker')
    const waitMs = Math.max(this.#pause.nextMs(), requestedDelayMs(error, this.#deps.random))
    this.#deps.log.warn('failed to reserve tasks, retrying', {
      error: error.message,
      retry_in_ms: Math.round(waitMs),
    })
    return waitMs
  }

  #handOut(tasks: readonly ReservedTask[]): void {
    const config = this.#deps.config()
    const sinceMs = this.#deps.clock.monotonicMs()
    let isTooMany = false
    for (const task of tasks) {
      const lease = this.#deps.leases.hold(task, config)
      const [waiter] = this.#waiting
      if (this.#stopped) lease.release()
      else if (waiter !== undefined) waiter.give(lease)
      else if (this.#ready.length < Prefetch.maxFor(this.#slots)) this.#ready.push({ lease, sinceMs })
      else {
        lease.release()
        isTooMany = true
      }
    }
    if (isTooMany) this.#endStream() // There are fewer slots than when it was opened.
    this.#watchReady()
  }

  #watchReady(): void {
    const oldest = this.#ready[0]
    if (oldest === undefined || this.#cancelReady !== undefined) return
    this.#cancelReady = this.#deps.timers.after(oldest.sinceMs + READY_MS - this.#deps.clock.monotonicMs(), () => {
      this.#cancelReady = undefined
      const before = this.#deps.clock.monotonicMs() - READY_MS
      const fresh = this.#ready.findIndex(({ sinceMs }) => sinceMs > before)
      for (const { lease } of this.#ready.splice(0, fresh === -1 ? this.#ready.length : fresh)) lease.release()
      this.#watchReady()
    })
  }
}

/** Runs `task` after everything that is ready to run in this turn of the event loop. */
function atEndOfTurn(task: () => void): Cancel {
  let cancelled = false
  process.nextTick(() => {
    if (!cancelled) task()
  })
  return () => {
    cancelled = true
  }
}
