/**
 * @module operator/kube/watch-loop
 * Keeps the cache equal to one scope (the cluster, or a namespace) for as long as it runs; it never gives up.
 *
 *   list (pages, no resourceVersion: a consistent read) ──▶ watch from the list's version ──closed──▶ watch from the last
 *     ▲                                                       │            version seen, 0.8 s after the last start or later
 *     ├── 410, expired page, unreadable line, 15 min ─────────┤
 *     │   (at once, and with backoff in a storm of them)      └──error, 90 s of silence──▶ backoff ──▶ watch from there
 *     └── the connection broke, and the server is behind what was seen
 *
 * A list is a difference like any event: what it shows is offered to the cache, what it lacks is removed. So a lost event
 * costs at most the time to the next list. Whoever hears of a change may only put a key into a queue.
 * A list that is older than what was seen comes from a server that is behind, or from a store that was put back from a
 * backup. The first catches up: so it is asked for once more, and what is old even then is how things are.
 * The kind itself may be missing (its definition is not installed yet, or an API server that just started does not know
 * it yet): the cache is left as it is, and the loop goes on asking.
 */
import {
  Backoff,
  PageSize,
  retryAfterDelayMs,
  type Clock,
  type Log,
  type Random,
  type Timers,
} from '../../runtime/index.ts'
import { compareVersions, type Change, type WritableCache } from './cache.ts'
import { errorOfStatus, isExpired, KubeError, requestedWait } from './kube-error.ts'
import { collectionPath, type KubeObject, type ObjectList, type Resource } from './objects.ts'
import { Rate } from './rate.ts'
import type { KubeTransport, WatchLine } from './transport.ts'

/** Read and taken in one go, so few enough for a moment, and by bytes, as an object may have 1.5 MB (D69). */
const PAGE = { first: 10, most: 200, targetBytes: 4 * 1_048_576 } as const
/** A page of more than one object that is larger is requested again with fewer. */
const MAX_PAGE_BYTES = 16 * 1_048_576
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
/** Lists at once, for a watch that cannot go on; then one a minute, and others wait their backoff. */
const LISTS_AT_ONCE = 3
const LISTS_AT_ONCE_PER_SECOND = 1 / 60
/** For a server that is behind to catch up. */
const BEHIND_MS = 5_000

