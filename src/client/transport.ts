/**
 * @module client/transport
 * Sends requests over a pool of connections, and decides whether a failed request is repeated.
 *
 *   send ──no connection, broken, late──▶ may the same call be sent twice? ──no──▶ MasterError with an `outcome`
 *     ▲  ──429, 503 ─────────────────────▶            │ yes
 *     └────── wait: full jitter, never less than Retry-After, never beyond the time of the whole call ◀──┘
 *
 * All requests of a client share one RefusalLimiter: while the master, or a proxy before it, refuses, fewer than three
 * requests a second leave, even if the caller retries in a loop (D67).
 *
 * The token is read for every request, since it may be rotated. The outcome of a call without a response is *unknown*:
 * it is repeated only if executing it twice has the same effect as once.
 */
import {
  Backoff,
  createHttpPool,
  isRefusalStatus,
  parseRetryAfter,
  RefusalLimiter,
  retryAfterDelayMs,
  type Clock,
  type CreateHttpPool,
  type HttpPool,
  type HttpPoolOptions,
  type HttpPoolResponse,
  type Random,
  type Timers,
} from '../runtime/index.ts'
import { masterAddress, type MasterAddress } from './address.ts'
import { readResponse, type RawResponse, type MasterResponse } from './response.ts'
import { MasterError } from './master-error.ts'

const CONNECT_MS = 2_000
const HEADERS_MS = 10_000
const CALL_MS = 15_000
const ATTEMPTS = 3
const CONNECTIONS = 16
const BACKOFF_BASE_MS = 250
const BACKOFF_CAP_MS = 5_000
/** Below the 75 s after which the master closes an idle connection. */
const KEEP_ALIVE_MAX_MS = 60_000
/** Twice the bound of the master's inspections. */
const MAX_BODY_BYTES = 64 * 1_048_576
/** Errors of a connection that was never made. */
const NOT_SENT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** Options of a {@link MasterClient}. Timeouts are in milliseconds. */
export interface ClientOptions {
  /** http or https; a path prefix is kept. */
  readonly masterUrl: string
  /** Returns the token; called for every request. */
  readonly token: () => string
  readonly clock: Clock
  readonly timers: Timers
  readonly random: Random
  /** Sent as `Muster-Actor` with every change (D39). */
  readonly actor?: string
  /** Timeout of establishing a connection; 2 s by default. */
  readonly connectMs?: number
  /** Timeout from sending a request to the head of its response; 10 s by default. */
  readonly headersMs?: number
  /** Timeout of a call including repetitions and waits; 15 s by default. */
  readonly callMs?: number
  /** Maximum number of requests of a call that may be repeated; 3 by default. */
  readonly attempts?: number
  /** Maximum number of connections for calls; 16 by default. */
  readonly connections?: number
  /** Creates the pools of connections. By default those of undici. */
  readonly createPool?: CreateHttpPool
}

/** Options of a call. */
export interface RequestOptions {
  /** Aborts the call, which then rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined
}
/** Options of a call that changes something. */
export interface ChangeOptions extends RequestOptions {
  /** Who makes this change, overriding the actor of the client. */
  readonly actor?: string | undefined
}

/** A request, and when it may be repeated. */
export interface HttpCall {
  readonly method: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /**
   * When the request may be repeated: after any failure, only after a 429, or never. Default: `always` for GET, else
   * `never`.
   */
  readonly repeat?: 'always' | 'when refused' | 'never'
  /** An HTTP status besides 2xx whose body is data. */
  readonly alsoGood?: number
}

/** The connections of a client. */
export class Transport {
  readonly address: MasterAddress
  readonly #options: ClientOptions
  readonly #pool: HttpPool
  readonly #refusals: RefusalLimiter
  /** The status of the last refusal. */
  #refusedWith = 0
  #streams: HttpPool | null = null

