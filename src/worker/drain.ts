/**
 * @module worker/drain
 * The end of a worker, in three forms (D53, D95). A later form of this list overrides an earlier one.
 *
 *   drain frame   nothing new; tasks in flight finish, however long they take
 *   SIGTERM       the same with a deadline: what runs after `SVC_DRAIN_TIMEOUT_SECONDS` is interrupted, its task released
 *   crash         the same with a deadline of 0: an uncaught exception left the process in an unknown state
 *
 *   draining ─▶ slots gone ─▶ all leases given back ─▶ settles answered ─▶ outputs sent ─▶ sockets closed ─▶ over
 *
 * Continuous slots are told at once and have that many seconds in both. A SIGTERM during a drain adds its deadline.
 * After the slots the rest has a bound as well, below the 15 s that a pod's grace period leaves for it: a master that
 * is away keeps no worker alive.
 */
import type { Cancel, Log, Timers } from '../runtime/index.ts'

/** By the drain frame: the master reserves nothing for us any more; an answer may still be on its way. */
const LAST_RESERVE_MS = 1_000
/** By SIGTERM nobody has told it, but a queue with tasks in it answers at once. Cut off, such an answer would cost each of its tasks a lost lease. */
const RESPONSE_IN_FLIGHT_MS = 250
/** After SIGTERM and its deadline: for the last settles. */
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
  /** Ends what is left: sockets and timers. */
  readonly close: () => Promise<void>
}

export class Drain {
  readonly #deps: DrainDeps
  #over: Promise<void> | undefined
  #form: DrainForm | undefined
  #cancels: Cancel[] = []
  readonly #hurry = new AbortController()

  constructor(deps: DrainDeps) {
    this.#deps = deps
  }

  get hasBegun(): boolean {
    return this.#form !== undefined
  }

  /** Begins, or hastens, the end; the same promise each time, resolved when the worker is over. Never rejects. */
  begin(form: DrainForm, why: string): Promise<void> {
    const { drainTimeoutMs, log, slots, timers } = this.#deps
    const isMoreUrgent = this.#form === undefined || URGENCY[form] > URGENCY[this.#form]
    if (isMoreUrgent && form !== 'drain') {
      const deadlineMs = form === 'crash' ? 0 : drainTimeoutMs
      this.#cancels.push(
        timers.after(deadlineMs, () => slots.kill('shutdown')),
        timers.after(deadlineMs + LAST_SETTLES_MS, () => this.#hurry.abort()),
      )
    }
    if (isMoreUrgent) this.#form = form
    if (this.#over === undefined) log.info('worker draining: taking no new tasks', { why })
    this.#over ??= this.#run(form).catch((error: unknown) => log.error('drain failed', { error }))
    return this.#over
  }

  async #run(form: DrainForm): Promise<void> {
    const { close, feed, leases, log, outbox, outcomes, slots, timers, visibilityMs } = this.#deps
    await Promise.all([
      feed.stop(form === 'drain' ? LAST_RESERVE_MS : RESPONSE_IN_FLIGHT_MS),
      slots.drain(form === 'drain' ? 'drain' : 'shutdown'),
    ])
    leases.releaseAll()
    leases.stop()
    // Without extension each lease is over by then, and a settle has nothing left to say.
    this.#cancels.push(timers.after(visibilityMs, () => this.#hurry.abort()))
    if (!(await finished(outcomes.idle(), this.#hurry.signal)))
      log.error(
        'task outcomes could not be delivered before the deadline: the tasks return to the queue when their leases expire',
      )
    const late = new AbortController()
    this.#cancels.push(timers.after(LAST_OUTPUTS_MS, () => late.abort()))
    if (!(await finished(outbox.idle(), late.signal)))
      log.warn('outputs could not be sent before the deadline and are lost')
    for (const cancel of this.#cancels) cancel()
    await close()
    log.info('worker stopped')
  }
}

/** Whether `work` ends before `signal` aborts. */
async function finished(work: Promise<void>, signal: AbortSignal): Promise<boolean> {
  const aborted = new Promise<false>((resolve) => {
    if (signal.aborted) resolve(false)
    else signal.addEventListener('abort', () => resolve(false), { once: true })
  })
  return Promise.race([work.then(() => true as const), aborted])
}
