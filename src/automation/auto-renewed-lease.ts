/**
 * @module automation/auto-renewed-lease
 * Keeps a lock or pool claim of a run: renews it at each third of its hold time, until it is released or lost.
 *
 *   held ── release() ──▶ released      a second release does nothing; any other use: LeaseLost
 *     └── rejected, or not renewed in time ──▶ lost      any use: LeaseLost
 *
 * The hold time is counted from before the call was sent, so the lease never appears to be held after the master has
 * ended it.
 */
import { MAX_HOLD_MS, MIN_HOLD_MS, RpcError, toMs, toSeconds } from '../protocol/index.ts'
import type { Cancel, Clock, Timers } from '../runtime/index.ts'
import type { SlotLog } from './context.ts'
import { LeaseLost } from './errors.ts'

export interface AutoRenewedLeaseDeps {
  readonly clock: Clock
  readonly timers: Timers
  readonly log: SlotLog
}

/** The calls to the master that extend and release the lease. */
export interface AutoRenewedLeaseCalls {
  /** Name for messages, such as `lock "x"`. */
  readonly what: string
  readonly extend: (holdMs: number) => Promise<unknown>
  readonly release: () => Promise<unknown>
}

/** @returns the hold time in milliseconds. @throws {RangeError} when it is out of range. */
export function holdMsOf({ holdSeconds }: { readonly holdSeconds: number }): number {
  const holdMs = toMs(holdSeconds)
  if (holdMs >= MIN_HOLD_MS && holdMs <= MAX_HOLD_MS) return holdMs
  throw new RangeError(`holdSeconds must be ${toSeconds(MIN_HOLD_MS)} to ${toSeconds(MAX_HOLD_MS)}, got ${holdSeconds}`)
}

export class AutoRenewedLease {
  readonly #deps: AutoRenewedLeaseDeps
  readonly #calls: AutoRenewedLeaseCalls
  readonly #onEnd: (held: AutoRenewedLease) => void
  #state: 'held' | 'released' | 'lost' = 'held'
  #holdMs: number
  #endsAtMs: number
  #cancel: Cancel = () => {}

  /** @param sentAtMs Monotonic time at which the acquiring call was sent. */
  constructor(
    calls: AutoRenewedLeaseCalls,
    holdMs: number,
    sentAtMs: number,
    deps: AutoRenewedLeaseDeps,
    onEnd: (held: AutoRenewedLease) => void,
  ) {
    this.#calls = calls
    this.#holdMs = holdMs
    this.#endsAtMs = sentAtMs + holdMs
    this.#deps = deps
    this.#onEnd = onEnd
    this.#arm()
  }

  /**
   * Extends the lease by `holdSeconds` from now.
   * @throws {LeaseLost} when it was lost or released.
   * @throws {RpcError} when the call failed; the lease may still be held.
   */
  async extend(options: { readonly holdSeconds: number }): Promise<void> {
    await this.#extend(holdMsOf(options))
  }

  async #extend(holdMs: number): Promise<void> {
    this.#assertHeld()
    const sentAtMs = this.#deps.clock.monotonicMs()
    await this.#translateLost(() => this.#calls.extend(holdMs))
    if (this.#state !== 'held') return
    this.#holdMs = holdMs
    this.#endsAtMs = sentAtMs + holdMs
    this.#arm()
  }

  /** Releases the lease. @throws {LeaseLost} when it was lost before. */
  async release(by: () => Promise<unknown> = this.#calls.release): Promise<void> {
    if (this.#state === 'released') return
    this.#assertHeld()
    this.#end('released')
    await this.#translateLost(by)
  }

  /**
   * Releases the lease at the end of an `await using` block. Never throws: the work inside the block is already done.
   */
  async dispose(): Promise<void> {
    try {
      if (this.#state === 'held') await this.release()
    } catch (error) {
      this.#deps.log.warn(`${this.#calls.what} could not be released; it expires`, { error })
    }
  }

  #arm(): void {
    this.#cancel()
    const leftMs = Math.max(0, this.#endsAtMs - this.#deps.clock.monotonicMs())
    this.#cancel = this.#deps.timers.after(Math.min(this.#holdMs / 3, leftMs), () => void this.#renew())
  }

  /** Retries failed renewals until the hold time ends. */
  async #renew(): Promise<void> {
    if (this.#hasEnded()) return
    try {
      await this.#extend(this.#holdMs)
    } catch (error) {
      if (this.#state !== 'held' || this.#hasEnded()) return
      this.#deps.log.debug(`${this.#calls.what} could not be renewed yet`, { error })
      this.#arm()
    }
  }

  #hasEnded(): boolean {
    if (this.#state === 'held' && this.#deps.clock.monotonicMs() >= this.#endsAtMs) this.#end('lost')
    return this.#state !== 'held'
  }

  #assertHeld(): void {
    if (this.#hasEnded())
      throw new LeaseLost(`${this.#calls.what} ${this.#state === 'lost' ? 'was lost: its hold ended' : 'was released'}`)
  }

  async #translateLost(call: () => Promise<unknown>): Promise<void> {
    try {
      await call()
    } catch (error) {
      if (!(error instanceof RpcError) || error.code !== 'lease_lost') throw error
      this.#end('lost')
      throw new LeaseLost(`${this.#calls.what} was lost: the master gave it up`, { cause: error })
    }
  }

  #end(state: 'released' | 'lost'): void {
    if (this.#state !== 'held') return
    this.#state = state
    this.#cancel()
    if (state === 'lost') this.#deps.log.warn(`${this.#calls.what} was lost`)
    this.#onEnd(this)
  }
}
