/**
 * @module operator/fleet/breaker
 * Whether the master is worth asking. One for the whole master:
 *
 *   closed ──5 failures in a row; 10 of the last 20 calls within 10 s──▶ MasterUnreachable ──probe──▶ closed
 *     └───────no token is taken──▶ Unauthorized ──the token file changed, or 60 s: who are we? ──▶ closed
 *
 * While it is open no call leaves but the probe, every 2 to 15 s, and the feed's own reconnects, which count as one. A
 * failure is a call that no master answered, a 429 or a 5xx, with or without `Retry-After`; any other refusal is an answer
 * (D67). While it is open no probe leaves before the time that `Retry-After` requests, which is at most 30 s. The probe keeps its pace until the breaker
 * has stayed closed for a while, so that a master that is ready and yet fails every call is not hammered.
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
  /** Asks whether the master serves us again. Never rejects. */
  readonly probe: (why: OpenReason, signal: AbortSignal) => Promise<boolean>
  /** Told at each turn; null: closed. */
  readonly onTurn: (reason: OpenReason | null) => void
}

interface Call {
  readonly atMs: number
  readonly failed: boolean
}

export class Breaker {
  readonly #deps: BreakerDeps
  readonly #backoff: Backoff
  readonly #turns: Signal
  #reason: OpenReason | null = null
  #turnedMs: number
  /** Since when nothing but failures came; undefined: the last call was answered. */
  #failingSinceMs: number | undefined
  #calls: readonly Call[] = []
  /** What the last refusals request: no probe leaves before. */
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

  /** How long the master has failed every call; 0 while it answers. */
  get unavailableMs(): number {
    return this.#failingSinceMs === undefined ? 0 : this.#deps.clock.monotonicMs() - this.#failingSinceMs
  }

  /** A call that left while the breaker was closed has ended. @param waitMs what a refusal requests to wait; 0: nothing. */
  ended(failed: boolean, waitMs = 0): void {
    if (waitMs > 0) this.#notBeforeMs = Math.max(this.#notBeforeMs, this.#deps.clock.monotonicMs() + waitMs)
    if (this.#reason !== null) return // An answer that was on its way; the probe decides.
    const nowMs = this.#deps.clock.monotonicMs()
    if (!failed) this.#failingSinceMs = undefined
    else this.#failingSinceMs ??= nowMs
    if (!failed && nowMs - this.#turnedMs >= STAYED_CLOSED_MS) this.#backoff.reset()
    this.#calls = [...this.#calls, { atMs: nowMs, failed }].slice(-WINDOW_CALLS)
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

  /** Resolves when it is closed, or the signal aborts. */
  async closed(signal: AbortSignal): Promise<void> {
    while (this.#reason !== null && !signal.aborted) await this.#turns.wait(signal)
  }

  #probeInMs(): number {
    return Math.max(this.#backoff.nextMs(), this.#notBeforeMs - this.#deps.clock.monotonicMs())
  }

  #isEnough(nowMs: number): boolean {
    const inARow = this.#calls.slice(-FAILURES_IN_A_ROW)
    if (inARow.length === FAILURES_IN_A_ROW && inARow.every(({ failed }) => failed)) return true
    const failures = this.#calls.filter(({ atMs, failed }) => failed && nowMs - atMs < WINDOW_MS)
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
