/**
 * @module operator/kube/watch-loop
 * Keeps the cache equal to one scope (the cluster, or a namespace) for as long as it runs; it never gives up.
 *
 *   list (pages, no resourceVersion: a consistent read) ──▶ watch from the list's version ──closed──▶ watch from the last
 *     ▲                                                       │            version seen, 0.8 s after the last start or later
 *     └── 410, expired page, unreadable line, 15 min ─────────┤
 *                                                             └──error, 90 s of silence──▶ backoff ──▶ watch from there
 *
 * A list is a difference like any event: what it shows is offered to the cache, what it lacks is removed. So a lost event
 * costs at most the time to the next list. Whoever hears of a change may only put a key into a queue.
 * The kind itself may be missing (its definition is not installed yet, or an API server that just started does not know
 * it yet): the cache is left as it is, and the loop goes on asking.
 */
import { Backoff, type Clock, type Log, type Random, type Timers } from '../../runtime/index.ts'
import { compareVersions, type Change, type WritableCache } from './cache.ts'
import { errorOfStatus, isExpired, KubeError } from './kube-error.ts'
import { collectionPath, type KubeObject, type ObjectList, type Resource } from './objects.ts'
import type { KubeTransport, WatchLine } from './transport.ts'

const PAGE = 500
/** Between two starts, so that a server which closes every watch at once is not asked without a pause. */
const MIN_START_MS = 800
const MAX_BACKOFF_MS = 30_000
/** A watch that lived so long shows that the trouble is over. */
const HEALTHY_MS = 60_000
const MIN_WATCH_SECONDS = 240
const MAX_WATCH_SECONDS = 360
/** A list although all seems well, for what no one foresaw. */
const RELIST_MS = 15 * 60_000
const RELIST_SPREAD = 0.2

/** Why a watch began anew. */
export type RestartReason = 'closed' | 'expired' | 'unreadable' | 'relist' | 'idle' | 'missing' | 'error'

export interface WatchLoopDeps<T extends KubeObject> {
  readonly transport: KubeTransport
  readonly cache: WritableCache<T>
  readonly clock: Clock
  readonly timers: Timers
  readonly random: Random
  readonly log: Log
  readonly resource: Resource
  /** Undefined: the whole cluster. */
  readonly namespace: string | undefined
  readonly onChange: (change: Change<T>, source: 'list' | 'watch') => void
  readonly onRestart?: (reason: RestartReason) => void
}

/** A list is due, for no fault of the watch's. */
class RelistDue extends Error {}

export class WatchLoop<T extends KubeObject> {
  readonly #deps: WatchLoopDeps<T>
  readonly #scope: string
  readonly #path: string
  readonly #backoff: Backoff
  #version: string | undefined
  #startedMs = -Infinity
  #relistAtMs = 0
  #activeMs: number
  /** Since when the watch that runs now has been open; undefined between two. */
  #openSinceMs: number | undefined

