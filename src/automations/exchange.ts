/**
 * @module automations/exchange
 * Sends one HTTP request within limits: a deadline for the whole exchange, a maximum size
 * of the response, and a check of every redirect. TLS is always verified, proxy variables are ignored, and the
 * authorization is dropped when the origin changes.
 */
import { Agent as HttpAgent, request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { Blocked, type Destinations } from './destinations.ts'

export type ExchangeFault = 'timeout' | 'dns' | 'refused' | 'reset' | 'tls' | 'blocked' | 'redirects' | 'other'

/** Why there was no response. The message holds no query, header or body. */
export class ExchangeError extends Error {
  override readonly name = 'ExchangeError'
  readonly fault: ExchangeFault
  constructor(fault: ExchangeFault, message: string, options?: ErrorOptions) {
    super(message, options)
    this.fault = fault
  }
}

/** Connections that stay open between exchanges of one config, because its rules were checked for them. */
export class Connections {
  readonly http = new HttpAgent({ keepAlive: true, timeout: 5_000, maxSockets: 256 })
  readonly https = new HttpsAgent({ keepAlive: true, timeout: 5_000, maxSockets: 256 })
}

export interface Exchange {
  readonly url: URL
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly timeoutMs: number
  /** Bytes of the body that are read at most. */
  readonly maxBytes: number
  readonly followRedirects: number
  /** The secret, and which URL may have it. */
  readonly authorization?: { readonly value: string; readonly allowed: (url: URL) => boolean }
  readonly destinations: Destinations
  /** Left out: a connection of its own. */
  readonly connections?: Connections
  readonly signal: AbortSignal
  /** Milliseconds. */
  readonly now: () => number
}

export interface Exchanged {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** Where the response came from, after redirects. */
  readonly url: URL
  readonly address: string | null
  readonly firstByteMs: number
  readonly totalMs: number
  readonly body: Buffer
  /** There was more than `maxBytes`. */
  readonly truncated: boolean
}

const REDIRECTS = new Set([301, 302, 303, 307, 308])

/** `scheme://host/path`, all that may stand in an error text. */
export const showUrl = (url: URL): string => `${url.origin}${url.pathname}`

/** @throws ExchangeError; the signal's reason when it was stopped. */
export async function exchange(wanted: Exchange): Promise<Exchanged> {
  const startedMs = wanted.now()
  const deadline = AbortSignal.timeout(wanted.timeoutMs)
  const signal = AbortSignal.any([wanted.signal, deadline])
  let hop: Pick<Exchange, 'url' | 'method' | 'headers' | 'body'> = wanted
  try {
    for (let redirects = 0; ; redirects += 1) {
      wanted.destinations.check(hop.url)
      const answered = await oneHop(wanted, hop, signal)
      const { response, body, truncated } = answered
      const location = response.headers.location
      const status = response.statusCode ?? 0
      if (wanted.followRedirects === 0 || !REDIRECTS.has(status) || location === undefined) {
        return {
          status,
          headers: response.headers,
          url: hop.url,
          address: answered.address,
          firstByteMs: answered.firstByteAtMs - startedMs,
          totalMs: wanted.now() - startedMs,
          body,
          truncated,
        }
      }
      if (redirects === wanted.followRedirects)
        throw new ExchangeError(
          'redirects',
          `${showUrl(wanted.url)} redirected more than ${wanted.followRedirects} times`,
        )
      hop = nextHop(hop, status, location)
    }
  } catch (error) {
    wanted.signal.throwIfAborted()
    if (deadline.aborted)
      throw new ExchangeError(
        'timeout',
        `${wanted.method} ${showUrl(wanted.url)} had no complete response within ${wanted.timeoutMs / 1_000} s`,
        { cause: error },
      )
    throw toExchangeError(error, hop.url)
  }
}

function nextHop(
  hop: Pick<Exchange, 'url' | 'method' | 'headers' | 'body'>,
  status: number,
  location: string,
): Pick<Exchange, 'url' | 'method' | 'headers' | 'body'> {
  const url = URL.parse(location, hop.url.href)
  if (url === null) throw new ExchangeError('redirects', `${showUrl(hop.url)} redirected to something that is no URL`)
  const { authorization: _, cookie: __, ...others } = hop.headers
  const headers = url.origin === hop.url.origin ? hop.headers : others
  const becomesGet = status === 303 || ((status === 301 || status === 302) && hop.method === 'POST')
  if (!becomesGet || hop.method === 'HEAD') return { ...hop, url, headers }
  return {
    url,
    method: 'GET',
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith('content-'))),
  }
}

