/**
 * @module worker/drain
 * Shuts a worker down in one of three forms (D53, D95). A form lower in this list overrides a higher one.
 *
 *   drain frame   takes no new tasks; tasks in flight finish, without a time limit
 *   SIGTERM       the same with a deadline: tasks that run longer than `SVC_DRAIN_TIMEOUT_SECONDS` are released
 *   crash         the same with a deadline of 0: an uncaught exception left the process in an unknown state
 *
 *   draining ─▶ slots ended ─▶ leases released ─▶ outcomes delivered ─▶ outputs sent ─▶ sockets closed ─▶ stopped
 *
 * Continuous slots are interrupted immediately and have the drain timeout to return. A SIGTERM during a drain adds its
 * deadline. The steps after the slots are bounded too, below the 15 s that the grace period of a pod leaves for them,
 * so an unreachable master cannot keep the worker running.
 */
import { aborted, type Cancel, type Log, type Timers } from '../runtime/index.ts'

/** After a drain frame the master leases no more tasks to this worker, but a response may still be in flight. */
const LAST_RESERVE_MS = 1_000
/**
 * The master does not know about a SIGTERM. Aborting a reserve whose response is in flight costs each of its tasks a
 * lost lease.
 */
const RESPONSE_IN_FLIGHT_MS = 250
/** Time for the last outcomes, after SIGTERM and its deadline. */
const LAST_SETTLES_MS = 6_000
const LAST_OUTPUTS_MS = 3_000

export type DrainForm = 'drain' | 'shutdown' | 'crash'
const URGENCY: Readonly<Record<DrainForm, number>> = { drain: 1, shutdown: 2, crash: 3 }

export interface DrainDeps {
  readonly timers: Timers
  readonly log: Log
  readonly drainTimeoutMs: number
  readonly visibilityMs: number
  readonly slots: { drain(why: DrainForm): Promise<void>; kill(why: 'shutdown'): void }
  readonly feed: { stop(graceMs: number): Promise<void> }
  readonly leases: { readonly size: number; releaseAll(): void; stop(): void }
  readonly outcomes: { idle(): Promise<void> }
  readonly outbox: { idle(): Promise<void> }
  /** Closes the remaining sockets and timers. */
  readonly close: () => Promise<void>
}

export class Drain {
  readonly #deps: DrainDeps
  #stopped: Promise<void> | undefined
  #form: DrainForm | undefined
  #cancels: Cancel[] = []
  readonly #outcomesDeadline = new AbortController()

  constructor(deps: DrainDeps) {
    this.#deps = deps
  }

  get hasBegun(): boolean {
    return this.#form !== undefined
  }

  /**
   * Starts the shutdown, or shortens it for a more urgent form. Never rejects. @returns the same promise for every
   * call, which resolves when the worker has stopped.
   */
  begin(form: DrainForm, why: string): Promise<void> {
    const { drainTimeoutMs, log, slots, timers } = this.#deps
    const isMoreUrgent = this.#form === undefined || URGENCY[form] > URGENCY[this.#form]
    if (isMoreUrgent && form !== 'drain') {
      const deadlineMs = form === 'crash' ? 0 : drainTimeoutMs
      this.#cancels.push(
        timers.after(deadlineMs, () => slots.kill('shutdown')),
        timers.after(deadlineMs + LAST_SETTLES_MS, () => this.#outcomesDeadline.abort()),
      )
    }
    if (isMoreUrgent) this.#form = form
    if (this.#stopped === undefined) log.info('worker draining: taking no new tasks', { why })
    this.#stopped ??= this.#run(form).catch((error: unknown) => log.error('drain failed', { error }))
    return this.#stopped
  }

  async #run(form: DrainForm): Promise<void> {
    const { close, feed, leases, log, outbox, outcomes, slots, timers, visibilityMs } = this.#deps
    await Promise.all([
      feed.stop(form === 'drain' ? LAST_RESERVE_MS : RESPONSE_IN_FLIGHT_MS),
      slots.drain(form === 'drain' ? 'drain' : 'shutdown'),
    ])
    leases.releaseAll()
    leases.stop()
    // Leases are not extended any more, so after this time every lease has expired and its outcome has no effect.
    this.#cancels.push(timers.after(visibilityMs, () => this.#outcomesDeadline.abort()))
    if (!(await finishesInTime(outcomes.idle(), this.#outcomesDeadline.signal)))
      log.error(
        'task outcomes could not be delivered before the deadline: ' +
          'the tasks return to the queue when their leases expire',
      )
    const late = new AbortController()
    this.#cancels.push(timers.after(LAST_OUTPUTS_MS, () => late.abort()))
    if (!(await finishesInTime(outbox.idle(), late.signal)))
      log.warn('outputs could not be sent before the deadline and are lost')
    for (const cancel of this.#cancels) cancel()
    await close()
    log.info('worker stopped')
  }
}

/** @returns whether `work` finishes before `signal` aborts. */
async function finishesInTime(work: Promise<void>, signal: AbortSignal): Promise<boolean> {
  return Promise.race([work.then(() => true), aborted(signal).then(() => false)])
}