/** Why a watch began anew. */
export type RestartReason = 'closed' | 'expired' | 'unreadable' | 'relist' | 'idle' | 'missing' | 'behind' | 'error'

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
  readonly #atOnce: Rate
  #version: string | undefined
  /** The newest version that a list or an event has shown. */
  #newest: string | undefined
  /** The server may be another than before, or have another past. */
  #isDoubted = false
  /** The last list was older than what was seen. */
  #wasBehind = false
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
    this.#atOnce = new Rate(deps.clock, LISTS_AT_ONCE, LISTS_AT_ONCE_PER_SECOND)
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
      if (this.#isDoubted) await this.#check(signal)
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
    if (reason !== 'idle' && reason !== 'error') this.#version = undefined
    this.#isDoubted ||= error instanceof KubeError && error.reason === 'NoAnswer'
    this.#restart(reason)
    const { log, resource } = this.#deps
    const waitMs = this.#waitMs(error, reason)
    log.warn(reason === 'missing' ? 'the API server does not have this kind yet' : 'a watch ended, retrying', {
      kind: resource.kind,
      scope: this.#scope,
      reason,
      error: (error as Error).message,
      retry_in_ms: Math.round(waitMs),
      ...requestedWait(error),
    })
    return waitMs
  }

  #waitMs(error: unknown, reason: RestartReason): number {
    if ((reason === 'expired' || reason === 'unreadable') && this.#atOnce.take()) return this.#paceMs()
    const requestedMs =
      error instanceof KubeError ? retryAfterDelayMs(error.requestedWaitMs ?? 0, this.#deps.random) : 0
    return Math.max(reason === 'behind' ? BEHIND_MS : MIN_START_MS, this.#backoff.nextMs(), requestedMs)
  }

  /** Asks for as little as tells how far the server is. */
  async #check(signal: AbortSignal): Promise<void> {
    const { metadata } = await this.#page({ limit: 1 }, signal)
    if (this.#isBehind(metadata.resourceVersion)) this.#version = undefined
    this.#isDoubted = false
  }

  async #list(signal: AbortSignal): Promise<string> {
    const seen = new Set<string>()
    const { cache, clock, log, random, resource } = this.#deps
    const size = new PageSize(PAGE)
    let next: string | undefined
    let version: string
    let isBack: boolean
    do {
      // One page after the other: each names the place of the next.
      const page = await this.#fittingPage(size, next, signal)
      version = page.metadata.resourceVersion
      isBack = this.#isBehind(version)
      if (isBack && !this.#wasBehind) {
        this.#wasBehind = true
        throw new KubeError(0, 'Behind', 'the API server returned an older state than before')
      }
      for (const item of page.items) {
        seen.add(item.metadata.uid)
        this.#take(cache.offerListed(item, isBack ? undefined : version), 'list')
      }
      next = page.metadata.continue
    } while (next !== undefined && next !== '')
    this.#removeUnseen(seen, isBack ? undefined : version)
    if (isBack)
      log.warn('the API server returned an older state: its store was restored from a backup', {
        kind: resource.kind,
        scope: this.#scope,
      })
    this.#newest = version
    this.#wasBehind = false
    cache.listed(this.#scope)
    this.#relistAtMs = clock.monotonicMs() + RELIST_MS * (1 + RELIST_SPREAD * (2 * random.unit() - 1))
    return version
  }

  /** One object is read whatever its size: the API server bounds it. */
  async #fittingPage(size: PageSize, next: string | undefined, signal: AbortSignal): Promise<ObjectList<T>> {
    for (;;) {
      const { limit } = size
      try {
        return await this.#page({ limit, continue: next }, signal, size)
      } catch (error) {
        if (limit === 1 || !(error instanceof KubeError) || error.reason !== 'TooLarge') throw error
        size.tooLarge()
      }
    }
  }

  async #page(
    query: { readonly limit: number; readonly continue?: string | undefined },
    signal: AbortSignal,
    size?: PageSize,
  ): Promise<ObjectList<T>> {
    const { body, bytes } = await this.#deps.transport.json<ObjectList<T>>(
      { method: 'GET', path: this.#path, query, ...(query.limit > 1 && { maxBytes: MAX_PAGE_BYTES }) },
      signal,
    )
    this.#activeMs = this.#deps.clock.monotonicMs()
    if (!Array.isArray(body?.items) || typeof body.metadata?.resourceVersion !== 'string')
      throw new KubeError(0, 'UnreadableAnswer', 'the API server returned something other than a list')
    size?.received(body.items.length, bytes)
    return body
  }

  #isBehind(version: string): boolean {
    return this.#newest !== undefined && compareVersions(version, this.#newest) === 'older'
  }

  /** What the list lacks is gone, unless it came into the cache after the list was made as `version`. */
  #removeUnseen(seen: ReadonlySet<string>, version: string | undefined): void {
    const { cache, namespace } = this.#deps
    const unseen = [...cache.all()].filter(
      ({ metadata }) => (namespace === undefined || metadata.namespace === namespace) && !seen.has(metadata.uid),
    )
    for (const object of unseen)
      if (version === undefined || compareVersions(object.metadata.resourceVersion, version) === 'older')
        this.#take(cache.remove(object), 'list')
  }

  async #watch(version: string, signal: AbortSignal): Promise<void> {
    const { clock, random, timers, transport } = this.#deps
    const relist = new AbortController()
    const cancel = timers.after(Math.max(0, this.#relistAtMs - clock.monotonicMs()), () =>
      relist.abort(new RelistDue()),
    )
    const timeoutSeconds = Math.round(MIN_WATCH_SECONDS + random.unit() * (MAX_WATCH_SECONDS - MIN_WATCH_SECONDS))
    const query = { watch: true, allowWatchBookmarks: true, resourceVersion: version, timeoutSeconds }
    this.#openSinceMs = clock.monotonicMs()
    try {
      for await (const line of transport.lines(
        { method: 'GET', path: this.#path, query },
        AbortSignal.any([signal, relist.signal]),
      )) {
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
    if (typeof version !== 'string') throw new KubeError(0, 'UnreadableLine', 'a line of the watch contains no object')
    if (type === 'DELETED') this.#take(this.#deps.cache.remove(seen), 'watch')
    else if (type !== 'BOOKMARK') this.#take(this.#deps.cache.offer(seen), 'watch')
    this.#version = this.#newest = version
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
  if (error.reason === 'Behind') return 'behind'
  return error.status === 404 ? 'missing' : 'error'
}
