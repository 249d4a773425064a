/**
 * @module worker/tasks
 * Reserves tasks for all batch slots with one long poll at a time, and hands them to waiting slots in the order in
 * which they called `take`.
 *
 *   take ─▶ waiting ◀── hand out ── result of tasks.reserve {limit: waiting + prefetch} ──▶ ready ──take──▶ slot
 *                                                          ready for 2 s, or more than can be prefetched ──▶ released
 *
 * One call is in flight at a time. An empty response before the poll's timeout (worker draining, master overloaded) is
 * followed by a pause, as is a failure. `stop` reserves nothing more, and releases leases without a slot, including
 * those of the last call.
 */
import type { AppliedConfig, TaskLease, TaskSource } from '../automation/index.ts'
import { MAX_RESERVED_PER_CALL, MAX_WAIT_MS, type ReservedTask, type RpcError } from '../protocol/index.ts'
import { Backoff, type Cancel, type Clock, type Log, type Random, type Timers } from '../runtime/index.ts'
import type { HeldLease } from './lease.ts'
import type { CallRpc, Leases } from './leases.ts'
import { Prefetch } from './prefetch.ts'
import { asRpcError, requestedDelayMs } from './rpc-client.ts'

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
  readonly rpc: CallRpc
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
  #calling: Promise<void> | undefined
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
    await this.#calling
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
    if (this.#stopped || this.#calling !== undefined || this.#cancelNext !== undefined) return
    if (ms === 0 && !this.#isShort()) return
    this.#cancelNext =
      ms === 0 ? atEndOfTurn(() => this.#startReserve()) : this.#deps.timers.after(ms, () => this.#startReserve())
  }

  #startReserve(): void {
    this.#cancelNext = undefined
    if (!this.#isShort()) return
    this.#calling = this.#reserve().then((pauseMs) => {
      this.#calling = undefined
      this.#schedule(pauseMs)
    })
  }

  #isShort(): boolean {
    const depth = this.#prefetch.depth(this.#slots)
    return this.#waiting.size > 0 || (depth > 0 && this.#ready.length <= depth / 2)
  }

  /** Sends one reserve; never rejects. @returns how long to wait before the next one, in milliseconds. */
  async #reserve(): Promise<number> {
    const { clock, rpc } = this.#deps
    const limit = Math.min(
      MAX_RESERVED_PER_CALL,
      Math.max(1, this.#waiting.size + this.#prefetch.depth(this.#slots) - this.#ready.length),
    )
    const startMs = clock.monotonicMs()
    try {
      const { tasks } = await rpc.call(
        'tasks.reserve',
        { limit, wait_ms: WAIT_MS, ...(this.#pollId !== undefined && { poll_id: this.#pollId }) },
        { timeoutMs: CALL_MS, signal: this.#abort.signal },
      )
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
    for (const task of tasks) {
      const lease = this.#deps.leases.hold(task, config)
      const [waiter] = this.#waiting
      if (this.#stopped) lease.release()
      else if (waiter !== undefined) waiter.give(lease)
      else if (this.#ready.length < Prefetch.maxFor(this.#slots)) this.#ready.push({ lease, sinceMs })
      else lease.release()
    }
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