  /** Opens no connection yet. @throws {TypeError} when the URL of the master cannot be used. */
  constructor(options: ClientOptions) {
    this.#options = options
    this.address = masterAddress(options.masterUrl)
    this.#refusals = new RefusalLimiter(options)
    this.#pool = this.#newPool({
      connections: options.connections ?? CONNECTIONS,
      maxResponseBytes: MAX_BODY_BYTES,
    })
  }

  /**
   * Sends a request, and repeats it where that is safe.
   * @param call The request.
   * @param options `signal` aborts the call. `actor`: who makes the change.
   * @returns the response of the last attempt.
   * @throws {MasterError}, or the reason with which `signal` aborted.
   */
  async call<T>(call: HttpCall, { signal, actor }: ChangeOptions = {}): Promise<MasterResponse<T>> {
    const { clock, timers, random, callMs = CALL_MS, attempts = ATTEMPTS } = this.#options
    const late = new AbortController()
    const endsAtMs = clock.monotonicMs() + callMs
    const cancel = timers.after(callMs, () =>
      late.abort(new MasterError('TIMED_OUT', `no response from the master within ${callMs / 1_000} s`)),
    )
    const backoff = new Backoff({ baseMs: BACKOFF_BASE_MS, capMs: BACKOFF_CAP_MS, random })
    const either = signal === undefined ? late.signal : AbortSignal.any([signal, late.signal])
    try {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await this.#once<T>(call, actor ?? this.#options.actor, either)
        } catch (error) {
          if (!(error instanceof MasterError) || attempt >= attempts || !mayRepeat(call, error)) throw error
          const waitMs = Math.max(backoff.nextMs(), retryAfterDelayMs(error.retryAfterMs ?? 0, random))
          if (clock.monotonicMs() + waitMs >= endsAtMs) throw error
          await timers.sleep(waitMs, either)
        }
      }
    } finally {
      cancel()
    }
  }

  /**
   * Opens an event stream. The caller detects a silent stream.
   * @param headers Further headers of the request.
   * @returns the bytes of the stream, and the epoch of the store.
   * @throws {MasterError} when the master does not open the stream.
   */
  async open(
    path: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<{ readonly chunks: AsyncIterable<Buffer>; readonly epoch: string }> {
    this.#streams ??= this.#newPool({ connections: null })
    await this.#refusals.turn(signal)
    const response = await this.#request(this.#streams, { method: 'GET', path, headers }, undefined, signal)
    const type = response.headers['content-type'] ?? ''
    if (response.statusCode === 200 && type.startsWith('text/event-stream'))
      return { chunks: response.body, epoch: String(response.headers['muster-epoch'] ?? '') }
    const raw: RawResponse = {
      status: response.statusCode,
      headers: response.headers,
      text: await response.body.text(),
    }
    readResponse(path, raw, this.#options.clock.wallMs()) // Throws for every refusal.
    throw new MasterError(
      'FOREIGN',
      `the response did not come from a Muster master: ${type} where server-sent events were requested`,
      { status: raw.status },
    )
  }

  /** Aborts all calls in flight and closes the connections. */
  async close(): Promise<void> {
    await Promise.all([this.#pool.destroy(), this.#streams?.destroy()])
  }

  #newPool(options: HttpPoolOptions): HttpPool {
    const { connectMs = CONNECT_MS, createPool = createHttpPool } = this.#options
    return createPool(this.address.origin, { keepAliveMaxTimeoutMs: KEEP_ALIVE_MAX_MS, connectMs, ...options })
  }

  async #once<T>(call: HttpCall, actor: string | undefined, signal: AbortSignal): Promise<MasterResponse<T>> {
    await this.#turn(signal)
    const response = await this.#request(this.#pool, call, actor, signal)
    const text = await response.body.text().catch((error: unknown) => {
      throw connectionError(error, signal)
    })
    return readResponse<T>(
      call.path,
      { status: response.statusCode, headers: response.headers, text },
      this.#options.clock.wallMs(),
      call.alsoGood,
    )
  }

  /**
   * Waits while the master rejects requests.
   * @throws {MasterError} with outcome `not_done` when the call times out first.
   */
  async #turn(signal: AbortSignal): Promise<void> {
    try {
      await this.#refusals.turn(signal)
    } catch (error) {
      if (!(error instanceof MasterError)) throw error
      throw new MasterError(
        'RATE_LIMITED',
        `not sent: the master is rejecting requests with HTTP ${this.#refusedWith}`,
        {
          status: this.#refusedWith,
          cause: error,
        },
      )
    }
  }

  /** Resolves with the head of the response. */
  async #request(
    pool: HttpPool,
    { method, path, body, headers, alsoGood }: HttpCall,
    actor: string | undefined,
    signal: AbortSignal,
  ): Promise<HttpPoolResponse> {
    const { timers, token, headersMs = HEADERS_MS } = this.#options
    const late = new AbortController()
    const cancel = timers.after(headersMs, () =>
      late.abort(new MasterError('TIMED_OUT', `the master did not start its response within ${headersMs / 1_000} s`)),
    )
    const either = AbortSignal.any([signal, late.signal])
    try {
      const response = await pool.request({
        method,
        path: `${this.address.prefix}${path}`,
        signal: either,
        headers: {
          accept: 'application/json',
          ...headers,
          authorization: `Bearer ${token()}`,
          ...(actor === undefined || method === 'GET' ? {} : { 'muster-actor': actor }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      this.#note(response, alsoGood)
      return response
    } catch (error) {
      throw connectionError(error, either)
    } finally {
      cancel()
    }
  }

  #note({ statusCode, headers }: HttpPoolResponse, alsoGood: number | undefined): void {
    if (!isRefusalStatus(statusCode)) return this.#refusals.served()
    if (statusCode === alsoGood) return
    this.#refusedWith = statusCode
    this.#refusals.refused(parseRetryAfter(headers['retry-after'], this.#options.clock.wallMs()))
  }
}

function mayRepeat({ method, repeat = method === 'GET' ? 'always' : 'never' }: HttpCall, error: MasterError): boolean {
  if (repeat === 'always') return error.isRetryable
  return repeat === 'when refused' && error.code === 'RATE_LIMITED'
}

/** Converts the error of a missing or incomplete response. The reason of the caller's own abort is passed through. */
function connectionError(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  const { code = '', message } = error as { code?: string; message: string }
  if (code === 'UND_ERR_INVALID_ARG' || code === 'UND_ERR_DESTROYED' || code === 'UND_ERR_CLOSED') return error
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE')
    return new MasterError(
      'FOREIGN',
      `the response is larger than ${MAX_BODY_BYTES} bytes; request fewer items at a time`,
      {
        cause: error,
      },
    )
  if (NOT_SENT.has(code) || /CERT|TLS|SSL|UNABLE_TO_/.test(code))
    return new MasterError('UNREACHABLE', `cannot connect to the master: ${message || code}`, { cause: error })
  return new MasterError('BROKEN', `the connection was lost before the response was complete: ${message || code}`, {
    cause: error,
  })
}
