/**
 * @module storage/memory/primitives
 * The `kv`, `locks` and `counters` of the contract, one map per namespace. What has expired is judged on every read;
 * an agenda makes it leave its room, so that no namespace is ever walked.
 */
import { MAX_KV_VALUE_BYTES } from '../../protocol/index.ts'
import { Agenda } from './agenda.ts'
import { RECORD, storageFull } from './ledger.ts'
import { valueOf } from './store.ts'
import type { Counters, Kv, Locks } from '../index.ts'
import type { Entry } from './agenda.ts'
import type { Fence } from './fences.ts'
import type { Store, Sync } from './store.ts'

interface Timed {
  readonly name: string
  expiry: Entry<Timed> | null
}

/** Things by name, some of which end at a time of their own. */
class Namespace<T extends Timed> {
  readonly all = new Map<string, T>()
  readonly #agenda = new Agenda<Timed>()
  readonly #store: Store
  readonly #sizeOf: (thing: T) => number

  constructor(store: Store, sizeOf: (thing: T) => number) {
    this.#store = store
    this.#sizeOf = sizeOf
  }

  /** Lets go what has expired. */
  prune(): void {
    const now = this.#store.now()
    for (let ended = this.#agenda.takeDue(now); ended !== null; ended = this.#agenda.takeDue(now))
      this.remove(ended.name)
  }

  set(thing: T, ends: number | null): void {
    this.remove(thing.name)
    this.all.set(thing.name, thing)
    this.#store.ledger.add(this.#sizeOf(thing))
    this.#end(thing, ends)
  }

  prolong(thing: T, ends: number): void {
    this.#end(thing, ends)
  }

  remove(name: string): boolean {
    const thing = this.all.get(name)
    if (thing === undefined) return false
    if (thing.expiry !== null) this.#agenda.cancel(thing.expiry)
    this.#store.ledger.add(-this.#sizeOf(thing))
    return this.all.delete(name)
  }

  /** @throws FleetError STORAGE_FULL when those of `names` that are new exceed `limit`. */
  require(names: readonly string[], limit: number, what: string): void {
    const added = new Set(names.filter((name) => !this.all.has(name))).size
    if (added > 0 && this.all.size + added > limit) throw storageFull(`a namespace holds at most ${limit} ${what}`)
  }

  #end(thing: T, ends: number | null): void {
    if (thing.expiry !== null) this.#agenda.cancel(thing.expiry)
    thing.expiry = ends === null ? null : this.#agenda.add(ends, thing)
  }
}

interface Value extends Timed {
  readonly text: string
}

export class MemoryKv implements Sync<Kv> {
  readonly #store: Store
  readonly #namespaces = new Map<string, Namespace<Value>>()

  constructor(store: Store) {
    this.#store = store
  }

  get(namespace: string, keys: readonly string[]): readonly (string | null)[] {
    const { all } = this.#of(namespace)
    return keys.map((key) => all.get(key)?.text ?? null)
  }

  set(
    namespace: string,
    items: readonly { readonly key: string; readonly value: string; readonly ttlMs: number | null }[],
  ): void {
    const values = this.#of(namespace)
    const tooLarge = items.find(({ value }) => Buffer.byteLength(value) > MAX_KV_VALUE_BYTES)
    if (tooLarge !== undefined)
      throw storageFull(`the value of ${JSON.stringify(tooLarge.key)} exceeds ${MAX_KV_VALUE_BYTES} bytes`)
    values.require(
      items.map(({ key }) => key),
      this.#store.limits.kvKeys,
      'keys',
    )
    this.#store.ledger.require(items.reduce((sum, { key, value }) => sum + RECORD + key.length + value.length, 0))
    const now = this.#store.now()
    for (const { key, value, ttlMs } of items)
      values.set({ name: key, text: value, expiry: null }, ttlMs === null ? null : now + ttlMs)
  }

  delete(namespace: string, keys: readonly string[]): readonly boolean[] {
    const values = this.#of(namespace)
    return keys.map((key) => values.remove(key))
  }

