/**
 * @module worker/rpc-client
 * Calls the master over HTTP: JSON-RPC 2.0 (D23, D60), single calls and batches, and GET for the config.
 *
 * A call that the master rejects throws an {@link RpcError} with the master's code. Without a readable response, it
 * throws `unavailable`, with these data:
 *
 *   outcome         `not_sent` when the master certainly did nothing, else `unknown`: the call may have taken effect
 *   retry_after_ms  present when the master sent a Retry-After header
 *
 * Reads are retried once when the connection broke. Every other retry is the decision of the caller.
 */
import {
  LINES_TYPE,
  MAX_WAIT_MS,
  RPC_ERRORS,
  RpcError,
  type ReservedTask,
  type RpcErrorName,
  type RpcMethod,
  type RpcParams,
  type RpcResponse,
  type RpcResult,
} from '../protocol/index.ts'
import {
  cappedRetryAfterMs,
  createHttpPool,
  isRefusalStatus,
  parseRetryAfter,
  retryAfterDelayMs,
  type Cancel,
  type Clock,
  type CreateHttpPool,
  type HttpPool,
  type HttpPoolRequest,
  type HttpPoolResponse,
  type Random,
  type RefusalLimiter,
  type Timers,
} from '../runtime/index.ts'
import { readLines } from './line-reader.ts'

const CALL_MS = 15_000
/** A stream may last as long as a long poll. */
const STREAM_MS = MAX_WAIT_MS + 10_000
/** The master writes at least an empty line every 10 s. */
const LINE_MS = 25_000
/** The largest response is that of a reserve: 12 MiB of payloads and their frame. */
const MAX_BODY_BYTES = 32 * 1_048_576
/** Less than the 75 s after which the master closes an idle connection. */
const KEEP_ALIVE_MAX_MS = 60_000
const READS: ReadonlySet<RpcMethod> = new Set<RpcMethod>(['kv.get', 'counter.get'])
const NAMES = new Map(Object.entries(RPC_ERRORS).map(([name, code]) => [code as number, name as RpcErrorName]))
/** Error codes of connections that were never established. */
const NOT_SENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

export interface RpcOptions {
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}
interface ExchangeOptions extends RpcOptions {
  readonly pool?: HttpPool
  /** Called when the request is sent, which may be delayed while the master rejects requests. */
  readonly onSend?: () => void
}
interface StreamOptions {
  readonly onTasks: (tasks: readonly ReservedTask[]) => void
  /** Called when the first line has arrived. */
  readonly onAlive: () => void
  /** How long the first line may take after the request was sent, in milliseconds. */
  readonly firstLineMs: number
  readonly signal: AbortSignal
}
export type BatchedCall = { [M in RpcMethod]: { readonly method: M; readonly params: RpcParams<M> } }[RpcMethod]
export type BatchedResult =
  { readonly ok: true; readonly result: unknown } | { readonly ok: false; readonly error: RpcError }
export interface HttpResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

export interface RpcClientDeps {
  readonly clock: Clock
  readonly timers: Timers
  readonly origin: string
  readonly rpcPath: string
  readonly token: () => string
  /** Maximum number of connections to the master. Further calls wait for a free one. */
  readonly connections: number
  /** Creates the pool of connections. By default one of undici. */
  readonly createPool?: CreateHttpPool | undefined
  /** Shared by all clients of one worker. Limits their request rate while the master rejects them (D67). */
  readonly refusals: RefusalLimiter
}

export class RpcClient {
  readonly #deps: RpcClientDeps
  readonly #pool: HttpPool
  /** Streams have a pool of their own, because their length is not limited. Created for the first one. */
  #streamPool: HttpPool | undefined
  #nextId = 1

  constructor(deps: RpcClientDeps) {
    this.#deps = deps
    this.#pool = this.#createPool({ maxResponseBytes: MAX_BODY_BYTES })
  }

  /** Sends one call. @throws {RpcError} as the head of this file describes. */
  async call<M extends RpcMethod>(method: M, params: RpcParams<M>, options: RpcOptions = {}): Promise<RpcResult<M>> {
    try {
      return await this.#single(method, params, options)
    } catch (error) {
      if (READS.has(method) && error instanceof RpcError && error.data['broken'] === true)
        return this.#single(method, params, options)
      throw error
    }
  }

