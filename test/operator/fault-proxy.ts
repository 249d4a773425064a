/**
 * A proxy between the operator and a real API server that injects faults: it rejects requests, delays responses, cuts
 * watches, or ends them as expired. All other requests are passed through unchanged.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { Agent, request } from 'undici'
import type { ApiServer } from './real-apiserver.ts'

export type Fault =
  | { readonly kind: 'status'; readonly status: number; readonly retryAfterSeconds?: number }
  /** The connection breaks before the request was passed on, or after it took effect. */
  | { readonly kind: 'reset'; readonly when: 'before' | 'after' }
  | { readonly kind: 'late'; readonly ms: number }

export interface Asked {
  readonly method: string
  readonly path: string
  readonly isWatch: boolean
}

const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'host', 'content-length'])
const EXPIRED = {
  type: 'ERROR',
  object: {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    reason: 'Expired',
    code: 410,
    message: 'too old resource version',
  },
}

export class FaultProxy {
  /** The fault of a request; `undefined`: none. */
  fault: (asked: Asked) => Fault | undefined = () => undefined
  readonly #agent: Agent
  readonly #server: Server
  readonly #target: ApiServer
  readonly #watches = new Set<ServerResponse>()
  #spoilt = 0

  constructor(target: ApiServer) {
    this.#target = target
    this.#agent = new Agent({ connect: { ca: readFileSync(target.caFile, 'utf8') }, bodyTimeout: 0, headersTimeout: 0 })
    this.#server = createServer((asked, answer) => {
      this.#serve(asked, answer).catch(() => answer.destroy()) // One of the two sides has disconnected.
    })
  }

  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Number of requests with a fault so far. */
  get spoilt(): number {
    return this.#spoilt
  }

  /** Number of open watches. */
  get watches(): number {
    return this.#watches.size
  }

  /** Cuts every watch in the middle of a line. */
  cutWatches(): void {
    for (const watch of this.#watches) {
      watch.write('{"type":"MODIFIED","object":{"metada')
      setImmediate(() => watch.destroy())
    }
  }

  /** Ends every watch like an API server that has compacted its history. */
  expireWatches(): void {
    for (const watch of this.#watches) watch.end(`${JSON.stringify(EXPIRED)}\n`)
  }

  async close(): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
    await this.#agent.destroy()
  }

  async #serve(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const url = asked.url ?? '/'
    const isWatch = /[?&]watch=true/.test(url)
    const fault = this.fault({ method: asked.method ?? '', path: url, isWatch })
    if (fault !== undefined) this.#spoilt += 1
    if (fault?.kind === 'reset' && fault.when === 'before') return void answer.destroy()
    if (fault?.kind === 'status') return refuse(answer, fault.status, fault.retryAfterSeconds)
    if (fault?.kind === 'late') await pause(fault.ms)
    const chunks: Buffer[] = []
    for await (const chunk of asked) chunks.push(chunk as Buffer)
    const headers = Object.fromEntries(Object.entries(asked.headers).filter(([name]) => !HOP_BY_HOP.has(name)))
    const gone = new AbortController()
    answer.once('close', () => gone.abort())
    const passed = await request(`${this.#target.url}${url}`, {
      method: asked.method as 'GET',
      headers,
      dispatcher: this.#agent,
      signal: gone.signal,
      ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
    })
    if (fault?.kind === 'reset') return void answer.destroy()
    const passedHeaders = Object.entries(passed.headers).filter(([name]) => !HOP_BY_HOP.has(name))
    answer.writeHead(passed.statusCode, Object.fromEntries(passedHeaders))
    answer.flushHeaders()
    if (isWatch) this.#watches.add(answer)
    answer.once('close', () => this.#watches.delete(answer))
    await pipeline(passed.body, answer)
  }
}

function refuse(answer: ServerResponse, code: number, retryAfterSeconds: number | undefined): void {
  const headers = {
    'content-type': 'application/json',
    ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
  }
  answer.writeHead(code, headers).end(
    JSON.stringify({
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      code,
      reason: 'Injected',
      message: 'spoilt by the test',
    }),
  )
}
