/**
 * @module master/control/handshake-queue
 * Admits handshakes as fast as this process can serve them, and lets the others wait, first in, first out (D101). A
 * refusal would double the backoff of a worker, so waiting a second here is cheaper than returning.
 *
 *   add ──budget left, none waits──▶ admitted
 *    └──else──▶ waiting ──tick: budget, registers, memory──▶ admitted
 *                  ├── 10 s, or 20,000 wait already ──▶ refused, with Retry-After
 *                  └── left: its socket closed
 *
 * A handshake is admitted while the budget of the tick lasts (admission-rate.ts), fewer than 256 sockets have not
 * registered, and memory is below 85 % of its limit. There is no timer while nothing waits.
 */
import { HANDSHAKE_WAIT_MS, MAX_UNREGISTERED, MAX_WAITING_HANDSHAKES } from '../../protocol/index.ts'
import type { Cancel, Clock, ProcessLoad, Random, Timers } from '../../runtime/index.ts'
import { AdmissionRate, TICK_MS } from './admission-rate.ts'

const MAX_MEMORY_SHARE = 0.85
/** Memory is measured at most this often. */
const MEMORY_EVERY_MS = 100
/** After this time without a waiting handshake the budget starts anew. */
const STORM_ENDS_AFTER_MS = 1_000
/** Lengthens a Retry-After by at most this share, so that refused workers return spread out. */
const JITTER = 0.5

export interface HandshakeQueueDeps {
  readonly clock: Clock
  readonly timers: Timers
  readonly random: Random
  /** null: the event loop counts as idle, and memory as free. */
  readonly load: ProcessLoad | null
  /** Sockets between their upgrade and their stored register. */
  readonly unregistered: () => number
}

/** A handshake. One of the two is called, once, unless it leaves the queue before. */
export interface Handshaking {
  admit(): void
  refuse(detail: string, retryAfterSeconds: number): void
}

interface Waiting {
  readonly handshaking: Handshaking
  readonly expiresAtMs: number
}

export class HandshakeQueue {
  readonly #deps: HandshakeQueueDeps
  readonly #rate = new AdmissionRate()
  readonly #waiting = new Set<Waiting>()
  #budgetLeft = 0
  #tickBeganMs = -Infinity
  #lastWaitedMs = -Infinity
  #memoryMeasuredMs = -Infinity
  #isMemoryShort = false
  #cancelTick: Cancel | null = null

  constructor(deps: HandshakeQueueDeps) {
    this.#deps = deps
  }

  get length(): number {
    return this.#waiting.size
  }

  /** Handshakes a second that are admitted now. */
  get perSecond(): number {
    return this.#rate.perSecond
  }

  get isMemoryShort(): boolean {
    return this.#isMemoryShort
  }

  /**
   * Admits or refuses the handshake, or lets it wait.
   * @param arrivedAtMs Earlier than now if it waited while the master started; that time counts.
   * @returns null if it is decided; otherwise a function that removes it from the queue.
   */
  add(handshaking: Handshaking, arrivedAtMs = this.#deps.clock.monotonicMs()): (() => void) | null {
    const nowMs = this.#deps.clock.monotonicMs()
    if (this.#waiting.size === 0 && this.#hasPlace(nowMs)) {
      this.#admit(handshaking)
      return null
    }
    if (this.#waiting.size >= MAX_WAITING_HANDSHAKES) {
      this.#refuse(handshaking, 'too many workers are connecting; try again')
      return null
    }
    const waiting = { handshaking, expiresAtMs: arrivedAtMs + HANDSHAKE_WAIT_MS }
    this.#waiting.add(waiting)
    this.#startTicks()
    return () => {
      this.#waiting.delete(waiting)
      this.#stopIfEmpty()
    }
  }

  /** Refuses all that wait. */
  close(detail: string): void {
    for (const waiting of this.#waiting) {
      this.#waiting.delete(waiting)
      waiting.handshaking.refuse(detail, 1)
    }
    this.#stopIfEmpty()
  }

  #startTicks(): void {
    if (this.#cancelTick !== null) return
    this.#deps.load?.takeLongestDelayMs() // What was measured before belongs to no tick.
    this.#cancelTick = this.#deps.timers.every(TICK_MS, () => this.#tick())
  }

  #stopIfEmpty(): void {
    if (this.#waiting.size > 0 || this.#cancelTick === null) return
    this.#cancelTick()
    this.#cancelTick = null
    this.#lastWaitedMs = this.#deps.clock.monotonicMs()
  }

  #tick(): void {
    const nowMs = this.#deps.clock.monotonicMs()
    this.#rate.adapt(this.#deps.load?.takeLongestDelayMs() ?? 0)
    this.#tickBeganMs = -Infinity // The budget of the next tick, also if the timer was early.
    for (const waiting of this.#waiting) {
      const isExpired = waiting.expiresAtMs <= nowMs
      if (!isExpired && !this.#hasPlace(nowMs)) break
      this.#waiting.delete(waiting)
      if (isExpired) this.#refuse(waiting.handshaking, 'too many workers are connecting; try again')
      else this.#admit(waiting.handshaking)
    }
    this.#stopIfEmpty()
  }

  #hasPlace(nowMs: number): boolean {
    if (nowMs - this.#tickBeganMs >= TICK_MS) {
      if (this.#cancelTick === null && nowMs - this.#lastWaitedMs > STORM_ENDS_AFTER_MS) this.#rate.reset()
      this.#tickBeganMs = nowMs
      this.#budgetLeft = this.#rate.budget
    }
    return this.#budgetLeft > 0 && this.#deps.unregistered() < MAX_UNREGISTERED && this.#hasMemory(nowMs)
  }

  #hasMemory(nowMs: number): boolean {
    if (nowMs - this.#memoryMeasuredMs >= MEMORY_EVERY_MS) {
      this.#memoryMeasuredMs = nowMs
      this.#isMemoryShort = (this.#deps.load?.memoryShare() ?? 0) > MAX_MEMORY_SHARE
    }
    return !this.#isMemoryShort
  }

  #admit(handshaking: Handshaking): void {
    this.#budgetLeft -= 1
    handshaking.admit()
  }

  #refuse(handshaking: Handshaking, detail: string): void {
    const seconds = this.#waiting.size / this.#rate.perSecond
    handshaking.refuse(detail, Math.max(1, Math.ceil(seconds * (1 + JITTER * this.#deps.random.unit()))))
  }
}
