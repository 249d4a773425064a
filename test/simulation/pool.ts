/** An HttpPool over the simulated network: each request goes to a master that a simulated load balancer chooses. */
import type { RequestListener } from 'node:http'
import type { CreateHttpPool, HttpPool, HttpPoolRequest, HttpPoolResponse } from '../../src/runtime/index.ts'
import { callHandler, type ResponsePart } from './http-pair.ts'
import type { Channel, Fate, Network } from './network.ts'
import type { SimProcess } from './process.ts'

interface HttpTarget {
  readonly process: SimProcess
  readonly handle: RequestListener
}

/** A request whose response was received completely. */
export interface Exchange {
  readonly process: SimProcess
  readonly method: string
  readonly path: string
  readonly body: string
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  /** When the request was sent, in virtual time. */
  readonly sentAtMs: number
}

/** A response that a master has written completely; whether the client receives it is not known yet. */
export interface Served {
  readonly master: SimProcess
  readonly method: string
  readonly path: string
  readonly body: string
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

export interface PoolDeps {
  readonly process: SimProcess
  readonly network: Network
  /** The master that the load balancer chooses; undefined if none runs. */
  readonly target: () => HttpTarget | undefined
  /** Called when a client has received a whole response, before its code continues. */
  readonly onExchange: (exchange: Exchange) => void
  /** Called when a master has written a whole response. */
  readonly onServed: (served: Served) => void
}

const failure = (code: string): Error => Object.assign(new Error(`simulated: ${code}`), { code })

/** The body of a response while it arrives. */
class Body implements AsyncIterable<Buffer> {
  readonly #chunks: Buffer[] = []
  #error: Error | undefined
  #isComplete = false
  #wake = (): void => {}

  push(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#wake()
  }

  /** Completes the body. @returns all of it. */
  end(): string {
    this.#isComplete = true
    this.#wake()
    return this.received
  }

  fail(error: Error): void {
    if (this.#isComplete) return
    this.#error ??= error
    this.#wake()
  }

  get received(): string {
    return Buffer.concat(this.#chunks).toString('utf8')
  }

  async text(): Promise<string> {
    while (!this.#isComplete) await this.#more()
    return this.received
  }

  async dump(): Promise<void> {}

  async *[Symbol.asyncIterator](): AsyncIterator<Buffer> {
    for (;;) {
      const chunk = this.#chunks.shift()
      if (chunk !== undefined) yield chunk
      else if (this.#isComplete) return
      else await this.#more()
    }
  }

  #more(): Promise<void> {
    if (this.#error !== undefined) return Promise.reject(this.#error)
    return new Promise((resolve, reject) => {
      this.#wake = () => (this.#error === undefined ? resolve() : reject(this.#error))
    })
  }
}

class SimPool implements HttpPool {
  readonly #deps: PoolDeps
  /** Ends each request that is under way. */
  readonly #underWay = new Set<(reason: Error) => void>()
  #isDestroyed = false

  constructor(deps: PoolDeps) {
    this.#deps = deps
  }

  async destroy(): Promise<void> {
    this.#isDestroyed = true
    for (const abort of this.#underWay) abort(failure('UND_ERR_DESTROYED'))
  }

  request(request: HttpPoolRequest): Promise<HttpPoolResponse> {
    const { network, process, target } = this.#deps
    const master = target()
    const { signal } = request
    if (signal.aborted) return Promise.reject(signal.reason as Error)
    if (this.#isDestroyed) return Promise.reject(failure('UND_ERR_DESTROYED'))
    return new Promise((resolve, reject) => {
      const body = new Body()
      let disconnect = (): void => {}
      let isOver = false
      const over = (): void => {
        isOver = true
        signal.removeEventListener('abort', onAbort)
        this.#underWay.delete(abort)
      }
      const fail = (error: Error): void => {
        if (isOver) return
        over()
        reject(error)
        body.fail(error)
      }
      const abort = (reason: Error): void => {
        fail(reason)
        disconnect()
      }
      const onAbort = (): void => abort(signal.reason as Error)
      signal.addEventListener('abort', onAbort)
      this.#underWay.add(abort)
      if (master === undefined) return void process.after(1, () => fail(failure('ECONNREFUSED')))
      let status = 0
      let headers: Readonly<Record<string, string>> = {}
      const sentAtMs = network.nowMs
      const onPart = (part: ResponsePart): void => {
        if (isOver) return
        if (part.kind === 'head') {
          ;({ status, headers } = part)
          resolve({ statusCode: status, headers, body })
        } else if (part.kind === 'data') body.push(part.chunk)
        else if (part.kind === 'cut') fail(failure('UND_ERR_SOCKET'))
        else {
          over()
          const { method, path, body: sent = '' } = request
          const text = body.end()
          this.#deps.onExchange({ process, method, path, body: sent, status, headers, text, sentAtMs })
        }
      }
      disconnect = this.#exchange(master, request, network.fate(), onPart)
    })
  }

  /** Sends a request, and its response back. @returns a function that disconnects. */
  #exchange(
    master: HttpTarget,
    { method, path, headers, body = '' }: HttpPoolRequest,
    fate: Fate,
    onPart: (part: ResponsePart) => void,
  ): () => void {
    const { network, process } = this.#deps
    const up: Channel = { lastAtMs: 0 }
    const down: Channel = { lastAtMs: 0 }
    const isReset = network.unit() < 0.5 // The other half of the lost requests leaves no sign.
    let disconnect = (): void => {}
    const cut = (): void => void process.after(1, () => onPart({ kind: 'cut' }))
    const stops = [master.process.onKill(cut), process.onKill(() => void master.process.after(5, () => disconnect()))]
    const lateMs = fate === 'served_late' ? network.lateMs() : 0
    const record = this.#recorder(master.process, { method, path, body })
    network.send(process, master.process, up, () => {
      if (fate === 'lost') return isReset ? cut() : undefined
      disconnect = callHandler(master.handle, { method, path, headers, body }, (part) => {
        record(part)
        if (part.kind === 'end' || part.kind === 'cut') for (const stop of stops) stop()
        if (fate !== 'served_without_response')
          network.send(master.process, process, down, () => onPart(part), part.kind === 'head' ? lateMs : 0)
        else if (isReset && part.kind === 'head') cut()
      })
    })
    return () => network.send(process, master.process, up, () => disconnect())
  }

  /** Collects the parts of a response, and reports it when it is complete. */
  #recorder(master: SimProcess, request: Pick<Served, 'method' | 'path' | 'body'>): (part: ResponsePart) => void {
    let head = { status: 0, headers: {} }
    let text = ''
    return (part) => {
      if (part.kind === 'head') head = part
      else if (part.kind === 'data') text += part.chunk.toString('utf8')
      else if (part.kind === 'end') this.#deps.onServed({ master, ...request, ...head, text })
    }
  }
}

export const simulatedPools =
  (deps: PoolDeps): CreateHttpPool =>
  () =>
    new SimPool(deps)