  /**
   * Sends 1 to 1,000 calls in one request. @returns one outcome per call, in order. @throws {RpcError} without a
   * readable response.
   */
  async batch(calls: readonly BatchedCall[], options: RpcOptions = {}): Promise<readonly BatchedResult[]> {
    const requests = calls.map(({ method, params }) => ({ jsonrpc: '2.0', id: this.#nextId++, method, params }))
    const body = await this.#post(requests, options)
    if (!Array.isArray(body)) throw errorIn(body as RpcResponse) ?? noResponse('the response to a batch is not a list')
    const byId = new Map((body as RpcResponse[]).map((each) => [each.id, each]))
    return requests.map(({ id }) => {
      const response = byId.get(id)
      if (response === undefined) return { ok: false, error: noResponse('the response to a batch lacks this call') }
      return 'result' in response
        ? { ok: true, result: response.result }
        : { ok: false, error: errorOf(response.error) }
    })
  }

  /**
   * Sends a reserve that streams. `onTasks` is called with each group of leased tasks. Resolves when the stream has
   * ended in order.
   *
   * @throws {RpcError} as the head of this file describes; with `isSilent` in its data if no line arrived within
   *   `firstLineMs`, as behind a proxy that buffers responses.
   */
  async stream(
    params: RpcParams<'tasks.reserve'>,
    { onTasks, onAlive, firstLineMs, signal }: StreamOptions,
  ): Promise<void> {
    const silence = new AbortController()
    let isSilent = true
    let cancel: Cancel = () => {}
    const onSend = (): void => {
      cancel = this.#deps.timers.after(firstLineMs, () => silence.abort(new Error('no line arrived')))
    }
    const onChunk = (): void => {
      if (isSilent) onAlive()
      isSilent = false
      cancel()
      cancel = this.#deps.timers.after(LINE_MS, () => silence.abort(new Error('the stream fell silent')))
    }
    const headers = { 'content-type': 'application/json', accept: LINES_TYPE, ...this.#authorization() }
    const call = { jsonrpc: '2.0', id: this.#nextId++, method: 'tasks.reserve', params: { ...params, stream: true } }
    const request = { method: 'POST' as const, path: this.#deps.rpcPath, headers, body: JSON.stringify([call]) }
    try {
      this.#streamPool ??= this.#createPool()
      const options = {
        pool: this.#streamPool,
        onSend,
        timeoutMs: STREAM_MS,
        signal: AbortSignal.any([silence.signal, signal]),
      }
      const response = await this.#exchange(request, options, (received) =>
        this.#readStream(received, onTasks, onChunk),
      )
      const error = response === undefined ? noResponse('the stream ended before its response') : errorIn(response)
      if (error !== undefined) throw error
      onTasks((response as { result: RpcResult<'tasks.reserve'> }).result.tasks)
    } catch (error) {
      if (isSilent && silence.signal.aborted)
        throw new RpcError('unavailable', 'no line of a stream arrived', { isSilent })
      throw error
    } finally {
      cancel()
    }
  }

  /** Sends GET with the token. @throws {RpcError} `unavailable` without a response. Safe to retry. */
  get(path: string, headers: Readonly<Record<string, string>>, options: RpcOptions = {}): Promise<HttpResponse> {
    return this.#request({ method: 'GET', path, headers: { ...headers, ...this.#authorization() } }, options)
  }

  /** Aborts all calls in flight. */
  async close(): Promise<void> {
    await Promise.all([this.#pool.destroy(), this.#streamPool?.destroy()])
  }

  #createPool(more: { readonly maxResponseBytes?: number } = {}): HttpPool {
    const { connections, createPool = createHttpPool, origin } = this.#deps
    return createPool(origin, { connections, keepAliveMaxTimeoutMs: KEEP_ALIVE_MAX_MS, ...more })
  }

  async #single<M extends RpcMethod>(method: M, params: RpcParams<M>, options: RpcOptions): Promise<RpcResult<M>> {
    const response = (await this.#post({ jsonrpc: '2.0', id: this.#nextId++, method, params }, options)) as RpcResponse
    const error = errorIn(response)
    if (error !== undefined) throw error
    return (response as { result: RpcResult<M> }).result
  }

  async #post(body: unknown, options: RpcOptions): Promise<unknown> {
    const headers = { 'content-type': 'application/json', ...this.#authorization() }
    const response = await this.#request(
      { method: 'POST', path: this.#deps.rpcPath, headers, body: JSON.stringify(body) },
      options,
    )
    if (response.status !== 200) throw this.#refusal(response)
    return parsed(response.text)
  }

  async #readStream(
    received: HttpPoolResponse,
    onTasks: (tasks: readonly ReservedTask[]) => void,
    onChunk: () => void,
  ): Promise<RpcResponse | undefined> {
    if (received.statusCode === 200 && received.headers['content-type'] === LINES_TYPE)
      return readLines(received.body, onTasks, onChunk)
    const response = await readText(received)
    if (response.status !== 200) throw this.#refusal(response)
    const body = parsed(response.text)
    return (Array.isArray(body) ? body[0] : body) as RpcResponse // A master that does not know lines.
  }

  #request(request: Omit<HttpPoolRequest, 'signal'>, options: RpcOptions): Promise<HttpResponse> {
    return this.#exchange(request, options, readText)
  }

  /** Sends one request and reads its response. */
  async #exchange<T>(
    request: Omit<HttpPoolRequest, 'signal'>,
    { pool = this.#pool, onSend, timeoutMs = CALL_MS, signal }: ExchangeOptions,
    read: (response: HttpPoolResponse) => Promise<T>,
  ): Promise<T> {
    const deadline = new AbortController()
    const cancel = this.#deps.timers.after(timeoutMs, () =>
      deadline.abort(new Error(`no response within ${timeoutMs} ms`)),
    )
    const either = signal === undefined ? deadline.signal : AbortSignal.any([deadline.signal, signal])
    try {
      await this.#turn(either)
      onSend?.()
      const response = await pool.request({ ...request, signal: either })
      this.#note(response.statusCode, response.headers['retry-after'])
      return await read(response)
    } catch (error) {
      if (error instanceof RpcError) throw error
      const code = String((error as { code?: unknown }).code)
      const data = {
        outcome: NOT_SENT.has(code) ? 'not_sent' : 'unknown',
        broken: code === 'UND_ERR_SOCKET' || code === 'ECONNRESET',
      }
      throw new RpcError('unavailable', `no response from the master: ${(error as Error).message}`, data, {
        cause: error,
      })
    } finally {
      cancel()
    }
  }

  /** Waits while the master rejects requests. The time counts towards the timeout of the call. */
  async #turn(signal: AbortSignal): Promise<void> {
    try {
      await this.#deps.refusals.turn(signal)
    } catch (cause) {
      throw new RpcError(
        'unavailable',
        'not sent: the master is rejecting requests',
        { outcome: 'not_sent' },
        { cause },
      )
    }
  }

  #note(status: number, retryAfter: string | string[] | undefined): void {
    const { clock, refusals } = this.#deps
    if (isRefusalStatus(status)) refusals.refused(parseRetryAfter(retryAfter, clock.wallMs()))
    else refusals.served()
  }

  #refusal({ status, headers }: HttpResponse): RpcError {
    const waitMs = cappedRetryAfterMs(parseRetryAfter(headers['retry-after'], this.#deps.clock.wallMs()) ?? 0)
    const hint = status === 401 || status === 403 ? ': correct the worker token (SVC_WORKER_TOKEN or its file)' : ''
    const outcome = status >= 500 ? 'unknown' : 'not_sent'
    return new RpcError('unavailable', `the master returned HTTP ${status}${hint}`, {
      outcome,
      status,
      ...(waitMs > 0 && { retry_after_ms: waitMs }),
    })
  }

  #authorization(): { authorization: string } {
    return { authorization: `Bearer ${this.#deps.token()}` }
  }
}

async function readText({ statusCode, headers, body }: HttpPoolResponse): Promise<HttpResponse> {
  return { status: statusCode, headers, text: await body.text() }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new RpcError('unavailable', 'the response of the master is not JSON', { outcome: 'unknown' }, { cause })
  }
}

