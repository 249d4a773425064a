/**
 * The connections of one simulated operator to the API server. They have the deadlines and the errors of
 * `PooledTransport`, over the simulated network.
 */
import { KubeError } from '../../../src/operator/kube/kube-error.ts'
import type { ClosableTransport, KubeRequest, WatchLine } from '../../../src/operator/kube/index.ts'
import type { KubeResponse } from '../../../src/operator/kube/transport.ts'
import type { Channel, Network } from '../network.ts'
import type { SimProcess } from '../process.ts'
import type { SimApiServer } from './api-server.ts'

/** As in src/operator/kube/transport.ts. */
const HEADERS_MS = 10_000
const IDLE_MS = 90_000

const noResponse = (why: string): KubeError => new KubeError(0, 'NoResponse', `simulated: ${why}`)

export interface SimKubeTransportDeps {
  readonly process: SimProcess
  readonly network: Network
  readonly api: SimApiServer
  /** Called with each write before it is sent. */
  readonly onWrite: (request: KubeRequest) => void
}

export class SimKubeTransport implements ClosableTransport {
  readonly #deps: SimKubeTransportDeps
  readonly #end = new AbortController()

  constructor(deps: SimKubeTransportDeps) {
    this.#deps = deps
  }

  async close(): Promise<void> {
    this.#end.abort(noResponse('the transport is closed'))
  }

  async json<T>(request: KubeRequest, signal: AbortSignal): Promise<KubeResponse<T>> {
    const { api, network, process, onWrite } = this.#deps
    const end = this.#linked(signal)
    if (request.method !== 'GET') onWrite(request)
    const fate = network.fate()
    try {
      return await new Promise((resolve, reject) => {
        const onAbort = (): void => reject(end.signal.reason as Error)
        const cancel = process.after(HEADERS_MS, () => reject(noResponse('no response in time')))
        end.signal.addEventListener('abort', onAbort)
        const respond = (use: () => void): void => {
          if (fate === 'served_without_response') return
          network.send(api.process, process, null, () => {
            cancel()
            end.signal.removeEventListener('abort', onAbort)
            use()
          })
        }
        network.send(process, api.process, null, () => {
          if (fate === 'lost') return
          if (!api.isAvailable) return respond(() => reject(noResponse('the API server is unavailable')))
          try {
            const body = api.answer(request) as T
            const dateMs = Math.floor(api.process.wallMs() / 1_000) * 1_000
            respond(() => resolve({ status: 200, body, dateMs, bytes: 1 }))
          } catch (error) {
            respond(() => reject(error))
          }
        })
      })
    } finally {
      end.unlink()
    }
  }

  async *lines(request: KubeRequest, signal: AbortSignal): AsyncGenerator<WatchLine> {
    const end = this.#linked(signal)
    const stream = new LineStream(this.#deps, end.signal)
    try {
      stream.open(request)
      yield* stream.read()
    } finally {
      stream.close()
      end.unlink()
    }
  }

  /** A signal that aborts with `signal` and with the transport. */
  #linked(signal: AbortSignal): { readonly signal: AbortSignal; readonly unlink: () => void } {
    const either = new AbortController()
    const signals = [signal, this.#end.signal]
    const onAbort = (): void =>
      either.abort(noResponse(`aborted: ${String(signals.find((each) => each.aborted)?.reason)}`))
    for (const each of signals) each.addEventListener('abort', onAbort)
    if (signals.some((each) => each.aborted)) onAbort()
    return {
      signal: either.signal,
      unlink: () => signals.forEach((each) => each.removeEventListener('abort', onAbort)),
    }
  }
}

/** One watch, seen from the operator. */
class LineStream {
  readonly #deps: SimKubeTransportDeps
  readonly #signal: AbortSignal
  readonly #down: Channel = { lastAtMs: 0 }
  readonly #lines: WatchLine[] = []
  #end: 'closed' | KubeError | null = null
  #wake = (): void => {}
  #cancelIdle = (): void => {}
  #closeAtServer = (): void => {}

  constructor(deps: SimKubeTransportDeps, signal: AbortSignal) {
    this.#deps = deps
    this.#signal = signal
    signal.addEventListener('abort', this.#onAbort)
  }

  open({ path, query }: KubeRequest): void {
    const { api, network, process } = this.#deps
    this.#arm(HEADERS_MS)
    if (network.fate() !== 'served') return
    const toClient = (use: () => void): void => network.send(api.process, process, this.#down, use)
    network.send(process, api.process, null, () => {
      if (!api.isAvailable) return toClient(() => this.#finish(noResponse('the API server is unavailable')))
      try {
        this.#closeAtServer = api.watch(path, Number(query?.['resourceVersion']), {
          push: (line) => toClient(() => this.#push(line)),
          end: (how) => toClient(() => this.#finish(how === 'closed' ? 'closed' : noResponse('the watch broke'))),
        })
        toClient(() => this.#arm(IDLE_MS))
        const timeoutMs = Number(query?.['timeoutSeconds']) * 1_000
        api.process.after(timeoutMs, () => toClient(() => this.#finish('closed')))
      } catch (error) {
        toClient(() => this.#finish(error as KubeError))
      }
    })
  }

  async *read(): AsyncGenerator<WatchLine> {
    for (;;) {
      const line = this.#lines.shift()
      if (line !== undefined) yield line
      else if (this.#end === 'closed') return
      else if (this.#end !== null) throw this.#end
      else await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }

  close(): void {
    const { api, network, process } = this.#deps
    this.#cancelIdle()
    this.#signal.removeEventListener('abort', this.#onAbort)
    network.send(process, api.process, null, () => this.#closeAtServer())
  }

  readonly #onAbort = (): void => this.#finish(this.#signal.reason as KubeError)

  #push(line: WatchLine): void {
    this.#arm(IDLE_MS)
    this.#lines.push(line)
    this.#wake()
  }

  #finish(end: 'closed' | KubeError): void {
    this.#end ??= end
    this.#wake()
  }

  #arm(ms: number): void {
    this.#cancelIdle()
    this.#cancelIdle = this.#deps.process.after(ms, () =>
      this.#finish(new KubeError(0, 'Idle', 'the watch was silent for too long')),
    )
  }
}
