/**
 * @module master/http/in-flight-requests
 * Limits the requests in progress: their number (2,000, then 503), their duration (30 s, then 408 and the connection
 * ends) and how slowly a body may arrive. Ends them when the master stops or their token is revoked.
 *
 *   open ──▶ reading the body ──▶ in progress ──handled──▶ sending ──▶ closed
 *                    └─ long polls and streams: neither counted nor timed after their body
 *
 * No client can use all places (D71): a connection has 32, a token has a quarter of the requests in progress, and
 * routes without a token have a separate limit.
 */
import {
  BODY_GRACE_MS,
  FleetError,
  MAX_OPEN_REQUESTS,
  MAX_REQUESTS_IN_WORK,
  MAX_REQUESTS_PER_SOCKET,
  MIN_BODY_BYTES_PER_SECOND,
} from '../../protocol/index.ts'
import type { Clock, Timers } from '../../runtime/index.ts'
import type { Authenticator, Principal } from '../auth/index.ts'
import type { RequestContext } from './request-context.ts'
import { FairShare } from './fair-share.ts'

const DEADLINE_MS = 30_000
const CHECK_EVERY_MS = 1_000

export interface InFlightRequestsDeps {
  readonly clock: Clock
  readonly timers: Timers
  readonly authenticator: Authenticator
  /** Rejects a request that reached its deadline. */
  readonly expire: (context: RequestContext, detail: string) => void
  /** Called for each request that was rejected because of a limit. */
  readonly onShed: (reason: ShedReason) => void
}

/** The limit that rejected a request: a label of `svc_http_shed_total`. */
export type ShedReason = 'connection' | 'token' | 'in_work' | 'no_token' | 'slow_body'

/** The reason of an aborted signal. */
const ended = (why: string): Error => new DOMException(why, 'AbortError')

/**
 * Aborts a long request, unless its response is complete: an abort releases leases that the client then already has.
 */
function endLong(context: RequestContext, why: string): void {
  if (!context.isAnswered && !context.response.writableEnded) context.abort(ended(why))
}

export class InFlightRequests {
  readonly #deps: InFlightRequestsDeps
  /** Ordered by arrival, so that the first one reaches its deadline first. */
  readonly #timed = new Set<RequestContext>()
  readonly #long = new Set<RequestContext>()
  /** Requests whose body is arriving, and the time since when. */
  readonly #reading = new Map<RequestContext, number>()
  readonly #inWork = new FairShare(MAX_REQUESTS_IN_WORK)
  /** Counted separately, so that workers can settle their tasks while all places are in use. */
  readonly #longBodies = new FairShare(MAX_REQUESTS_IN_WORK)
  #withoutToken = 0
  #stopping = false
  #onIdle = (): void => {}
  #stops: (() => void)[] = []

  constructor(deps: InFlightRequestsDeps) {
    this.#deps = deps
  }

  get stopping(): boolean {
    return this.#stopping
  }

  start(): void {
    const { timers, authenticator } = this.#deps
    this.#stops = [timers.every(CHECK_EVERY_MS, () => this.#expire()), authenticator.onChange(() => this.#endRevoked())]
  }

  /** Registers a new request. To be followed by `closed`. */
  open(context: RequestContext): void {
    this.#timed.add(context)
  }

