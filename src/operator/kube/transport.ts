/**
 * @module operator/kube/transport
 * Sends HTTP requests to the API server. Per TLS identity there are two keep-alive pools: one of up to 160 connections
 * for calls, and one for watches. A watch occupies a connection for minutes, so in a shared pool watches of many
 * namespaces would leave no connection for calls. Another CA or client certificate creates new pools; the old ones
 * finish their requests.
 *
 * A call either returns a response or throws a {@link KubeError}. The only retry is of a GET whose idle connection was
 * already closed. Redirects are errors: the token is for this server alone.
 */
import { Buffer } from 'node:buffer'
import { Agent, type Dispatcher } from 'undici'
import type { Clock, Timers } from '../../runtime/index.ts'
import type { Credentials, KubeIdentity } from './identity.ts'
import { errorOfStatus, KubeError } from './kube-error.ts'
import { LineReader } from './line-reader.ts'

/** For as many calls as the other parts of the operator have in flight: 140 statuses, 16 reconciles, and a few more. */
const CALL_CONNECTIONS = 160
const CONNECT_MS = 2_000
const HEADERS_MS = 10_000
const CALL_MS = 15_000
/** How long credentials are used before they are read again: they come from files, or from a program. */
const CREDENTIALS_MS = 1_000
/** A watch without data for this long is half-open: a bookmark arrives about every minute. */
const IDLE_MS = 90_000
/** Below the 90 s after which the API server closes an idle connection. */
const KEEP_ALIVE_MS = 30_000
const KEEP_ALIVE_MAX_MS = 60_000
const BROKEN_SOCKET = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'])

export interface KubeRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  readonly body?: unknown
  /** Default: `application/json`. */
  readonly contentType?: string
  /** Default: `application/json`. */
  readonly accept?: string
  /** A larger response fails with `TooLarge`. Default: no limit. */
  readonly maxBytes?: number
}

export interface KubeResponse<T> {
  readonly status: number
  readonly body: T
  /** The API server's clock, in milliseconds since 1970; `undefined` without a `Date` header. */
  readonly dateMs: number | undefined
  /** Size of the body. */
  readonly bytes: number
}

export interface WatchLine {
  readonly type: string
  readonly object: unknown
}

export interface KubeTransport {
  /** Sends one call. @throws {KubeError} */
  json<T>(request: KubeRequest, signal: AbortSignal): Promise<KubeResponse<T>>
  /**
   * Yields the lines of a watch until the server closes it. @throws {KubeError} `Idle` after 90 s without a byte, and
   * `UnreadableLine`.
   */
  lines(request: KubeRequest, signal: AbortSignal): AsyncIterable<WatchLine>
}

/** A transport that a process closes when it stops. */
export interface ClosableTransport extends KubeTransport {
  /** Ends every call in flight. */
  close(): Promise<void>
}

export interface TransportDeps {
  readonly identity: KubeIdentity
  readonly clock: Clock
  readonly timers: Timers
  /** Called for every response. The code of a call without a response is `<error>`, as in client-go. */
  readonly onRequest?: (method: string, code: string, host: string) => void
}

interface Pools {
  readonly tls: Credentials['tls']
  readonly identity: string
  readonly calls: Agent
  readonly watches: Agent
}
type Response = Dispatcher.ResponseData

export class PooledTransport implements ClosableTransport {
  readonly #deps: TransportDeps
  readonly #draining = new Set<Pools>()
  #pools: Pools | undefined
  #known: { readonly credentials: Credentials; readonly untilMs: number } | undefined

  constructor(deps: TransportDeps) {
    this.#deps = deps
  }

  async json<T>(request: KubeRequest, signal: AbortSignal): Promise<KubeResponse<T>> {
    try {
      return await this.#call<T>(request, signal)
    } catch (error) {
      const isBroken = BROKEN_SOCKET.has(codeOf((error as Error).cause)) && request.method === 'GET' && !signal.aborted
      if (!isBroken) throw error
      return this.#call<T>(request, signal)
    }
  }

  async *lines(request: KubeRequest, signal: AbortSignal): AsyncGenerator<WatchLine> {
    const idle = new Deadline(this.#deps.timers, signal)
    let isOpen = false
    try {
      idle.set(HEADERS_MS)
      const response = await this.#send(request, 'watches', idle.signal)
      isOpen = true
      const reader = new LineReader()
      idle.set(IDLE_MS)
      for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
        idle.set(IDLE_MS)
        for (const line of reader.push(chunk)) yield parsedLine(line)
      }
    } catch (error) {
      if (!idle.hasExpired) throw asKubeError(error, signal)
      throw isOpen ? new KubeError(0, 'Idle', 'the watch was silent for too long', { cause: error }) : tooLate(error)
    } finally {
      idle.end()
    }
  }

  async close(): Promise<void> {
    const all = [...this.#draining, ...(this.#pools === undefined ? [] : [this.#pools])]
    this.#pools = undefined
    await Promise.all(all.flatMap(({ calls, watches }) => [calls.destroy(), watches.destroy()]))
  }

  async #call<T>(request: KubeRequest, signal: AbortSignal): Promise<KubeResponse<T>> {
    const { clock, timers } = this.#deps
    const deadline = new Deadline(timers, signal)
    const untilMs = clock.monotonicMs() + CALL_MS
    try {
      deadline.set(HEADERS_MS)
      const response = await this.#send(request, 'calls', deadline.signal)
      deadline.set(untilMs - clock.monotonicMs())
      const body = await readBody(response, request.maxBytes)
      return {
        status: response.statusCode,
        body: parsed(body.toString('utf8')) as T,
        dateMs: dateOf(response),
        bytes: body.length,
      }
    } catch (error) {
      if (deadline.hasExpired) throw tooLate(error)
      throw asKubeError(error, signal)
    } finally {
      deadline.end()
    }
  }