interface Hop {
  readonly response: IncomingMessage
  readonly address: string | null
  readonly firstByteAtMs: number
  readonly body: Buffer
  readonly truncated: boolean
}

function agentOf(connections: Connections | undefined, secure: boolean): HttpAgent | HttpsAgent | false {
  if (connections === undefined) return false
  return secure ? connections.https : connections.http
}

function oneHop(
  wanted: Exchange,
  hop: Pick<Exchange, 'url' | 'method' | 'headers' | 'body'>,
  signal: AbortSignal,
): Promise<Hop> {
  const secure = hop.url.protocol === 'https:'
  const secret = wanted.authorization?.allowed(hop.url) === true ? { authorization: wanted.authorization.value } : {}
  const headers = {
    ...hop.headers,
    ...secret,
    ...(hop.body === undefined ? {} : { 'content-length': `${Buffer.byteLength(hop.body)}` }),
  }
  const agent = agentOf(wanted.connections, secure)
  return new Promise((resolve, reject) => {
    const request: ClientRequest = (secure ? httpsRequest : httpRequest)(hop.url, {
      method: hop.method,
      headers,
      agent,
      lookup: wanted.destinations.lookup,
      signal,
      maxHeaderSize: 65_536,
    })
    request.once('error', reject)
    request.once('response', (response) => {
      const firstByteAtMs = wanted.now()
      const address = response.socket.remoteAddress ?? null
      readUpTo(response, wanted.maxBytes).then(
        ({ body, truncated }) => resolve({ response, address, firstByteAtMs, body, truncated }),
        reject,
      )
    })
    request.end(hop.body)
  })
}

/** Reads at most `limit` bytes; a longer response is cut off there and its connection closed. */
function readUpTo(response: IncomingMessage, limit: number): Promise<{ body: Buffer; truncated: boolean }> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes <= limit) return
      resolve({ body: Buffer.concat(chunks).subarray(0, limit), truncated: true })
      response.destroy()
    })
    response.once('end', () => resolve({ body: Buffer.concat(chunks), truncated: false }))
    response.once('error', reject)
    response.once('close', () =>
      reject(
        Object.assign(new Error('the connection was closed in the middle of the response'), { code: 'ECONNRESET' }),
      ),
    )
  })
}

const FAULTS: Readonly<Record<string, ExchangeFault>> = {
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  ENODATA: 'dns',
  ECONNREFUSED: 'refused',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  ETIMEDOUT: 'timeout',
}

function toExchangeError(error: unknown, url: URL): Error {
  if (error instanceof ExchangeError) return error
  if (error instanceof Blocked) return new ExchangeError('blocked', error.message, { cause: error })
  const { code = '', message } = error as NodeJS.ErrnoException
  const tls =
    code.startsWith('ERR_TLS') ||
    code.startsWith('ERR_SSL') ||
    code.includes('CERT') ||
    code === 'EPROTO' ||
    code.includes('SIGNED') ||
    code.includes('VERIFY')
  const fault = FAULTS[code] ?? (tls ? 'tls' : 'other')
  return new ExchangeError(fault, `${showUrl(url)}: ${fault}${code === '' ? ` (${message})` : ` (${code})`}`, {
    cause: error,
  })
}