  #of(namespace: string): Namespace<Value> {
    const values = valueOf(
      this.#namespaces,
      namespace,
      () => new Namespace<Value>(this.#store, ({ name, text }) => RECORD + name.length + text.length),
    )
    values.prune()
    return values
  }
}

interface Lock extends Timed {
  readonly token: number
  until: number
}
interface LockSpace {
  readonly locks: Namespace<Lock>
  readonly fence: Fence
}

export class MemoryLocks implements Sync<Locks> {
  readonly #store: Store
  readonly #namespaces = new Map<string, LockSpace>()

  constructor(store: Store) {
    this.#store = store
  }

  acquire(
    namespace: string,
    items: readonly { readonly name: string; readonly holdMs: number }[],
  ): readonly ({ readonly token: number; readonly until: number } | { readonly heldUntil: number })[] {
    const { locks, fence } = this.#of(namespace)
    locks.require(
      items.map(({ name }) => name),
      this.#store.limits.namesPerNamespace,
      'locks',
    )
    this.#store.ledger.require(items.reduce((sum, { name }) => sum + RECORD + name.length, 0))
    return items.map(({ name, holdMs }) => {
      const held = locks.all.get(name)
      if (held !== undefined) return { heldUntil: held.until }
      const lock: Lock = { name, token: fence.next(), until: this.#store.now() + holdMs, expiry: null }
      locks.set(lock, lock.until)
      return { token: lock.token, until: lock.until }
    })
  }

  extend(
    namespace: string,
    items: readonly { readonly name: string; readonly token: number; readonly holdMs: number }[],
  ): readonly ({ readonly until: number } | 'lease_lost')[] {
    const { locks } = this.#of(namespace)
    return items.map(({ name, token, holdMs }) => {
      const lock = locks.all.get(name)
      if (lock?.token !== token) return 'lease_lost'
      lock.until = Math.max(lock.until, this.#store.now() + holdMs)
      locks.prolong(lock, lock.until)
      return { until: lock.until }
    })
  }

  release(
    namespace: string,
    items: readonly { readonly name: string; readonly token: number }[],
  ): readonly ('ok' | 'lease_lost')[] {
    const { locks } = this.#of(namespace)
    return items.map(({ name, token }) => {
      if (locks.all.get(name)?.token !== token) return 'lease_lost'
      locks.remove(name)
      return 'ok'
    })
  }

  /** The namespace without the locks whose hold has passed. */
  #of(namespace: string): LockSpace {
    const space = valueOf(this.#namespaces, namespace, () => ({
      locks: new Namespace<Lock>(this.#store, ({ name }) => RECORD + name.length),
      fence: this.#store.fences.make(this.#store.now()),
    }))
    space.locks.prune()
    return space
  }
}

interface Sum extends Timed {
  value: number
}

export class MemoryCounters implements Sync<Counters> {
  readonly #store: Store
  readonly #namespaces = new Map<string, Namespace<Sum>>()

  constructor(store: Store) {
    this.#store = store
  }

  add(
    namespace: string,
    items: readonly { readonly name: string; readonly delta: number }[],
  ): readonly (number | 'out_of_range')[] {
    const sums = this.#of(namespace)
    sums.require(
      items.map(({ name }) => name),
      this.#store.limits.namesPerNamespace,
      'counters',
    )
    this.#store.ledger.require(
      items.reduce((total, { name }) => total + (sums.all.has(name) ? 0 : RECORD + name.length), 0),
    )
    return items.map(({ name, delta }) => {
      const sum = sums.all.get(name) ?? { name, value: 0, expiry: null }
      const value = sum.value + delta
      if (!Number.isSafeInteger(value)) return 'out_of_range'
      if (!sums.all.has(name)) sums.set(sum, null)
      sum.value = value
      return value
    })
  }

  get(namespace: string, names: readonly string[]): readonly number[] {
    const { all } = this.#of(namespace)
    return names.map((name) => all.get(name)?.value ?? 0)
  }

  #of(namespace: string): Namespace<Sum> {
    return valueOf(
      this.#namespaces,
      namespace,
      () => new Namespace<Sum>(this.#store, ({ name }) => RECORD + name.length),
    )
  }
}
