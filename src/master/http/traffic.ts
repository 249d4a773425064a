/**
 * @module master/http/traffic
 * The requests on their way: how many are in work (2,000, then 503), how long each may take (30 s, then 408 and the
 * connection ends), and how they end when the master stops or a token is revoked.
 *
 *   open ──▶ in work ──handled──▶ sending ──▶ closed          long polls and streams: counted and timed by nobody here
 */
import { FleetError } from '../../protocol/index.ts'
import type { Clock, Timers } from '../../runtime/index.ts'
import type { Authenticator } from '../auth/index.ts'
import type { Exchange } from './exchange.ts'

const MAX_IN_WORK = 2_000
const DEADLINE_MS = 30_000
const LOOK_EVERY_MS = 1_000

export interface TrafficOptions {
  readonly clock: Clock
  readonly timers: Timers
  readonly authenticator: Authenticator
  /** Answers a request whose time is up. */
  readonly expire: (exchange: Exchange) => void
}

/** Why a signal aborted. */
const ended = (why: string): Error => new DOMException(why, 'AbortError')

/** Not one that is answered already: what an abort takes back must not have been given. */
function endLong(exchange: Exchange, why: string): void {
  if (!exchange.response.writableEnded) exchange.abort(ended(why))
}

export class Traffic {
  readonly #options: TrafficOptions
  /** Ordered by arrival, so that the first one is the one whose time is up first. */
  readonly #timed = new Set<Exchange>()
  readonly #long = new Set<Exchange>()
  #inWork = 0
  #stopping = false
  #onIdle = (): void => {}
  #ends: (() => void)[] = []

  constructor(options: TrafficOptions) {
    this.#options = options
  }

  get stopping(): boolean {
    return this.#stopping
  }

  start(): void {
    const { timers, authenticator } = this.#options
    this.#ends = [timers.every(LOOK_EVERY_MS, () => this.#expire()), authenticator.onChange(() => this.#endRevoked())]
  }

  /** A request arrived. */
  open(exchange: Exchange): void {
    this.#timed.add(exchange)
    exchange.response.once('close', () => {
      this.#timed.delete(exchange)
      this.#long.delete(exchange)
      if (!exchange.response.writableFinished) exchange.abort(ended('the client went away'))
      if (this.#timed.size + this.#long.size === 0) this.#onIdle()
    })
  }

  /** Runs `work` as one of the requests in work. @throws {FleetError} OVERLOADED */
  async count<T>(work: () => Promise<T>): Promise<T> {
    if (this.#inWork >= MAX_IN_WORK)
      throw new FleetError('OVERLOADED', 'the master has too many requests in work; try again in a second', {
        retryAfterSeconds: 1,
      })
    this.#inWork += 1
    try {
      return await work()
    } finally {
      this.#inWork -= 1
    }
  }

  /** Exempts a long poll or a stream from the deadline. */
  lengthen(exchange: Exchange): void {
    if (!this.#timed.delete(exchange)) return
    this.#long.add(exchange)
    if (this.#stopping) exchange.abort(ended('the master stops'))
  }

  /** Ends long polls and streams, then waits until the last request was answered, `withinMs` at most. */
  async drain(withinMs: number): Promise<void> {
    this.#stopping = true
    for (const exchange of this.#long) endLong(exchange, 'the master stops')
    await new Promise<void>((resolve) => {
      const cancel = this.#options.timers.after(withinMs, resolve)
      this.#onIdle = () => {
        cancel()
        resolve()
      }
      if (this.#timed.size + this.#long.size === 0) this.#onIdle()
    })
    for (const end of this.#ends) end()
  }

  #expire(): void {
    const beforeMs = this.#options.clock.monotonicMs() - DEADLINE_MS
    for (const exchange of this.#timed) {
      if (exchange.startedMs > beforeMs) return
      this.#timed.delete(exchange)
      exchange.abort(ended('the request took too long'))
      this.#options.expire(exchange)
    }
  }

  #endRevoked(): void {
    for (const exchange of this.#long) {
      if (exchange.principal !== null && !this.#options.authenticator.still(exchange.principal))
        endLong(exchange, 'the token was revoked')
    }
  }
}
