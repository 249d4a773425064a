/**
 * @module operator/kube/watch-loop
 * Keeps the cache equal to one scope (the cluster, or a namespace) by list and watch. It retries until it is stopped.
 *
 *   list (pages, no resourceVersion: a consistent read) ──▶ watch from the list's version ──closed──▶ watch from the
 *     ▲                                                       │                last version, 0.8 s after the last start
 *     ├── 410, expired page, unreadable line, 15 min ─────────┤
 *     │   (immediately, and with backoff in a storm of them)  └──error, 90 s of silence──▶ backoff ──▶ watch from there
 *     └── the connection broke, and the server may have been restored from a backup
 *
 * A list is applied as a difference: its objects are offered to the cache, and missing objects are removed. So a lost
 * event is corrected by the next list. Listeners may only put a key into a queue. A list that is older than the newest
 * version seen comes from a server that is behind, or from a restored backup of the store. A server that is behind
 * catches up, so the loop lists again. If the second list is also older, it is accepted.
 *
 * A restored server may have written past the newest version seen before the connection is back. So after a broken
 * connection the watch resumes only if the object of the newest event still has its version.
 *
 * The resource kind may be missing (its definition is not installed yet, or the API server has just started). Then the
 * cache stays as it is, and the loop retries.
 */
import {
  Backoff,
  PageSize,
  retryAfterDelayMs,
  sleep,
  TokenBucket,
  type Clock,
  type Log,
  type Random,
  type Timers,
} from '../../runtime/index.ts'
import { compareVersions, type Change, type WritableCache } from './cache.ts'
import { errorOfStatus, isExpired, KubeError, requestedWait } from './kube-error.ts'
import { collectionPath, type KubeObject, type ObjectList, type ObjectMeta, type Resource } from './objects.ts'
import type { KubeTransport, WatchLine } from './transport.ts'
import { WatchProgress } from './watch-progress.ts'

/**
 * A page is parsed without a break, so it has few objects, and is bounded in bytes as an object may have 1.5 MB (D69).
 */
const PAGE = { first: 10, most: 200, targetBytes: 4 * 1_048_576 } as const
/** A larger page of more than one object is requested again with fewer objects. */
const MAX_PAGE_BYTES = 16 * 1_048_576
/** Minimum time between two starts, so a server that closes every watch immediately is not flooded. */
const MIN_START_MS = 800
const MAX_BACKOFF_MS = 30_000
/** After a watch has lived this long, the backoff is reset. */
const HEALTHY_MS = 60_000
const MIN_WATCH_SECONDS = 240
const MAX_WATCH_SECONDS = 360
/** Interval of a list without cause, to correct unforeseen errors. */
const RELIST_MS = 15 * 60_000
const RELIST_SPREAD = 0.2
/** Lists that may follow a failed watch immediately; then one a minute, and others wait for their backoff. */
const IMMEDIATE_LISTS = { capacity: 3, perSecond: 1 / 60 }
/** Time for a server that is behind to catch up. */
const BEHIND_MS = 5_000

/** Why a watch was started again. */
export type RestartReason = 'closed' | 'expired' | 'unreadable' | 'relist' | 'idle' | 'missing' | 'behind' | 'error'

export interface WatchLoopDeps<T extends KubeObject> {
  readonly transport: KubeTransport
  readonly cache: WritableCache<T>
  readonly clock: Clock
  readonly timers: Timers
  readonly random: Random
  readonly log: Log
  readonly resource: Resource
  /** `undefined`: the whole cluster. */
  readonly namespace: string | undefined
  readonly onChange: (change: Change<T>, source: 'list' | 'watch') => void
  readonly onRestart?: (reason: RestartReason) => void
}

/** A list is due although the watch works. */
class RelistDue extends Error {}

export class WatchLoop<T extends KubeObject> {
  readonly #deps: WatchLoopDeps<T>
  readonly #scope: string
  readonly #path: string
  readonly #backoff: Backoff
  readonly #immediateLists: TokenBucket
  readonly #progress: WatchProgress
  #version: string | undefined
  /** The object of the newest event, or the newest of a list; `undefined`: there is none, or it was deleted. */
  #newest: ObjectMeta | undefined
  /** The server may be another one, or may have been restored to an older state. */
  #isDoubted = false
  /** The last list was older than the newest version seen. */
  #wasBehind = false
  #startedMs = -Infinity
  #relistAtMs = 0
  #activeMs: number
  /** When the current watch opened; `undefined` while none is open. */
  #openSinceMs: number | undefined