  async #send(request: KubeRequest, pool: 'calls' | 'watches', signal: AbortSignal): Promise<Response> {
    const { server } = this.#deps.identity
    const credentials = await this.#credentials()
    signal.throwIfAborted() // An exec plugin may have taken long.
    const agent = this.#poolsOf(credentials)[pool]
    let response: Response
    try {
      response = await agent.request({
        origin: server.origin,
        path: `${server.pathname.replace(/\/$/, '')}${request.path}`,
        query: definedOf(request.query),
        method: request.method,
        signal,
        headers: headersOf(request, credentials),
        ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
      })
    } catch (error) {
      this.#deps.onRequest?.(request.method, '<error>', server.host)
      throw error
    }
    this.#deps.onRequest?.(request.method, String(response.statusCode), server.host)
    if (response.statusCode === 401) this.#known = undefined
    if (response.statusCode >= 300) throw await this.#refusal(response)
    return response
  }

  async #credentials(): Promise<Credentials> {
    const { clock, identity } = this.#deps
    const nowMs = clock.monotonicMs()
    if (this.#known !== undefined && nowMs < this.#known.untilMs) return this.#known.credentials
    const credentials = await identity.credentials()
    this.#known = { credentials, untilMs: nowMs + CREDENTIALS_MS }
    return credentials
  }

  async #refusal(response: Response): Promise<KubeError> {
    const text = await response.body.text()
    const retryAfter = response.headers['retry-after']
    return errorOfStatus(response.statusCode, statusBody(text), typeof retryAfter === 'string' ? retryAfter : undefined)
  }

  #poolsOf({ tls }: Credentials): Pools {
    const known = this.#pools
    if (known?.tls === tls) return known
    const identity = JSON.stringify(tls)
    if (known?.identity === identity) return (this.#pools = { ...known, tls })
    const options: Agent.Options = {
      pipelining: 1,
      allowH2: false,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MAX_MS,
      connect: { timeout: CONNECT_MS, ...tls },
    }
    this.#pools = {
      tls,
      identity,
      calls: new Agent({ ...options, connections: CALL_CONNECTIONS }),
      watches: new Agent(options),
    }
    if (known !== undefined) this.#drain(known)
    return this.#pools
  }

  #drain(old: Pools): void {
    this.#draining.add(old)
    void Promise.all([old.calls.close(), old.watches.close()]).finally(() => this.#draining.delete(old))
  }
}

/**
 * Aborts after a time that can be reset, or together with its parent. It must be ended. `AbortSignal.any` would do the
 * same without an end, for 12 instead of 1.5 µs.
 */
class Deadline {
  readonly #timers: Timers
  readonly #parent: AbortSignal
  readonly #abort = new AbortController()
  #cancel: () => void = () => {}
  hasExpired = false

  constructor(timers: Timers, parent: AbortSignal) {
    this.#timers = timers
    this.#parent = parent
    if (parent.aborted) this.#abort.abort(parent.reason)
    else parent.addEventListener('abort', this)
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** Called when the parent aborts. */
  handleEvent(): void {
    this.#abort.abort(this.#parent.reason)
  }

  set(ms: number): void {
    this.#cancel()
    this.#cancel = this.#timers.after(ms, () => {
      this.hasExpired = true
      this.#abort.abort()
    })
  }

  end(): void {
    this.#cancel()
    this.#parent.removeEventListener('abort', this)
  }
}

function headersOf(request: KubeRequest, { authorization }: Credentials): Record<string, string> {
  return {
    accept: request.accept ?? 'application/json',
    'user-agent': 'muster-operator',
    ...(authorization === undefined ? {} : { authorization }),
    ...(request.body === undefined ? {} : { 'content-type': request.contentType ?? 'application/json' }),
  }
}

const definedOf = (query: KubeRequest['query']): Record<string, string> =>
  Object.fromEntries(
    Object.entries(query ?? {}).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  )

/** @throws {KubeError} `TooLarge` above the limit; the connection ends then. */
async function readBody({ body }: Response, maxBytes = Infinity): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    bytes += chunk.length
    if (bytes > maxBytes) throw new KubeError(0, 'TooLarge', `the response is larger than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function dateOf({ headers }: Response): number | undefined {
  const ms = Date.parse(String(headers['date']))
  return Number.isNaN(ms) ? undefined : ms
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new KubeError(0, 'UnreadableResponse', 'the API server returned something other than JSON', {
      cause: error,
    })
  }
}

/** Parses the body of an error response; a proxy may have sent any other text. */
function statusBody(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // The HTTP status is sufficient.
  }
}

function parsedLine(line: string): WatchLine {
  try {
    const { type, object } = JSON.parse(line) as Partial<WatchLine>
    if (typeof type === 'string' && typeof object === 'object' && object !== null) return { type, object }
  } catch (error) {
    throw new KubeError(0, 'UnreadableLine', 'a line of the watch is not JSON', { cause: error })
  }
  throw new KubeError(0, 'UnreadableLine', 'a line of the watch is not an event')
}

const tooLate = (cause: unknown): KubeError =>
  new KubeError(0, 'NoResponse', 'the API server did not respond in time', { cause })

const codeOf = (error: unknown): string => String((error as { code?: unknown } | undefined)?.code)

function asKubeError(error: unknown, signal: AbortSignal): Error {
  if (error instanceof KubeError) return error
  if (signal.aborted)
    return signal.reason instanceof Error ? signal.reason : new Error('aborted', { cause: signal.reason })
  return new KubeError(0, 'NoResponse', `the API server did not respond: ${(error as Error).message}`, { cause: error })
}