function errorIn(response: RpcResponse): RpcError | undefined {
  if (typeof response !== 'object' || response === null) return noResponse('the response of the master is not JSON-RPC')
  if ('error' in response) return errorOf(response.error)
  return 'result' in response ? undefined : noResponse('the response of the master is not JSON-RPC')
}

function errorOf(error: {
  readonly code: number
  readonly message: string
  readonly data?: Readonly<Record<string, unknown>>
}): RpcError {
  return new RpcError(NAMES.get(error.code) ?? 'unavailable', error.message, error.data ?? {})
}

function noResponse(message: string): RpcError {
  return new RpcError('unavailable', message, { outcome: 'unknown' })
}

/**
 * @returns `error` as an RpcError. Any other error means a response of an unexpected shape, for example from a
 * different server.
 */
export function asRpcError(error: unknown): RpcError {
  if (error instanceof RpcError) return error
  return new RpcError(
    'unavailable',
    `invalid response of the master: ${(error as Error).message}; run the same release of master and worker`,
    { outcome: 'unknown' },
    { cause: error },
  )
}

/**
 * @returns the delay that the master requested, in milliseconds: with jitter, at most 30 s (D68), or 0 without a
 * request.
 */
export function requestedDelayMs(error: RpcError, random: Random): number {
  const ms = error.data['retry_after_ms']
  return typeof ms === 'number' && ms > 0 ? retryAfterDelayMs(ms, random) : 0
}
