/**
 * @module operator/fleet/breaker
 * Implements the circuit breaker for calls to the master. There is one for the whole master:
 *
 *   closed ──5 consecutive failures, or 10 of the last 20 calls in 10 s──▶ MasterUnreachable ──probe──▶ closed
 *     └──no token is accepted──▶ Unauthorized ──token file changed, or 60 s: GET /me──▶ closed
 *
 * While the breaker is open, only two kinds of calls are sent: the probe, every 2 to 15 s, and reconnects of the feed,
 * which count as one call. A failure is a call without a response, a 429 or a 5xx, with or without `Retry-After`. Any
 * other refusal is a response (D67). No probe is sent before the time that `Retry-After` requests, at most 30 s. The
 * probe keeps its interval until the breaker has stayed closed for a while, so a master that is ready but fails every
 * call is not overloaded.
 */
import { Backoff, Signal, type Clock, type Random, type Timers } from '../../runtime/index.ts'

const FAILURES_IN_A_ROW = 5
const WINDOW_CALLS = 20
const WINDOW_FAILURES = 10
const WINDOW_MS = 10_000
const PROBE_BASE_MS = 2_000
const PROBE_CAP_MS = 15_000
const STAYED_CLOSED_MS = 30_000

export type OpenReason = 'MasterUnreachable' | 'Unauthorized'

export interface BreakerDeps {
  readonly clock: Clock
  readonly timers: Timers
  readonly random: Random
  /** Checks whether the master serves requests again. Never rejects. */
  readonly probe: (why: OpenReason, signal: AbortSignal) => Promise<boolean>
  /** Called after each transition. `null`: closed. */
  readonly onTurn: (reason: OpenReason | null) => void
}

interface EndedCall {
  readonly atMs: number
  readonly hasFailed: boolean
}

export class Breaker {
  readonly #deps: BreakerDeps
  readonly #backoff: Backoff
  readonly #turns: Signal
  #reason: OpenReason | null = null
  #turnedMs: number
  /** When the current run of failures began. `undefined`: the last call succeeded. */
  #failingSinceMs: number | undefined
  #calls: readonly EndedCall[] = []
  /** The time that the last refusals request. No probe is sent before. */
  #notBeforeMs = -Infinity

  constructor(deps: BreakerDeps) {
    this.#deps = deps
    this.#backoff = new Backoff({ baseMs: PROBE_BASE_MS, capMs: PROBE_CAP_MS, floor: 0.5, random: deps.random })
    this.#turns = new Signal(deps.timers)
    this.#turnedMs = deps.clock.monotonicMs()
  }

  get reason(): OpenReason | null {
    return this.#reason
  }

  /** How long the master has failed every call, in milliseconds. 0 while it responds. */
  get unavailableMs(): number {
    return this.#failingSinceMs === undefined ? 0 : this.#deps.clock.monotonicMs() - this.#failingSinceMs
  }

  /**
   * Records the end of a call that was sent while the breaker was closed. @param waitMs the wait that a refusal
   * requests; 0 without one.
   */
  ended(failed: boolean, waitMs = 0): void {
    if (waitMs > 0) this.#notBeforeMs = Math.max(this.#notBeforeMs, this.#deps.clock.monotonicMs() + waitMs)
    if (this.#reason !== null) return // A response that was still in flight. The probe decides.
    const nowMs = this.#deps.clock.monotonicMs()
    if (!failed) this.#failingSinceMs = undefined
    else this.#failingSinceMs ??= nowMs
    if (!failed && nowMs - this.#turnedMs >= STAYED_CLOSED_MS) this.#backoff.reset()
    this.#calls = [...this.#calls, { atMs: nowMs, hasFailed: failed }].slice(-WINDOW_CALLS)
    if (failed && this.#isEnough(nowMs)) this.open('MasterUnreachable')
  }

  open(reason: OpenReason): void {
    if (this.#reason === reason) return
    this.#failingSinceMs ??= this.#deps.clock.monotonicMs()
    this.#turn(reason)
  }

  close(): void {
    this.#failingSinceMs = undefined
    if (this.#reason !== null) this.#turn(null)
  }

  /** Probes while it is open. Resolves when the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const reason = this.#reason
      await this.#turns.wait(signal, reason === null ? Infinity : this.#probeInMs())
      if (reason === null || this.#reason !== reason || signal.aborted) continue
      const isBack = await this.#deps.probe(reason, signal)
      if (isBack && this.#reason === reason) this.close()
    }
  }

  /** Resolves when the breaker is closed, or the signal aborts. */
  async closed(signal: AbortSignal): Promise<void> {
    while (this.#reason !== null && !signal.aborted) await this.#turns.wait(signal)
  }

  #probeInMs(): number {
    return Math.max(this.#backoff.nextMs(), this.#notBeforeMs - this.#deps.clock.monotonicMs())
  }

  #isEnough(nowMs: number): boolean {
    const inARow = this.#calls.slice(-FAILURES_IN_A_ROW)
    if (inARow.length === FAILURES_IN_A_ROW && inARow.every(({ hasFailed }) => hasFailed)) return true
    const failures = this.#calls.filter(({ atMs, hasFailed }) => hasFailed && nowMs - atMs < WINDOW_MS)
    return this.#calls.length === WINDOW_CALLS && failures.length >= WINDOW_FAILURES
  }

  #turn(reason: OpenReason | null): void {
    this.#reason = reason
    this.#turnedMs = this.#deps.clock.monotonicMs()
    this.#calls = []
    this.#deps.onTurn(reason)
    this.#turns.notify()
  }
}
