/**
 * @module client/api-caller
 * Sends requests over a transport, and decides whether a failed request is repeated.
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
  isRefusalStatus,
  parseRetryAfter,
  RefusalLimiter,
  retryAfterDelayMs,
  sleep,
} from '../runtime/backoff/index.ts'
import type { Clock, Random, Timers } from '../runtime/index.ts'
import { MasterError } from './master-error.ts'
import { readResponse, type MasterResponse, type RawResponse } from './response.ts'
import type { Transport, TransportRequest, TransportResponse } from './transport.ts'
import { abortAfter, follow, untilAborted } from './signals.ts'

const JSON_TYPE = 'application/json'
const HEADERS_MS = 10_000
const CALL_MS = 15_000
const ATTEMPTS = 3
const BACKOFF_BASE_MS = 250
const BACKOFF_CAP_MS = 5_000

/** Options of the calls of a client. Timeouts are in milliseconds. */
export interface CallerOptions {
  /** Returns the token; called for every request. */
  readonly token: () => string | Promise<string>
  readonly clock: Pick<Clock, 'wallMs' | 'monotonicMs'>
  readonly timers: Pick<Timers, 'after'>
  readonly random: Pick<Random, 'unit'>
  /** Sent as `Muster-Actor` with every change (D39). */
  readonly actor?: string
  /** Timeout from sending a request to the head of its response; 10 s by default. */
  readonly headersMs?: number
  /** Timeout of a call including repetitions and waits; 15 s by default. */
  readonly callMs?: number
  /** Maximum number of requests of a call that may be repeated; 3 by default. */
  readonly attempts?: number
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
  readonly method: TransportRequest['method']
  readonly path: string
  /** Sent as JSON. */
  readonly body?: unknown
  /** The text of a JSON body, in place of `body`. */
  readonly bodyText?: string
  readonly headers?: Readonly<Record<string, string>>
  /**
   * When the request may be repeated: after any failure, only after a 429, or never. Default: `always` for GET, else
   * `never`.
   */
  readonly repeat?: 'always' | 'when refused' | 'never'
  /** An HTTP status besides 2xx whose body is data. */
  readonly alsoGood?: number
}

/** What {@link ApiCaller} needs of its client. */
export interface CallerDeps {
  readonly transport: Transport
  /** Path prefix of the master without a trailing slash; usually ''. */
  readonly prefix: string
  /** Parses the body of a response. @returns its value. @throws {SyntaxError} when it is not JSON. */
  readonly parse: (text: string) => unknown
}

/** Calls the API of one master. */
export class ApiCaller {
  readonly #deps: CallerDeps
  readonly #options: CallerOptions
  readonly #refusals: RefusalLimiter
  /** The status of the last refusal. */
  #refusedWith = 0

  /**
   * Sends nothing yet.
   * @param deps The transport, and what is special about this client.
   * @param options Token, time and timeouts.
   */
  constructor(deps: CallerDeps, options: CallerOptions) {
    this.#deps = deps
    this.#options = options
    this.#refusals = new RefusalLimiter(options)
  }

