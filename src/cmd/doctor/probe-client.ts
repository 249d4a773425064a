/**
 * @module cmd/doctor/probe-client
 * Sends single requests to the master. Unlike the client of the other commands it repeats nothing, and returns every
 * end of a request, because how a request ends is what the checks look at.
 */
import { createHttpPool, type HttpPool, type HttpPoolResponse, type Time } from '../../runtime/index.ts'
import type { Connection } from '../admin/index.ts'

const CONNECTIONS = 16
const MAX_RESPONSE_BYTES = 64 * 1_048_576

export interface ProbeRequest {
  readonly method?: 'GET' | 'POST'
  /** Below the path of the master's URL. */
  readonly path: string
  readonly timeoutMs: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Whether the token is left out. */
  readonly isAnonymous?: boolean
}

export interface Response {
  readonly kind: 'response'
  readonly status: number
  readonly text: string
  readonly tookMs: number
  readonly header: (name: string) => string | undefined
  /** @returns the body; undefined if it is not JSON. */
  readonly json: () => unknown
  /** Whether the master sent it, and not a proxy. */
  readonly isOfMaster: boolean
}

/** The end of a request. */
export type Reply =
  | Response
  | { readonly kind: 'late'; readonly tookMs: number }
  /** The connection was refused or broke. */
  | { readonly kind: 'lost'; readonly problem: string; readonly tookMs: number }

/** Only the master sends it. */
const MASTER_HEADER = 'muster-request-id'

export class ProbeClient {
  readonly #connection: Connection
  readonly #time: Time
  readonly #pool: HttpPool
  readonly #prefix: string
  #product: string | undefined

  constructor(connection: Connection, time: Time) {
    const { masterUrl, ca } = connection
    this.#connection = connection
    this.#time = time
    this.#prefix = masterUrl.pathname.replace(/\/+$/, '')
    this.#pool = createHttpPool(masterUrl.origin, {
      connections: CONNECTIONS,
      maxResponseBytes: MAX_RESPONSE_BYTES,
      ...(ca !== undefined && { ca }),
    })
  }

  /** The header `Server` of the last response that had one: the name of the proxy. */
  get product(): string | undefined {
    return this.#product
  }

  /** Sends a request, and reads the whole response. */
  send(request: ProbeRequest): Promise<Reply> {
    return this.#timed(request, async (response, sinceMs) => {
      const text = await response.body.text()
      return this.#response(response, text, sinceMs)
    })
  }

  /** Sends a request, reads until the text matches or the response ends, and aborts it. */
  sendUntil(request: ProbeRequest, isEnough: (text: string) => boolean): Promise<Reply> {
    return this.#timed(request, async (response, sinceMs) => {
      let text = ''
      for await (const chunk of response.body) {
        text += chunk.toString()
        if (isEnough(text)) break
      }
      return this.#response(response, text, sinceMs)
    })
  }

  close(): Promise<void> {
    return this.#pool.destroy()
  }

  async #timed(
    { method = 'GET', path, timeoutMs, headers = {}, body, isAnonymous = false }: ProbeRequest,
    read: (response: HttpPoolResponse, sinceMs: number) => Promise<Reply>,
  ): Promise<Reply> {
    const end = new AbortController()
    const cancel = this.#time.after(timeoutMs, () => end.abort())
    const sinceMs = this.#time.monotonicMs()
    try {
      const response = await this.#pool.request({
        method,
        path: `${this.#prefix}${path}`,
        signal: end.signal,
        headers: {
          accept: 'application/json',
          ...(!isAnonymous && { authorization: `Bearer ${this.#connection.token()}` }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body }),
      })
      return await read(response, sinceMs)
    } catch (error) {
      const tookMs = this.#time.monotonicMs() - sinceMs
      if (end.signal.aborted) return { kind: 'late', tookMs }
      return { kind: 'lost', problem: problemOf(error), tookMs }
    } finally {
      cancel()
    }
  }

  #response({ statusCode, headers }: HttpPoolResponse, text: string, sinceMs: number): Response {
    const header = (name: string): string | undefined => {
      const value = headers[name]
      return typeof value === 'string' ? value : value?.[0]
    }
    this.#product = header('server') ?? this.#product
    return {
      kind: 'response',
      status: statusCode,
      text,
      tookMs: this.#time.monotonicMs() - sinceMs,
      header,
      json: () => parsed(text),
      isOfMaster: header(MASTER_HEADER) !== undefined,
    }
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function problemOf(error: unknown): string {
  const { code = '', message } = error as { readonly code?: string; readonly message: string }
  return message.includes(code) ? message : `${message} (${code})`
}

/** What the master says about a failed call; the status if it says nothing. */
function detailOf({ status, json, isOfMaster }: Response): string {
  const { detail } = (json() ?? {}) as { readonly detail?: unknown }
  return `HTTP ${status}${isOfMaster ? '' : ' from a proxy'}${typeof detail === 'string' ? `: ${detail}` : ''}`
}

/** How a request ended that should have got another response. */
export function endOf(reply: Reply): string {
  if (reply.kind === 'response') return detailOf(reply)
  const seconds = `${(reply.tookMs / 1_000).toFixed(1)} s`
  return reply.kind === 'late'
    ? `no response within ${seconds}`
    : `the connection ended after ${seconds}: ${reply.problem}`
}
