/**
 * @module operator/kube/controller
 * Runs a reconcile for every key of the queue, at most 16 concurrently and never two for one key. A reconcile that
 * throws is retried with backoff; its key is never lost.
 *
 * A reconcile without I/O continues with the next one in the same turn of the event loop. A round over ten thousand of
 * them would block the lease renewal for seconds. So work is cut into time slices, one for all 16 per turn of the event
 * loop.
 */
import { sleep, type Clock, type Log, type Timers } from '../../runtime/index.ts'
import type { ObjectKey } from './objects.ts'
import type { ReconcileOutcome, WorkQueue } from './work-queue.ts'

export const MAX_CONCURRENT_RECONCILES = 16
const SLICE_MS = 5

/** The result names of controller-runtime. */
export type ReconcileResult = 'success' | 'requeue_after' | 'requeue' | 'error'

export interface ControllerObserver {
  readonly onStart: () => void
  readonly onEnd: (result: ReconcileResult, ranMs: number, isTerminal: boolean) => void
}

export interface ControllerDeps {
  readonly queue: WorkQueue
  readonly clock: Clock
  readonly timers: Timers
  readonly log: Log
  readonly reconcile: (key: ObjectKey, signal: AbortSignal) => Promise<ReconcileOutcome>
  readonly observer?: ControllerObserver
}

export class Controller {
  readonly #deps: ControllerDeps
  #finishedMs: number
  /** When the current slice began. */
  #sliceMs: number
  /** Set at the end of a slice: resolves with the next turn of the event loop. */
  #turn: Promise<void> | undefined

  constructor(deps: ControllerDeps) {
    this.#deps = deps
    this.#finishedMs = this.#sliceMs = deps.clock.monotonicMs()
  }

  /** When a reconcile last ended, by the monotonic clock; initially the time of creation. */
  get finishedMs(): number {
    return this.#finishedMs
  }

  /** Resolves once the signal has aborted and every reconcile has ended. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(Array.from({ length: MAX_CONCURRENT_RECONCILES }, () => this.#work(signal)))
  }

  async #work(signal: AbortSignal): Promise<void> {
    for (;;) {
      const key = await this.#deps.queue.take(signal).catch(() => undefined) // Rejects only when the signal aborts.
      if (key === undefined) return
      await this.#reconcile(key, signal)
      await this.#pause(signal)
    }
  }

  async #pause(signal: AbortSignal): Promise<void> {
    if (this.#deps.clock.monotonicMs() - this.#sliceMs >= SLICE_MS) this.#turn ??= this.#nextTurn(signal)
    await this.#turn
  }

  async #nextTurn(signal: AbortSignal): Promise<void> {
    const { clock, timers } = this.#deps
    await sleep(timers, 0, signal)
    this.#sliceMs = clock.monotonicMs()
    this.#turn = undefined
  }

  async #reconcile(key: ObjectKey, signal: AbortSignal): Promise<void> {
    const { clock, log, observer, queue, reconcile } = this.#deps
    const startedMs = clock.monotonicMs()
    observer?.onStart()
    let outcome: ReconcileOutcome = { kind: 'retry' }
    let result: ReconcileResult = 'error'
    try {
      outcome = await reconcile(key, signal)
      result = resultOf(outcome)
    } catch (error) {
      if (!signal.aborted) log.error('a reconcile failed, retrying', { key, error })
    } finally {
      this.#finishedMs = clock.monotonicMs()
      observer?.onEnd(result, this.#finishedMs - startedMs, outcome.kind === 'terminal')
      queue.done(key, outcome)
    }
  }
}

function resultOf(outcome: ReconcileOutcome): ReconcileResult {
  if (outcome.kind === 'terminal') return 'error'
  if (outcome.kind === 'ok') return outcome.againAfterMs === undefined ? 'success' : 'requeue_after'
  return outcome.afterMs === undefined ? 'requeue' : 'requeue_after'
}
