/**
 * The Kubernetes API server of a simulated cluster: the fake one of the operator's tests, as a process of the
 * simulated network. It can be unavailable, throttle, forget its history, cut its watches, and be a stale replica.
 */
import { errorOfStatus, KubeError } from '../../../src/operator/kube/kube-error.ts'
import type { KubeRequest, WatchLine } from '../../../src/operator/kube/index.ts'
import { seededRandom } from '../../../src/runtime/index.ts'
import { EVENTS, FakeApiServer, LEASES } from '../../operator/fake-apiserver.ts'
import {
  StatusError,
  type FakeEvent,
  type FakeKind,
  type FakeObject,
  type FakeStore,
} from '../../operator/fake-store.ts'
import { CONFIG_MAPS, FLEETWORKERS, SECRETS } from '../../operator/fleetworker/kinds.ts'
import type { SimProcess } from '../process.ts'

/** The namespace of the operator, of its lease and of the FleetWorkers. */
export const NAMESPACE = 'muster'

const KINDS = [FLEETWORKERS, SECRETS, CONFIG_MAPS, EVENTS, LEASES]
/** As the API server does about every minute; an operator considers a watch without a byte for 90 s dead. */
const BOOKMARK_MS = 30_000

/** An open watch. `push` sends a line to the client; `end` closes the watch. */
export interface WatchSink {
  push(line: WatchLine): void
  end(how: 'closed' | 'broken'): void
}

interface Watch {
  readonly kind: FakeKind
  readonly sink: WatchSink
  next: number
}

export class SimApiServer {
  readonly process: SimProcess
  readonly store: FakeStore
  readonly #server: FakeApiServer
  readonly #watches = new Set<Watch>()
  #unavailableUntilMs = 0
  #throttledUntilMs = 0
  /** Lists and watches show nothing newer: a replica that is behind. */
  #horizon = Infinity

  constructor(process: SimProcess, seed: number) {
    const uuids = seededRandom(seed)
    this.process = process
    this.#server = new FakeApiServer(KINDS, process.wallMs, () => uuids.uuid())
    this.store = this.#server.store
    this.store.listeners.add(() => this.#publish())
    process.every(BOOKMARK_MS, () => this.#bookmark())
  }

  get isAvailable(): boolean {
    return this.process.monotonicMs() >= this.#unavailableUntilMs
  }

  makeUnavailable(ms: number): void {
    this.#unavailableUntilMs = this.process.monotonicMs() + ms
    this.endWatches('broken')
  }

  throttle(ms: number): void {
    this.#throttledUntilMs = this.process.monotonicMs() + ms
  }

  /** For `ms`, lists and watches show the state of `versions` changes ago. */
  fallBehind(versions: number, ms: number): void {
    this.#horizon = Math.max(1, this.store.version - versions)
    this.endWatches('broken')
    this.process.after(ms, () => this.catchUp())
  }

  catchUp(): void {
    this.#horizon = Infinity
    this.#publish()
  }

  /** Forgets old versions, so that watches from them fail with 410. */
  compact(): void {
    this.endWatches('broken')
    this.store.compact()
  }

  endWatches(how: 'closed' | 'broken'): void {
    for (const { sink } of this.#watches) sink.end(how)
    this.#watches.clear()
  }

  /** Ends all faults. A watch that lost an event begins with a new list. */
  heal(): void {
    this.#unavailableUntilMs = 0
    this.#throttledUntilMs = 0
    this.catchUp()
    this.compact()
  }

  /** Handles one call. @throws {KubeError} as the client sees a refusal. */
  answer(request: KubeRequest): unknown {
    this.#throwIfThrottled()
    const isList = request.method === 'GET' && KINDS.some(({ plural }) => request.path.endsWith(`/${plural}`))
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
    try {
      const { store } = this
      const version = isList ? Math.min(store.version, this.#horizon) : store.version
      return this.#server.ask({ method: request.method, path: request.path, query, headers, body }, version)
    } catch (error) {
      if (!(error instanceof StatusError)) throw error
      const { code, reason, message, details } = error
      throw errorOfStatus(code, { reason, message, details })
    }
  }

  /** Opens a watch from `version` on. @returns a function that closes it. @throws {KubeError} */
  watch(path: string, version: number, sink: WatchSink): () => void {
    this.#throwIfThrottled()
    const kind = KINDS.find(({ plural }) => path.endsWith(`/${plural}`))
    if (kind === undefined) throw new KubeError(404, 'NotFound', path)
    if (version < this.store.compactedVersion) throw new KubeError(410, 'Expired', 'too old resource version')
    const watch: Watch = { kind, sink, next: version + 1 }
    this.#watches.add(watch)
    this.#publishTo(watch)
    return () => void this.#watches.delete(watch)
  }

  /** The objects of a kind, as they are stored. */
  list(kind: FakeKind, namespace: string): readonly FakeObject[] {
    return this.store.list(kind, namespace)
  }

  #throwIfThrottled(): void {
    if (this.process.monotonicMs() < this.#throttledUntilMs)
      throw errorOfStatus(429, { reason: 'TooManyRequests', message: 'simulated' }, '1')
  }

  #publish(): void {
    for (const watch of this.#watches) this.#publishTo(watch)
  }

  #publishTo(watch: Watch): void {
    for (const event of this.#unseen(watch)) {
      watch.next = event.version + 1
      watch.sink.push({ type: event.type, object: JSON.parse(JSON.stringify(event.object)) as unknown })
    }
  }

  #unseen({ kind, next }: Watch): readonly FakeEvent[] {
    const { history } = this.store
    const first = history.findLastIndex(({ version }) => version < next) + 1
    return history.slice(first).filter((event) => event.version <= this.#horizon && event.kind === kind)
  }

  #bookmark(): void {
    for (const { kind, sink, next } of this.#watches)
      sink.push({
        type: 'BOOKMARK',
        object: {
          apiVersion: kind.group === '' ? kind.version : `${kind.group}/${kind.version}`,
          kind: kind.kind,
          metadata: { resourceVersion: String(Math.max(next - 1, Math.min(this.store.version, this.#horizon))) },
        },
      })
  }
}
