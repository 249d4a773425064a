/**
 * @module storage/memory/primitives
 * The `kv`, `locks` and `counters` of the contract, one map per namespace. What has expired is ignored by every read;
 * a timer queue removes it, so that no namespace is ever scanned.
 */
import { MAX_KV_VALUE_BYTES } from '../../protocol/index.ts'
import { TimerQueue } from './timer-queue.ts'
import { RECORD_OVERHEAD, storageFull } from './memory-budget.ts'
import {
  EXTEND_LOST,
  namespacesFull,
  type Counters,
  type ExtendHoldResult,
  type Kv,
  type LockResult,
  type Locks,
  type NamespaceKind,
  type Sync,
} from '../index.ts'
import type { Timer } from './timer-queue.ts'
import type { TokenSequence, TokenSequences } from './token-sequence.ts'
import type { Store } from './store.ts'

interface Timed {
  readonly name: string
  expiry: Timer<Timed> | null
}

/** Things by name, some of which end at a time of their own. */
class Namespace<T extends Timed> {
  readonly all = new Map<string, T>()
  readonly #timers = new TimerQueue<Timed>()
  readonly #store: Store
  readonly #sizeOf: (thing: T) => number

  constructor(store: Store, sizeOf: (thing: T) => number) {
    this.#store = store
    this.#sizeOf = sizeOf
  }

  /** The namespace is dropped. */
  close(): void {}

  /** Removes what has expired. */
  prune(): void {
    const now = this.#store.now()
    for (let ended = this.#timers.takeDue(now); ended !== null; ended = this.#timers.takeDue(now))
      this.remove(ended.name)
  }

  set(thing: T, ends: number | null): void {
    this.remove(thing.name)
    this.all.set(thing.name, thing)
    this.#store.budget.add(this.#sizeOf(thing))
    this.#end(thing, ends)
  }

  prolong(thing: T, ends: number): void {
    this.#end(thing, ends)
  }

  remove(name: string): boolean {
    const thing = this.all.get(name)
    if (thing === undefined) return false
    if (thing.expiry !== null) this.#timers.cancel(thing.expiry)
    this.#store.budget.add(-this.#sizeOf(thing))
    return this.all.delete(name)
  }

  /** @throws FleetError STORAGE_FULL when those of `names` that are new exceed `limit`. */
  require(names: readonly string[], limit: number, what: string): void {
    const added = new Set(names.filter((name) => !this.all.has(name))).size
    if (added > 0 && this.all.size + added > limit) throw storageFull(`a namespace holds at most ${limit} ${what}`)
  }

  #end(thing: T, ends: number | null): void {
    if (thing.expiry !== null) this.#timers.cancel(thing.expiry)
    thing.expiry = ends === null ? null : this.#timers.add(ends, thing)
  }
}

interface Space<N> {
  readonly names: N
  isOfType: boolean
}

/** The namespaces of one kind. An empty one stays until a new one needs its place. */
class Namespaces<T extends Timed, N extends Namespace<T> = Namespace<T>> {
  readonly #spaces = new Map<string, Space<N>>()
  readonly #store: Store
  readonly #what: NamespaceKind
  readonly #make: () => N

  constructor(store: Store, what: NamespaceKind, make: () => N) {
    this.#store = store
    this.#what = what
    this.#make = make
  }

  /** The namespace without what has expired; a read makes none. */
  find(namespace: string): N | undefined {
    const names = this.#spaces.get(namespace)?.names
    names?.prune()
    return names
  }

  /** @throws FleetError STORAGE_FULL when it would be one too many (D100). */
  findOrMake(namespace: string, isOfType: boolean): N {
    const found = this.#spaces.get(namespace)
    const space = found ?? this.#add(namespace, isOfType)
    space.isOfType ||= isOfType
    space.names.prune()
    return space.names
  }