  constructor(deps: WatchLoopDeps<T>) {
    this.#deps = deps
    this.#scope = deps.namespace ?? '*'
    this.#path = collectionPath(deps.resource, deps.namespace)
    this.#backoff = new Backoff({ baseMs: 2 * MIN_START_MS, capMs: MAX_BACKOFF_MS, random: deps.random })
    this.#activeMs = deps.clock.monotonicMs()
    deps.cache.expect(this.#scope)
  }

  /** When it last read or retried, by the monotonic clock. */
  get activeMs(): number {
    return this.#activeMs
  }

  /** Resolves when the signal aborts, and never before. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const waitMs = await this.#round(signal)
      await this.#deps.timers.sleep(waitMs, signal).catch(() => {}) // Aborted: the loop ends.
    }
  }

  /** One list where it is due, and one watch. Never rejects. @returns how long to wait before the next. */
  async #round(signal: AbortSignal): Promise<number> {
    this.#startedMs = this.#activeMs = this.#deps.clock.monotonicMs()
    try {
      this.#version ??= await this.#list(signal)
      await this.#watch(this.#version, signal)
      this.#restart('closed')
      return this.#paceMs()
    } catch (error) {
      return signal.aborted ? 0 : this.#failed(error)
    } finally {
      if (this.#livedMs() >= HEALTHY_MS) this.#backoff.reset()
      this.#openSinceMs = undefined
    }
  }

  #failed(error: unknown): number {
    if (this.#livedMs() >= HEALTHY_MS) this.#backoff.reset()
    if (error instanceof RelistDue) {
      this.#version = undefined
      this.#restart('relist')
      return this.#paceMs()
    }
    const reason = reasonOf(error)
    if (reason === 'expired' || reason === 'unreadable' || reason === 'missing') this.#version = undefined
    this.#restart(reason)
    const { log, resource } = this.#deps
    log.warn(reason === 'missing' ? 'the API server does not know this kind (yet)' : 'a watch broke, trying on', { kind: resource.kind, scope: this.#scope, reason, error: (error as Error).message })
    const askedMs = error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0
    return Math.max(MIN_START_MS, this.#backoff.nextMs(), askedMs)
  }

  async #list(signal: AbortSignal): Promise<string> {
    const seen = new Set<string>()
    let next: string | undefined
    let version: string
    do {
      // One page after the other: each names the place of the next.
      const page = await this.#page(next, signal)
      for (const item of page.items) {
        seen.add(item.metadata.uid)
        this.#take(this.#deps.cache.offer(item), 'list')
      }
      version = page.metadata.resourceVersion
      next = page.metadata.continue
    } while (next !== undefined && next !== '')
    this.#removeUnseen(seen, version)
    this.#deps.cache.listed(this.#scope)
    this.#relistAtMs = this.#deps.clock.monotonicMs() + RELIST_MS * (1 + RELIST_SPREAD * (2 * this.#deps.random.unit() - 1))
    return version
  }

  async #page(next: string | undefined, signal: AbortSignal): Promise<ObjectList<T>> {
    const { body } = await this.#deps.transport.json<ObjectList<T>>({ method: 'GET', path: this.#path, query: { limit: PAGE, continue: next } }, signal)
    this.#activeMs = this.#deps.clock.monotonicMs()
    if (!Array.isArray(body?.items) || typeof body.metadata?.resourceVersion !== 'string') throw new KubeError(0, 'UnreadableAnswer', 'the API server answered a list with something else')
    return body
  }

  /** What the list lacks is gone, unless it came into the cache after the list was made. */
  #removeUnseen(seen: ReadonlySet<string>, version: string): void {
    const { cache, namespace } = this.#deps
    const unseen = [...cache.all()].filter(({ metadata }) => (namespace === undefined || metadata.namespace === namespace) && !seen.has(metadata.uid))
    for (const object of unseen) if (compareVersions(object.metadata.resourceVersion, version) === 'older') this.#take(cache.remove(object), 'list')
  }

  async #watch(version: string, signal: AbortSignal): Promise<void> {
    const { clock, random, timers, transport } = this.#deps
    const relist = new AbortController()
    const cancel = timers.after(Math.max(0, this.#relistAtMs - clock.monotonicMs()), () => relist.abort(new RelistDue()))
    const timeoutSeconds = Math.round(MIN_WATCH_SECONDS + random.unit() * (MAX_WATCH_SECONDS - MIN_WATCH_SECONDS))
    const query = { watch: true, allowWatchBookmarks: true, resourceVersion: version, timeoutSeconds }
    this.#openSinceMs = clock.monotonicMs()
    try {
      for await (const line of transport.lines({ method: 'GET', path: this.#path, query }, AbortSignal.any([signal, relist.signal]))) {
        this.#activeMs = clock.monotonicMs()
        this.#event(line)
      }
      relist.signal.throwIfAborted()
    } finally {
      cancel()
    }
  }

  #event({ type, object }: WatchLine): void {
    if (type === 'ERROR') throw errorOfStatus(200, object)
    const seen = object as T
    const version = seen.metadata?.resourceVersion
    if (typeof version !== 'string') throw new KubeError(0, 'UnreadableLine', 'a line of the watch holds no object')
    if (type === 'DELETED') this.#take(this.#deps.cache.remove(seen), 'watch')
    else if (type !== 'BOOKMARK') this.#take(this.#deps.cache.offer(seen), 'watch')
    this.#version = version
  }

  #take(change: Change<T> | undefined, source: 'list' | 'watch'): void {
    if (change !== undefined) this.#deps.onChange(change, source)
  }

  #restart(reason: RestartReason): void {
    this.#deps.onRestart?.(reason)
  }

  #livedMs(): number {
    return this.#openSinceMs === undefined ? 0 : this.#deps.clock.monotonicMs() - this.#openSinceMs
  }

  #paceMs(): number {
    return Math.max(0, this.#startedMs + MIN_START_MS - this.#deps.clock.monotonicMs())
  }
}

function reasonOf(error: unknown): RestartReason {
  if (isExpired(error)) return 'expired'
  if (!(error instanceof KubeError)) return 'error'
  if (error.reason === 'UnreadableLine') return 'unreadable'
  if (error.reason === 'Idle') return 'idle'
  return error.status === 404 ? 'missing' : 'error'
}
