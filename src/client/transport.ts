/**
 * @module client/transport
 * One call: a request over a pool of kept connections, its answer, and the decision whether it is sent again.
 *
 *   send ──no connection, broken, late──▶ may the same call be sent twice? ──no──▶ MasterError, `outcome` says what is known
 *     ▲  ──429, 503 ─────────────────────▶            │ yes
 *     └────── wait: full jitter, never less than Retry-After, never beyond the time of the whole call ◀──┘
 *
 * The token is asked for with every request, since it may rotate. A call whose answer was lost is *unknown*: it goes out
 * again only where twice is the same as once.
 */
import { Pool, type Dispatcher } from 'undici'
import { Backoff, type Clock, type Random, type Timers } from '../runtime/index.ts'
import { masterAddress, type MasterAddress } from './address.ts'
import { readAnswer, type RawAnswer, type Reply } from './answer.ts'
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
const MAX_RESPONSE_BYTES = 64 * 1_048_576
/** Errors of a connection that was never made. */
const NOT_SENT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

export interface ClientOptions {
  /** http or https; a path prefix is kept. */
  readonly masterUrl: string
  /** Asked for with every request. */
  readonly token: () => string
  readonly clock: Clock
  readonly timers: Timers
  readonly random: Random
  /** Sent as `Muster-Actor` with every change (D39). */
  readonly actor?: string
  readonly connectMs?: number
  /** From sending to the first line of the answer. */
  readonly headersMs?: number
  /** The whole call, repeats and waits included. */
  readonly callMs?: number
  /** How often a call that may be repeated goes out at most. */
  readonly attempts?: number
  readonly connections?: number
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined
}
/** `actor`: who makes this change, in the place of the client's own. */
export interface ChangeOptions extends CallOptions {
  readonly actor?: string | undefined
}

export interface Call {
  readonly method: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** May go out again: whatever happened, or only when a 429 says that nothing was done. Left out: GET always, others never. */
  readonly repeat?: 'always' | 'when refused' | 'never'
  /** A status beside 2xx whose body is data. */
  readonly alsoGood?: number
}

export class Transport {
  readonly address: MasterAddress
  readonly #options: ClientOptions
  readonly #pool: Pool
  #streams: Pool | null = null

  /** @throws TypeError when the URL of the master cannot be used. */
  constructor(options: ClientOptions) {
    this.#options = options
    this.address = masterAddress(options.masterUrl)
    this.#pool = this.#newPool({ connections: options.connections ?? CONNECTIONS, maxResponseSize: MAX_RESPONSE_BYTES })
  }

  /** @throws {MasterError}; what `signal` aborted with. */
  async call<T>(call: Call, { signal, actor }: ChangeOptions = {}): Promise<Reply<T>> {
    const { clock, timers, random, callMs = CALL_MS, attempts = ATTEMPTS } = this.#options
    const late = new AbortController()
    const endsAtMs = clock.monotonicMs() + callMs
    const cancel = timers.after(callMs, () =>
      late.abort(new MasterError('TIMED_OUT', `the master did not answer within ${callMs / 1_000} s`)),
    )
    const backoff = new Backoff({ baseMs: BACKOFF_BASE_MS, capMs: BACKOFF_CAP_MS, random })
    const either = signal === undefined ? late.signal : AbortSignal.any([signal, late.signal])
    try {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await this.#once<T>(call, actor ?? this.#options.actor, either)
        } catch (error) {
          if (!(error instanceof MasterError) || attempt >= attempts || !mayRepeat(call, error)) throw error
          const waitMs = Math.max(backoff.nextMs(), error.retryAfterMs ?? 0)
          if (clock.monotonicMs() + waitMs >= endsAtMs) throw error
          await timers.sleep(waitMs, either)
        }
      }
    } finally {
      cancel()
    }
  }

  /** The bytes of an answer that goes on; the caller watches over its silence. @throws {MasterError} */
  async open(
    path: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<{ readonly chunks: AsyncIterable<Buffer>; readonly epoch: string }> {
    this.#streams ??= this.#newPool({ connections: null })
    const answer = await this.#request(this.#streams, { method: 'GET', path, headers }, undefined, signal)
    const type = String(answer.headers['content-type'] ?? '')
    if (answer.statusCode === 200 && type.startsWith('text/event-stream'))
      return { chunks: answer.body, epoch: String(answer.headers['muster-epoch'] ?? '') }
    const raw: RawAnswer = { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() }
    readAnswer(path, raw, this.#options.clock.wallMs()) // Throws for every refusal.
    throw new MasterError(
      'FOREIGN',
      `the answer did not come from a Muster master: ${type} where server-sent events were asked for`,
      { status: raw.status },
    )
  }

  /** Ends every call that is still out. */
  async close(): Promise<void> {
    await Promise.all([this.#pool.destroy(), this.#streams?.destroy()])
  }

  #newPool(options: Pool.Options): Pool {
    const { connectMs = CONNECT_MS } = this.#options
    return new Pool(this.address.origin, {
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveMaxTimeout: KEEP_ALIVE_MAX_MS,
      connect: { timeout: connectMs },
      ...options,
    })
  }

  async #once<T>(call: Call, actor: string | undefined, signal: AbortSignal): Promise<Reply<T>> {
    const answer = await this.#request(this.#pool, call, actor, signal)
    const text = await answer.body.text().catch((error: unknown) => {
      throw noAnswer(error, signal)
    })
    return readAnswer<T>(
      call.path,
      { status: answer.statusCode, headers: answer.headers, text },
      this.#options.clock.wallMs(),
      call.alsoGood,
    )
  }

  /** Resolves with the head of the answer. */
  async #request(
    pool: Pool,
    { method, path, body, headers }: Call,
    actor: string | undefined,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    const { timers, token, headersMs = HEADERS_MS } = this.#options
    const late = new AbortController()
    const cancel = timers.after(headersMs, () =>
      late.abort(new MasterError('TIMED_OUT', `the master did not begin to answer within ${headersMs / 1_000} s`)),
    )
    const either = AbortSignal.any([signal, late.signal])
    try {
      return await pool.request({
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
    } catch (error) {
      throw noAnswer(error, either)
    } finally {
      cancel()
    }
  }
}

function mayRepeat({ method, repeat = method === 'GET' ? 'always' : 'never' }: Call, error: MasterError): boolean {
  if (repeat === 'always') return error.retryable
  return repeat === 'when refused' && error.code === 'RATE_LIMITED'
}

/** Why nothing, or only a part, came back. What the caller aborted with is theirs, and stays what it is. */
function noAnswer(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  const { code = '', message } = error as { code?: string; message: string }
  if (code === 'UND_ERR_INVALID_ARG' || code === 'UND_ERR_DESTROYED' || code === 'UND_ERR_CLOSED') return error
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE')
    return new MasterError('FOREIGN', `the answer is larger than ${MAX_RESPONSE_BYTES} bytes; ask for less at a time`, {
      cause: error,
    })
  if (NOT_SENT.has(code) || /CERT|TLS|SSL|UNABLE_TO_/.test(code))
    return new MasterError('UNREACHABLE', `there is no connection to the master: ${message || code}`, { cause: error })
  return new MasterError('BROKEN', `the connection ended before the master had answered: ${message || code}`, {
    cause: error,
  })
}