  /** Forgets a request: its response was sent, or the client disconnected. */
  closed(context: RequestContext): void {
    if (!this.#timed.delete(context)) this.#long.delete(context)
    if (!context.response.writableFinished) context.abort(ended('the client disconnected'))
    if (this.#timed.size + this.#long.size === 0) this.#onIdle()
  }

  /**
   * @param open Requests of the same connection without a complete response, including this one.
   * @throws {FleetError} OVERLOADED
   */
  checkConnection(open: number): void {
    if (open <= MAX_REQUESTS_PER_SOCKET) return
    const problem =
      `${MAX_REQUESTS_PER_SOCKET} requests of this connection have no response yet; ` +
      'read the responses before sending more'
    throw this.#shed('connection', problem, { connection: 'close' })
  }

  /** Runs `work` as one of the requests in progress. @throws {FleetError} OVERLOADED */
  count<T>(principal: Principal, work: () => Promise<T>): Promise<T> {
    return this.#withPlace(this.#inWork, principal, work)
  }

  /** Reads the body of a long poll, which is not counted afterwards. @throws {FleetError} OVERLOADED */
  countLongBody<T>(principal: Principal, read: () => Promise<T>): Promise<T> {
    return this.#withPlace(this.#longBodies, principal, read)
  }

  /** Takes a place of a route without a token, until its response is complete. @throws {FleetError} OVERLOADED */
  countWithoutToken({ response }: RequestContext): void {
    if (this.#withoutToken >= MAX_OPEN_REQUESTS)
      throw this.#shed('no_token', 'too many unauthenticated requests are in progress; try again in a second')
    this.#withoutToken += 1
    response.once('close', () => void (this.#withoutToken -= 1))
  }

  /** Runs `read`, and rejects the request if its body arrives too slowly. */
  async readBody<T>(context: RequestContext, read: () => Promise<T>): Promise<T> {
    this.#reading.set(context, this.#deps.clock.monotonicMs())
    try {
      return await read()
    } finally {
      this.#reading.delete(context)
    }
  }

  /** Exempts a long poll or a stream from the deadline. */
  lengthen(context: RequestContext): void {
    if (!this.#timed.delete(context)) return
    this.#long.add(context)
    if (this.#stopping) context.abort(ended('the master is stopping'))
  }

  /** Ends long polls and streams, then waits until the last response was sent, at most `withinMs`. */
  async drain(withinMs: number): Promise<void> {
    this.#stopping = true
    for (const context of this.#long) endLong(context, 'the master is stopping')
    await new Promise<void>((resolve) => {
      const cancel = this.#deps.timers.after(withinMs, resolve)
      this.#onIdle = () => {
        cancel()
        resolve()
      }
      if (this.#timed.size + this.#long.size === 0) this.#onIdle()
    })
    for (const end of this.#stops) end()
  }

  async #withPlace<T>(places: FairShare, principal: Principal, work: () => Promise<T>): Promise<T> {
    const noPlace = places.check(principal)
    if (noPlace === 'token')
      throw this.#shed(
        'token',
        `this token has ${places.perToken} requests in progress, its limit; try again in a second`,
      )
    if (noPlace === 'all')
      throw this.#shed('in_work', 'the master has too many requests in progress; try again in a second')
    places.take(principal)
    try {
      return await work()
    } finally {
      places.release(principal)
    }
  }

  #expire(): void {
    const nowMs = this.#deps.clock.monotonicMs()
    for (const [context, sinceMs] of this.#reading) {
      const elapsedMs = nowMs - sinceMs
      if (elapsedMs <= BODY_GRACE_MS) break
      if (context.bodyBytes * 1_000 < MIN_BODY_BYTES_PER_SECOND * elapsedMs) this.#endSlowBody(context)
    }
    for (const context of this.#timed) {
      if (context.startedMs > nowMs - DEADLINE_MS) return
      this.#end(context, 'the request took too long')
    }
  }

  #endSlowBody(context: RequestContext): void {
    this.#deps.onShed('slow_body')
    this.#reading.delete(context)
    this.#end(context, `the body arrives at less than ${MIN_BODY_BYTES_PER_SECOND} bytes a second`)
  }

  #end(context: RequestContext, detail: string): void {
    this.#timed.delete(context)
    context.abort(ended(detail))
    this.#deps.expire(context, detail)
  }

  #shed(reason: ShedReason, problem: string, headers: Readonly<Record<string, string>> = {}): FleetError {
    this.#deps.onShed(reason)
    return new FleetError('OVERLOADED', problem, { retryAfterSeconds: 1, headers })
  }

  #endRevoked(): void {
    for (const context of this.#long) {
      if (context.principal !== null && !this.#deps.authenticator.isStillValid(context.principal))
        endLong(context, 'the token was revoked')
    }
  }
}
