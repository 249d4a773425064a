/**
 * @module client/undici-transport
 * Sends requests over pools of undici's connections: one for calls, and one without a limit for streams. Used by the
 * operator and the command line.
 */
import { createHttpPool, type CreateHttpPool, type HttpPool, type HttpPoolOptions } from '../runtime/index.ts'
import { connectionFailure } from './connection-failure.ts'
import { MasterError } from './master-error.ts'
import type { Transport, TransportRequest, TransportResponse } from './transport.ts'

const CONNECT_MS = 2_000
const CONNECTIONS = 16
/** Below the 75 s after which the master closes an idle connection. */
const KEEP_ALIVE_MAX_MS = 60_000
/** Twice the bound of the master's inspections. */
const MAX_BODY_BYTES = 64 * 1_048_576
const MISUSED: ReadonlySet<string> = new Set(['UND_ERR_INVALID_ARG', 'UND_ERR_DESTROYED', 'UND_ERR_CLOSED'])

/** Options of the connections. */
export interface ConnectionOptions {
  /** Timeout of establishing a connection in milliseconds; 2,000 by default. */
  readonly connectMs?: number
  /** Maximum number of connections for calls; 16 by default. */
  readonly connections?: number
  /** PEM text of the CA certificates that verify the master, in place of those of the system. */
  readonly ca?: string
  /** Creates the pools of connections. By default those of undici. */
  readonly createPool?: CreateHttpPool
  /**
   * Returns the time after which the master refuses the change that is being sent, in whole milliseconds since 1970 by
   * the master's clock (D150). `undefined`: never.
   */
  readonly notAfterMs?: () => number | undefined
}

/** The connections of a client. */
export class UndiciTransport implements Transport {
  readonly #origin: string
  readonly #options: ConnectionOptions
  readonly #calls: HttpPool
  #streams: HttpPool | null = null

  /**
   * Opens no connection yet.
   * @param origin Scheme, host and port of the master.
   */
  constructor(origin: string, options: ConnectionOptions) {
    this.#origin = origin
    this.#options = options
    this.#calls = this.#newPool({
      connections: options.connections ?? CONNECTIONS,
      maxResponseBytes: MAX_BODY_BYTES,
    })
  }

  readonly send = (request: TransportRequest): Promise<TransportResponse> =>
    sendOver(this.#calls, this.#withNotAfter(request))

  readonly sendForStream = (request: TransportRequest): Promise<TransportResponse> => {
    this.#streams ??= this.#newPool({ connections: null })
    return sendOver(this.#streams, request)
  }

  readonly close = async (): Promise<void> => {
    await Promise.all([this.#calls.destroy(), this.#streams?.destroy()])
  }

  #withNotAfter(request: TransportRequest): TransportRequest {
    const notAfterMs = request.method === 'GET' ? undefined : this.#options.notAfterMs?.()
    if (notAfterMs === undefined) return request
    return { ...request, headers: { ...request.headers, 'muster-not-after': String(notAfterMs / 1_000) } }
  }

  #newPool(options: HttpPoolOptions): HttpPool {
    const { connectMs = CONNECT_MS, ca, createPool = createHttpPool } = this.#options
    return createPool(this.#origin, {
      keepAliveMaxTimeoutMs: KEEP_ALIVE_MAX_MS,
      connectMs,
      ...(ca !== undefined && { ca }),
      ...options,
    })
  }
}

async function sendOver(pool: HttpPool, request: TransportRequest): Promise<TransportResponse> {
  const { signal } = request
  try {
    const { statusCode, headers, body } = await pool.request(request)
    return {
      status: statusCode,
      header: (name) => first(headers[name]),
      text: () =>
        body.text().catch((error: unknown) => {
          throw failureOf(error, signal)
        }),
      chunks: () => body,
    }
  } catch (error) {
    throw failureOf(error, signal)
  }
}

/** Converts the error of a missing or incomplete response. The reason of the caller's own abort is passed through. */
function failureOf(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  const { code = '', message } = error as { code?: string; message: string }
  if (MISUSED.has(code)) return error
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE')
    return new MasterError(
      'FOREIGN',
      `the response is larger than ${MAX_BODY_BYTES} bytes; request fewer items at a time`,
      { cause: error },
    )
  return connectionFailure(code, message, error)
}

const first = (header: string | readonly string[] | undefined): string | undefined =>
  typeof header === 'string' ? header : header?.[0]
