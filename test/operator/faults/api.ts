/**
 * Simulates the API server of a test and the connection of one operator to it, without sockets. Each request and
 * response takes a turn of the event loop, so that requests overtake each other. The fixture's `Faults` decide what
 * fails.
 */
import type { KubeRequest, KubeTransport, WatchLine } from '../../../src/operator/kube/index.ts'
import { errorOfStatus, KubeError } from '../../../src/operator/kube/kube-error.ts'
import type { KubeResponse } from '../../../src/operator/kube/transport.ts'
import type { VirtualTime } from '../../../src/runtime/index.ts'
import { FakeApiServer } from '../fake-apiserver.ts'
import { StatusError, type FakeEvent, type FakeKind } from '../fake-store.ts'
import { nextTurn, type Faults, type Traffic } from './faults.ts'

const CLOSED = new KubeError(0, 'NoResponse', 'the connection broke')

interface Watch {
  readonly kind: FakeKind
  next: number
  wake: () => void
  end: 'closed' | 'broken' | undefined
}

export class Api {
  readonly server: FakeApiServer
  /** Lists and watches show nothing newer: simulates a stale replica of the API server. */
  #horizon = Infinity
  /** Versions that watches never show. */
  readonly hidden = new Set<number>()
  readonly #kinds: readonly FakeKind[]
  readonly #watches = new Set<Watch>()

  constructor(kinds: readonly FakeKind[], time: VirtualTime, uuid: () => string) {
    this.#kinds = kinds
    this.server = new FakeApiServer(kinds, time.wallMs, uuid)
    this.server.store.listeners.add(() => this.#wakeAll())
  }

  get version(): number {
    return this.server.store.version
  }

  get horizon(): number {
    return this.#horizon
  }

  set horizon(version: number) {
    this.#horizon = version
    this.#wakeAll()
  }

  /** Ends every open watch. */
  endWatches(how: 'closed' | 'broken'): void {
    for (const watch of this.#watches) {
      watch.end = how
      watch.wake()
    }
  }

  ask(request: KubeRequest): unknown {
    const isList = request.method === 'GET' && this.#kinds.some(({ plural }) => request.path.endsWith(`/${plural}`))
    const query = new URLSearchParams(
      Object.entries(request.query ?? {}).flatMap(([name, value]): [string, string][] =>
        value === undefined ? [] : [[name, String(value)]],
      ),
    )
    const headers = {
      'content-type': request.contentType ?? 'application/json',
      ...(request.accept !== undefined && { accept: request.accept }),
    }
    const body = request.body === undefined ? undefined : (JSON.parse(JSON.stringify(request.body)) as unknown)
    return this.server.ask(
      { method: request.method, path: request.path, query, headers, body },
      isList ? Math.min(this.version, this.#horizon) : this.version,
    )
  }

  async *watch(path: string, from: number, signal: AbortSignal): AsyncGenerator<WatchLine> {
    const { store } = this.server
    const kind = this.#kinds.find(({ plural }) => path.endsWith(`/${plural}`))
    if (kind === undefined) throw new KubeError(404, 'NotFound', path)
    if (from < store.compactedVersion) throw new KubeError(410, 'Expired', 'too old resource version')
    const watch: Watch = { kind, next: from + 1, wake: () => {}, end: undefined }
    const onAbort = (): void => watch.wake()
    this.#watches.add(watch)
    signal.addEventListener('abort', onAbort)
    try {
      for (;;) {
        signal.throwIfAborted()
        if (watch.end === 'broken') throw CLOSED
        for (const { type, object } of this.#unseen(watch))
          yield { type, object: JSON.parse(JSON.stringify(object)) as unknown }
        if (watch.end === 'closed') return
        await new Promise<void>((resolve) => (watch.wake = resolve))
        await nextTurn()
      }
    } finally {
      this.#watches.delete(watch)
      signal.removeEventListener('abort', onAbort)
    }
  }

  *#unseen(watch: Watch): Generator<FakeEvent> {
    const { history } = this.server.store
    for (const event of history) {
      if (event.version < watch.next || event.version > this.#horizon || event.kind !== watch.kind) continue
      watch.next = event.version + 1
      if (!this.hidden.has(event.version)) yield event
    }
  }

  #wakeAll(): void {
    for (const watch of this.#watches) watch.wake()
  }
}

/** The connection of one operator to the API server; it closes when the operator stops. */
export class ApiTransport implements KubeTransport {
  readonly #api: Api
  readonly #time: VirtualTime
  readonly #faults: Faults
  readonly #traffic: Traffic

  constructor(parts: {
    readonly api: Api
    readonly time: VirtualTime
    readonly faults: Faults
    readonly traffic: Traffic
  }) {
    this.#api = parts.api
    this.#time = parts.time
    this.#faults = parts.faults
    this.#traffic = parts.traffic
  }

  json<T>(request: KubeRequest, signal: AbortSignal): Promise<KubeResponse<T>> {
    return this.#traffic.orDead(this.#traffic.count(this.#send<T>(request, signal)))
  }

  async *lines(request: KubeRequest, signal: AbortSignal): AsyncGenerator<WatchLine> {
    await this.#traffic.count(nextTurn())
    const fate = this.#faults.fateOf({ side: 'api', method: 'WATCH', path: request.path })
    if (fate.kind !== 'pass') throw CLOSED
    const from = Number(request.query?.['resourceVersion'])
    const end = AbortSignal.any([signal, this.#traffic.ended])
    const late = new AbortController()
    const cancel = this.#time.after(Number(request.query?.['timeoutSeconds']) * 1_000, () => late.abort())
    try {
      yield* this.#api.watch(request.path, from, AbortSignal.any([end, late.signal]))
    } catch (error) {
      if (!late.signal.aborted || end.aborted) throw error
    } finally {
      cancel()
    }
  }

  async #send<T>(request: KubeRequest, signal: AbortSignal): Promise<KubeResponse<T>> {
    await nextTurn()
    const { method, path, body } = request
    await this.#traffic.alive(signal)
    const fate = this.#faults.fateOf({ side: 'api', method, path, body })
    if (fate.kind !== 'late') await this.#traffic.alive(signal) // The fault may have stopped the operator.
    if (fate.kind === 'break') throw CLOSED
    if (fate.kind === 'refuse')
      throw errorOfStatus(
        fate.status,
        { reason: 'Injected', message: 'injected by the test' },
        fate.retryAfterSeconds === null ? undefined : String(fate.retryAfterSeconds ?? 1),
      )
    if (fate.kind === 'late') await this.#traffic.apart(this.#time.sleep(fate.ms))
    if (fate.kind === 'held') await this.#traffic.apart(fate.until)
    const answer = this.#effect(request)
    fate.effect?.()
    await nextTurn()
    await this.#traffic.alive(signal)
    if (fate.kind === 'lose') throw CLOSED
    fate.answered?.()
    if (answer instanceof KubeError) throw answer
    return { status: 200, body: answer as T, dateMs: Math.floor(this.#time.wallMs() / 1_000) * 1_000, bytes: 1 }
  }

  #effect(request: KubeRequest): unknown {
    try {
      return this.#api.ask(request)
    } catch (error) {
      if (!(error instanceof StatusError)) throw error
      const { code, reason, message, details } = error
      return errorOfStatus(code, { reason, message, details })
    }
  }
}