  /**
   * Sends a request, and repeats it where that is safe.
   * @param call The request.
   * @param options `signal` aborts the call. `actor`: who makes the change.
   * @returns the response of the last attempt.
   * @throws {MasterError}, or the reason with which `signal` aborted.
   */
  async call<T>(call: HttpCall, { signal, actor }: ChangeOptions = {}): Promise<MasterResponse<T>> {
    const { clock, timers, callMs = CALL_MS } = this.#options
    const late = new AbortController()
    const endsAtMs = clock.monotonicMs() + callMs
    const cancel = abortAfter(timers, late, callMs, 'no response from the master within')
    const unfollow = signal && follow(late, signal)
    try {
      return await this.#repeated<T>(call, actor ?? this.#options.actor, late.signal, endsAtMs)
    } finally {
      cancel()
      unfollow?.()
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
  ): Promise<{ readonly chunks: AsyncIterable<Uint8Array>; readonly epoch: string }> {
    await this.#refusals.turn(signal)
    const { transport } = this.#deps
    const response = await this.#request(transport.sendForStream, { method: 'GET', path, headers }, undefined, signal)
    const type = response.header('content-type') ?? ''
    if (response.status === 200 && type.startsWith('text/event-stream'))
      return { chunks: response.chunks(), epoch: response.header('muster-epoch') ?? '' }
    this.#read(path, await rawOf(response)) // Throws for every refusal.
    throw new MasterError(
      'FOREIGN',
      `the response did not come from a Muster master: ${type} where server-sent events were requested`,
      { status: response.status },
    )
  }

  /** Aborts all calls in flight and closes the connections. */
  close(): Promise<void> {
    return this.#deps.transport.close()
  }

  async #repeated<T>(
    call: HttpCall,
    actor: string | undefined,
    signal: AbortSignal,
    endsAtMs: number,
  ): Promise<MasterResponse<T>> {
    const { clock, timers, random, attempts = ATTEMPTS } = this.#options
    const backoff = new Backoff({ baseMs: BACKOFF_BASE_MS, capMs: BACKOFF_CAP_MS, random })
    let mayBeDone = false
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#once<T>(call, actor, signal)
      } catch (error) {
        if (!(error instanceof MasterError)) throw error
        mayBeDone ||= call.method !== 'GET' && error.outcome === 'unknown'
        const waitMs = Math.max(backoff.nextMs(), retryAfterDelayMs(error.retryAfterMs ?? 0, random))
        const isLast = attempt >= attempts || clock.monotonicMs() + waitMs >= endsAtMs
        if (isLast || !mayRepeat(call, error)) throw mayBeDone ? error.asUnknown() : error
        if (!(await sleep(timers, waitMs, signal))) throw signal.reason
      }
    }
  }

  async #once<T>(call: HttpCall, actor: string | undefined, signal: AbortSignal): Promise<MasterResponse<T>> {
    await this.#turn(signal)
    const response = await this.#request(this.#deps.transport.send, call, actor, signal)
    return this.#read<T>(call.path, await rawOf(response), call.alsoGood)
  }

  #read<T>(path: string, response: RawResponse, alsoGood?: number): MasterResponse<T> {
    const nowMs = this.#options.clock.wallMs()
    return readResponse<T>({ path, alsoGood, nowMs, parse: this.#deps.parse }, response)
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
        { status: this.#refusedWith, isSent: false, cause: error },
      )
    }
  }

  /** Resolves with the head of the response. */
  async #request(
    send: Transport['send'],
    { method, path, body, bodyText, headers, alsoGood }: HttpCall,
    actor: string | undefined,
    signal: AbortSignal,
  ): Promise<TransportResponse> {
    const { timers, headersMs = HEADERS_MS } = this.#options
    const late = new AbortController()
    const text = body === undefined ? bodyText : JSON.stringify(body)
    const given = this.#options.token()
    const token =
      given instanceof Promise ? await untilAborted<string>(signal, (...ends) => void given.then(...ends)) : given
    follow(late, signal) // Also while the body is read. The signal is one of this call, and ends with it.
    const cancel = abortAfter(timers, late, headersMs, 'the master did not start its response within')
    try {
      const response = await send({
        method,
        path: `${this.#deps.prefix}${path}`,
        signal: late.signal,
        headers: {
          accept: JSON_TYPE,
          ...headers,
          authorization: `Bearer ${token}`,
          ...(actor !== undefined && method !== 'GET' && { 'muster-actor': actor }),
          ...(text !== undefined && { 'content-type': JSON_TYPE }),
        },
        ...(text !== undefined && { body: text }),
      })
      this.#note(response, alsoGood)
      return response
    } finally {
      cancel()
    }
  }

  #note({ status, header }: TransportResponse, alsoGood: number | undefined): void {
    if (!isRefusalStatus(status)) return this.#refusals.served()
    if (status === alsoGood) return
    this.#refusedWith = status
    this.#refusals.refused(parseRetryAfter(header('retry-after'), this.#options.clock.wallMs()))
  }
}

async function rawOf({ status, header, text }: TransportResponse): Promise<RawResponse> {
  return { status, header, text: await text() }
}

function mayRepeat({ method, repeat = method === 'GET' ? 'always' : 'never' }: HttpCall, error: MasterError): boolean {
  if (repeat === 'always') return error.isRetryable
  return repeat === 'when refused' && error.code === 'RATE_LIMITED'
}