  #add(namespace: string, isOfType: boolean): Space<N> {
    if (!isOfType && this.#isFull()) this.#dropEmpty()
    if (!isOfType && this.#isFull())
      throw storageFull(namespacesFull(this.#what, namespace, this.#store.limits.namespaces))
    const space = { names: this.#make(), isOfType }
    this.#spaces.set(namespace, space)
    return space
  }

  #isFull(): boolean {
    let shared = 0
    for (const { isOfType } of this.#spaces.values()) if (!isOfType) shared += 1
    return shared >= this.#store.limits.namespaces
  }

  #dropEmpty(): void {
    for (const [namespace, { names }] of this.#spaces) {
      names.prune()
      if (names.all.size > 0) continue
      names.close()
      this.#spaces.delete(namespace)
    }
  }
}

interface Value extends Timed {
  readonly text: string
}

export class MemoryKv implements Sync<Kv> {
  readonly #store: Store
  readonly #namespaces: Namespaces<Value>

  constructor(store: Store) {
    this.#store = store
    const sizeOf = ({ name, text }: Value): number => RECORD_OVERHEAD + name.length + text.length
    this.#namespaces = new Namespaces(store, 'keys', () => new Namespace<Value>(store, sizeOf))
  }

  get(namespace: string, keys: readonly string[]): readonly (string | null)[] {
    const values = this.#namespaces.find(namespace)
    return keys.map((key) => values?.all.get(key)?.text ?? null)
  }

  set(
    namespace: string,
    items: readonly { readonly key: string; readonly value: string; readonly ttlMs: number | null }[],
    isOfType = false,
  ): void {
    const tooLarge = items.find(({ value }) => Buffer.byteLength(value) > MAX_KV_VALUE_BYTES)
    if (tooLarge !== undefined)
      throw storageFull(`the value of ${JSON.stringify(tooLarge.key)} exceeds ${MAX_KV_VALUE_BYTES} bytes`)
    const values = this.#namespaces.findOrMake(namespace, isOfType)
    values.require(
      items.map(({ key }) => key),
      this.#store.limits.kvKeys,
      'keys',
    )
    this.#store.budget.requireForOptional(
      items.reduce((sum, { key, value }) => sum + RECORD_OVERHEAD + key.length + value.length, 0),
    )
    const now = this.#store.now()
    for (const { key, value, ttlMs } of items)
      values.set({ name: key, text: value, expiry: null }, ttlMs === null ? null : now + ttlMs)
  }

  delete(namespace: string, keys: readonly string[]): readonly boolean[] {
    const values = this.#namespaces.find(namespace)
    return keys.map((key) => values?.remove(key) ?? false)
  }
}

interface Lock extends Timed {
  readonly token: number
  until: number
}

class LockNamespace extends Namespace<Lock> {
  readonly fence: TokenSequence
  readonly #fences: TokenSequences

  constructor(store: Store) {
    super(store, ({ name }) => RECORD_OVERHEAD + name.length)
    this.#fences = store.sequences
    this.fence = this.#fences.make(store.now())
  }

  override close(): void {
    this.#fences.retire(this.fence)
  }
}

export class MemoryLocks implements Sync<Locks> {
  readonly #store: Store
  readonly #namespaces: Namespaces<Lock, LockNamespace>

  constructor(store: Store) {
    this.#store = store
    this.#namespaces = new Namespaces(store, 'locks', () => new LockNamespace(store))
  }

  acquire(
    namespace: string,
    items: readonly { readonly name: string; readonly holdMs: number }[],
    isOfType = false,
  ): readonly LockResult[] {
    const locks = this.#namespaces.findOrMake(namespace, isOfType)
    locks.require(
      items.map(({ name }) => name),
      this.#store.limits.namesPerNamespace,
      'locks',
    )
    this.#store.budget.require(items.reduce((sum, { name }) => sum + RECORD_OVERHEAD + name.length, 0))
    return items.map(({ name, holdMs }) => {
      const held = locks.all.get(name)
      if (held !== undefined) return { kind: 'held', untilMs: held.until }
      const lock: Lock = { name, token: locks.fence.next(), until: this.#store.now() + holdMs, expiry: null }
      locks.set(lock, lock.until)
      return { kind: 'acquired', token: lock.token, expiresAtMs: lock.until }
    })
  }

  extend(
    namespace: string,
    items: readonly { readonly name: string; readonly token: number; readonly holdMs: number }[],
  ): readonly ExtendHoldResult[] {
    const locks = this.#namespaces.find(namespace)
    return items.map(({ name, token, holdMs }) => {
      const lock = locks?.all.get(name)
      if (locks === undefined || lock?.token !== token) return EXTEND_LOST.lease_lost
      lock.until = Math.max(lock.until, this.#store.now() + holdMs)
      locks.prolong(lock, lock.until)
      return { kind: 'extended', expiresAtMs: lock.until }
    })
  }

  release(
    namespace: string,
    items: readonly { readonly name: string; readonly token: number }[],
  ): readonly ('ok' | 'lease_lost')[] {
    const locks = this.#namespaces.find(namespace)
    return items.map(({ name, token }) => {
      if (locks?.all.get(name)?.token !== token) return 'lease_lost'
      locks.remove(name)
      return 'ok'
    })
  }
}

interface Sum extends Timed {
  value: number
}

export class MemoryCounters implements Sync<Counters> {
  readonly #store: Store
  readonly #namespaces: Namespaces<Sum>

  constructor(store: Store) {
    this.#store = store
    this.#namespaces = new Namespaces(
      store,
      'counters',
      () => new Namespace<Sum>(store, ({ name }) => RECORD_OVERHEAD + name.length),
    )
  }

  add(
    namespace: string,
    items: readonly { readonly name: string; readonly delta: number }[],
    isOfType = false,
  ): readonly (number | 'out_of_range')[] {
    const sums = this.#namespaces.findOrMake(namespace, isOfType)
    sums.require(
      items.map(({ name }) => name),
      this.#store.limits.namesPerNamespace,
      'counters',
    )
    this.#store.budget.require(
      items.reduce((total, { name }) => total + (sums.all.has(name) ? 0 : RECORD_OVERHEAD + name.length), 0),
    )
    return items.map(({ name, delta }) => {
      const sum = sums.all.get(name) ?? { name, value: 0, expiry: null }
      const value = sum.value + delta
      if (!Number.isSafeInteger(value)) return 'out_of_range'
      sum.value = value
      if (value === 0) sums.remove(name)
      else if (!sums.all.has(name)) sums.set(sum, null)
      return value
    })
  }

  get(namespace: string, names: readonly string[]): readonly number[] {
    const sums = this.#namespaces.find(namespace)
    return names.map((name) => sums?.all.get(name)?.value ?? 0)
  }
}
