/**
 * @module operator/fleet/calls
 * Sends every call to the master:
 *
 *   breaker open? ─▶ unavailable   wait for the limiter ─▶ still leading? ─▶ send ─▶ MasterResponse, or a CallRefusal
 *                                      ▲                                      │
 *                                      └── once: a read or PUT whose connection broke, a 403 of a replaced token
 */
import { MasterError, type MasterResponse } from '../../client/index.ts'
import {
  LogThrottle,
  isRefusalStatus,
  retryAfterDelayMs,
  type Clock,
  type Flight,
  type FlightEnd,
  type Log,
  type Random,
} from '../../runtime/index.ts'
import type { Breaker } from './breaker.ts'
import type { Limiter, Line } from './limiter.ts'
import type { FleetMetrics } from './metrics.ts'
import { isFailure, isThrottle, refusalOf } from './refusal.ts'
import type { CallRefusal } from './ports.ts'

export interface MasterCall<T> {
  readonly method: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE'
  /** `undefined`: the call concerns no type. */
  readonly type?: string
  /** The line of the limiter in which the call waits. Default: `reconcile`. */
  readonly line?: Line
  readonly send: (signal: AbortSignal) => Promise<MasterResponse<T>>
}

export type ReplyResult<T> = { readonly kind: 'ok'; readonly reply: MasterResponse<T> } | CallRefusal

/** A call that was sent. */
export interface Sent {
  readonly sentMs: number
  readonly token: string
}

/** What follows a 403: the call is repeated, the missing right is confirmed, or another refusal is reported. */
export type ForbiddenAction = { readonly kind: 'repeat' } | { readonly kind: 'confirmed' } | CallRefusal

export interface CallsDeps {
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly limiter: Limiter
  readonly breaker: Breaker
  readonly metrics: FleetMetrics
  readonly mayWrite: () => boolean
  readonly isTypeKnown: (type: string) => boolean
  readonly token: () => string
  /** Handles a 403 of the master. */
  readonly onForbidden: (sent: Sent, signal: AbortSignal) => Promise<ForbiddenAction>
}

/** The first request of a call and its repetitions. */
const MAX_ATTEMPTS = 3

/** Whether the call may be sent again although the first request may have taken effect. */
const isIdempotent = ({ method }: Pick<MasterCall<unknown>, 'method'>): boolean =>
  method !== 'PATCH' && method !== 'POST'

/** Lists take longer than calls about one worker, so only the latter are measured. */
function flightEndOf(result: MasterResponse<unknown> | MasterError, { line }: MasterCall<unknown>): FlightEnd {
  if (result instanceof MasterError && isThrottle(result)) return 'refused'
  return line === 'table' || (result instanceof MasterError && result.status === undefined) ? 'unmeasured' : 'ok'
}

export class Calls {
  readonly #deps: CallsDeps
  readonly #refusals: LogThrottle

  constructor(deps: CallsDeps) {
    this.#deps = deps
    this.#refusals = new LogThrottle(deps.clock)
  }

  /** @throws the abort reason of `signal`. */
  async call<T>(call: MasterCall<T>, signal: AbortSignal): Promise<ReplyResult<T>> {
    const { breaker, clock, limiter, onForbidden, token } = this.#deps
    for (let attempt = 1; ; attempt += 1) {
      const flight = breaker.reason === null ? await limiter.turn(signal, call.line) : undefined
      const sent = { sentMs: clock.monotonicMs(), token: token() }
      const result = await this.#send(call, flight, signal)
      if (!(result instanceof MasterError)) return 'kind' in result ? result : { kind: 'ok', reply: result }
      if (attempt === 1 && result.code === 'BROKEN' && isIdempotent(call)) continue
      const refusal = refusalOf(result, call.type === undefined || this.#deps.isTypeKnown(call.type))
      if (refusal.kind !== 'forbidden') return refusal
      const next = await onForbidden(sent, signal)
      if (next.kind === 'repeat' && attempt < MAX_ATTEMPTS) continue
      return next.kind === 'repeat' || next.kind === 'confirmed' ? refusal : next
    }
  }

  /** Sends one request if that is permitted now, and ends its flight. */
  async #send<T>(
    call: MasterCall<T>,
    flight: Flight | undefined,
    signal: AbortSignal,
  ): Promise<MasterResponse<T> | MasterError | CallRefusal> {
    let end: FlightEnd = 'unmeasured'
    try {
      const denied = this.#denialOf(call)
      if (denied !== null) return denied
      const result = await this.once(call, signal)
      end = flightEndOf(result, call)
      return result
    } finally {
      if (flight !== undefined) this.#deps.limiter.ended(flight, end)
    }
  }

  /** Why a call must not be sent now; `null` if it may be. */
  #denialOf({ method }: Pick<MasterCall<unknown>, 'method'>): CallRefusal | null {
    const { breaker, mayWrite } = this.#deps
    if (breaker.reason !== null)
      return {
        kind: 'unavailable',
        effect: 'not_sent',
        message: breaker.reason === 'Unauthorized' ? 'the master rejects the token' : 'the master is unavailable',
      }
    if (method !== 'GET' && !mayWrite()) return { kind: 'not_leading' }
    return null
  }

  /** Sends one request, whatever the state of the breaker. @throws the abort reason of `signal`. */
  async once<T>({ method, send }: MasterCall<T>, signal: AbortSignal): Promise<MasterResponse<T> | MasterError> {
    const { breaker, clock, limiter, metrics, random } = this.#deps
    const sentMs = clock.monotonicMs()
    const ended = (code: string, failed: boolean, waitMs = 0): void => {
      metrics.onRequest(method, code, clock.monotonicMs() - sentMs)
      breaker.ended(failed, waitMs)
    }
    try {
      const reply = await send(signal)
      ended('200', false)
      return reply
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof MasterError)) throw error
      const waitMs = retryAfterDelayMs(error.retryAfterMs ?? 0, random)
      if (isThrottle(error)) limiter.refused(sentMs, waitMs)
      if (error.status !== undefined && isRefusalStatus(error.status)) this.#log(error, waitMs)
      ended(String(error.status ?? error.code), isFailure(error), waitMs)
      return error
    }
  }

  /** Logs a refusal, at most one line per minute and status. */
  #log({ status = 0, message, retryAfterMs }: MasterError, waitMs: number): void {
    const { limiter, log } = this.#deps
    const requested = retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs, wait_ms: Math.round(waitMs) }
    this.#refusals.run(String(status), (suppressed) =>
      log.warn('the master, or a proxy in front of it, rejects calls; sending fewer', {
        status,
        error: message,
        ...requested,
        calls_per_second: Math.round(limiter.perSecond),
        ...(suppressed > 0 && { suppressed }),
      }),
    )
  }
}