  constructor(deps: WatchLoopDeps<T>) {
    this.#deps = deps
    this.#scope = deps.namespace ?? '*'
    this.#path = collectionPath(deps.resource, deps.namespace)
    this.#backoff = new Backoff({ baseMs: 2 * MIN_START_MS, capMs: MAX_BACKOFF_MS, random: deps.random })
    this.#immediateLists = new TokenBucket(deps.clock, IMMEDIATE_LISTS)
    this.#activeMs = deps.clock.monotonicMs()
    this.#progress = new WatchProgress(deps.clock)
    deps.cache.expect(this.#scope)
  }

  /** When it last read or retried, by the monotonic clock. */
  get activeMs(): number {
    return this.#activeMs
  }

  /** The namespace that it watches; `undefined`: the whole cluster. */
  get namespace(): string | undefined {
    return this.#deps.namespace
  }

  /** The cache contains every change of this scope up to this time of the monotonic clock. */
  get asOfMs(): number {
    return this.#progress.asOfMs
  }

  /** A write of an object of this scope, sent at `sentMs`, has given it this version. */
  wrote(version: string, sentMs: number): void {
    this.#progress.wrote(version, sentMs)
  }

  /** Resolves only when the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const waitMs = await this.#round(signal)
      await sleep(this.#deps.timers, waitMs, signal)
    }
  }

  /** Runs one list if it is due, and one watch. Never rejects. @returns how long to wait before the next round. */
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
    this.#isDoubted ||= error instanceof KubeError && error.reason === 'NoResponse'
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
    if ((reason === 'expired' || reason === 'unreadable') && this.#immediateLists.take()) return this.#paceMs()
    const requestedMs =
      error instanceof KubeError ? retryAfterDelayMs(error.requestedWaitMs ?? 0, this.#deps.random) : 0
    return Math.max(reason === 'behind' ? BEHIND_MS : MIN_START_MS, this.#backoff.nextMs(), requestedMs)
  }

  /** Makes a list due, unless the server continues the history that was seen. */
  async #check(signal: AbortSignal): Promise<void> {
    const newest = this.#newest
    if (newest === undefined || !(await this.#isUnchanged(newest, signal))) this.#version = undefined
    this.#isDoubted = false
  }

  async #isUnchanged({ name, namespace, uid, resourceVersion }: ObjectMeta, signal: AbortSignal) {
    const fieldSelector = `metadata.name=${name},metadata.namespace=${namespace}`
    const { items, metadata } = await this.#page({ limit: 1, fieldSelector }, signal)
    const found = items[0]?.metadata
    const isSame = found?.uid === uid && found.resourceVersion === resourceVersion
    return isSame && !this.#isBehind(metadata.resourceVersion)
  }

  async #list(signal: AbortSignal): Promise<string> {
    const seen = new Set<string>()
    let newest: ObjectMeta | undefined
    const { cache, clock, log, random, resource } = this.#deps
    const size = new PageSize(PAGE)
    let next: string | undefined
    let version: string
    let isBack: boolean
    do {
      // Pages are sequential: each has the continue token of the next.
      const page = await this.#fittingPage(size, next, signal)
      version = page.metadata.resourceVersion
      isBack = this.#isBehind(version)
      if (isBack && !this.#wasBehind) {
        this.#wasBehind = true
        throw new KubeError(0, 'Behind', 'the API server returned an older state than before')
      }
      for (const item of page.items) {
        seen.add(item.metadata.uid)
        newest = newerOf(newest, item.metadata)
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
    this.#progress.shown(version)
    this.#newest = newest
    this.#wasBehind = false
    cache.listed(this.#scope)
    this.#relistAtMs = clock.monotonicMs() + RELIST_MS * (1 + RELIST_SPREAD * (2 * random.unit() - 1))
    return version
  }

  /** Reads one object whatever its size, because the API server limits it. */
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
    query: { readonly limit: number; readonly continue?: string | undefined; readonly fieldSelector?: string },
    signal: AbortSignal,
    size?: PageSize,
  ): Promise<ObjectList<T>> {
    const { body, bytes } = await this.#deps.transport.json<ObjectList<T>>(
      { method: 'GET', path: this.#path, query, ...(query.limit > 1 && { maxBytes: MAX_PAGE_BYTES }) },
      signal,
    )
    this.#activeMs = this.#deps.clock.monotonicMs()
    if (!Array.isArray(body?.items) || typeof body.metadata?.resourceVersion !== 'string')
      throw new KubeError(0, 'UnreadableResponse', 'the API server returned something other than a list')
    size?.received(body.items.length, bytes)
    return body
  }

  #isBehind(version: string): boolean {
    const { newest } = this.#progress
    return newest !== undefined && compareVersions(version, newest) === 'older'
  }

  /** Removes objects that the list lacks, unless they were cached after the list was made as `version`. */
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
    if (type !== 'BOOKMARK') this.#newest = type === 'DELETED' ? undefined : seen.metadata
    this.#version = version
    this.#progress.shown(version)
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

const newerOf = (a: ObjectMeta | undefined, b: ObjectMeta): ObjectMeta =>
  a === undefined || compareVersions(a.resourceVersion, b.resourceVersion) === 'older' ? b : a

function reasonOf(error: unknown): RestartReason {
  if (isExpired(error)) return 'expired'
  if (!(error instanceof KubeError)) return 'error'
  if (error.reason === 'UnreadableLine') return 'unreadable'
  if (error.reason === 'Idle') return 'idle'
  if (error.reason === 'Behind') return 'behind'
  return error.status === 404 ? 'missing' : 'error'
}
