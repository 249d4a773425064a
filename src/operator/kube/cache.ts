/**
 * @module operator/kube/cache
 * Caches the objects of the watched scopes. For one uid an entry never goes back: neither to a lower generation nor,
 * within a generation, to a lower resource version. Such data comes from a replica of the API server that is behind, or
 * from a watch event that the response to a write has overtaken. Another uid replaces the entry. Only a restored backup
 * of the store makes entries go back; a list detects it.
 *
 * The cache saves memory: an object or a spec that is seen again unchanged keeps the stored one, and `keepSpec`
 * compresses a new spec.
 */
import { isDeepStrictEqual } from 'node:util'
import { keyOf, type KubeObject, type ObjectKey } from './objects.ts'

const NONE: readonly never[] = []
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'
/** Every annotation that the operator reads is much shorter. */
const MAX_ANNOTATION_CHARS = 1_024

/** The previous and new state of an entry. `after` is `undefined` once the object is deleted. */
export interface Change<T extends KubeObject> {
  readonly key: ObjectKey
  readonly before: T | undefined
  readonly after: T | undefined
}

export interface ObjectCache<T extends KubeObject> {
  /** Whether every scope has been listed once. */
  readonly isSynced: boolean
  readonly size: number
  get(key: ObjectKey): T | undefined
  all(): Iterable<T>
  /** Objects under a value of an index that was passed at creation. */
  byIndex(index: string, value: string): readonly T[]
}

/** The values under which an object is found in an index. */
export type IndexOf<T extends KubeObject> = (object: T) => readonly string[]

export class WritableCache<T extends KubeObject> implements ObjectCache<T> {
  readonly #objects = new Map<ObjectKey, T>()
  readonly #keepSpec: (spec: T['spec']) => T['spec']
  readonly #indices: ReadonlyMap<string, { readonly of: IndexOf<T>; readonly keys: Map<string, Set<ObjectKey>> }>
  readonly #unsynced = new Set<string>()

  constructor(
    indices: Readonly<Record<string, IndexOf<T>>> = {},
    keepSpec: (spec: T['spec']) => T['spec'] = (spec) => spec,
  ) {
    this.#keepSpec = keepSpec
    this.#indices = new Map(Object.entries(indices).map(([name, of]) => [name, { of, keys: new Map() }]))
  }

  get isSynced(): boolean {
    return this.#unsynced.size === 0
  }

  get size(): number {
    return this.#objects.size
  }

  get(key: ObjectKey): T | undefined {
    return this.#objects.get(key)
  }

  all(): Iterable<T> {
    return this.#objects.values()
  }

  byIndex(index: string, value: string): readonly T[] {
    const found = this.#indices.get(index)
    if (found === undefined) throw new TypeError(`the cache has no index "${index}"`)
    const keys = found.keys.get(value)
    return keys === undefined ? NONE : [...keys].flatMap((key) => this.#objects.get(key) ?? [])
  }

  /** The cache is not synced until `scope` is. */
  expect(scope: string): void {
    this.#unsynced.add(scope)
  }

  listed(scope: string): void {
    this.#unsynced.delete(scope)
  }

  /** Applies what a watch shows. @returns `undefined` if that is older than the entry. */
  offer(seen: T): Change<T> | undefined {
    const before = this.#objects.get(keyOf(seen.metadata))
    return before !== undefined && !isNewer(seen, before) ? undefined : this.#put(seen)
  }

  /**
   * Applies an object of a list as of `version`. A list that is no older than the entry is right about it, even where
   * the entry is ahead: then the store has lost that later state. `undefined`: the list is right in any case.
   */
  offerListed(seen: T, version: string | undefined): Change<T> | undefined {
    const before = this.#objects.get(keyOf(seen.metadata))
    const isRight =
      before === undefined ||
      version === undefined ||
      compareVersions(version, before.metadata.resourceVersion) !== 'older'
    return isRight ? this.#put(seen) : this.offer(seen)
  }

  /**
   * Applies the response to a write, but only if the object is still cached, since it may have been deleted meanwhile.
   */
  applyResponse(written: T): void {
    if (this.#objects.get(keyOf(written.metadata))?.metadata.uid === written.metadata.uid) this.offer(written)
  }

  /** Removes a deleted object. @returns `undefined` if the cache has no entry, or one with another uid. */
  remove(gone: KubeObject): Change<T> | undefined {
    const key = keyOf(gone.metadata)
    const before = this.#objects.get(key)
    if (before?.metadata.uid !== gone.metadata.uid) return undefined
    this.#unindex(key, before)
    this.#objects.delete(key)
    return { key, before, after: undefined }
  }

  #put(seen: T): Change<T> {
    const key = keyOf(seen.metadata)
    const before = this.#objects.get(key)
    const after = this.#kept(seen, before)
    if (after === before) return { key, before, after }
    if (before !== undefined) this.#unindex(key, before)
    this.#objects.set(key, after)
    for (const { of, keys } of this.#indices.values()) for (const value of of(after)) members(keys, value).add(key)
    return { key, before, after }
  }

  #kept(seen: T, before: T | undefined): T {
    const { uid, generation, resourceVersion } = seen.metadata
    const isSameSpec =
      before?.metadata.uid === uid && generation !== undefined && before.metadata.generation === generation
    if (!isSameSpec) return { ...stripped(seen), spec: this.#keepSpec(seen.spec) }
    const isSame = before.metadata.resourceVersion === resourceVersion && isDeepStrictEqual(before.status, seen.status)
    return isSame ? before : { ...stripped(seen), spec: before.spec }
  }

  #unindex(key: ObjectKey, object: T): void {
    for (const { of, keys } of this.#indices.values()) {
      for (const value of of(object)) {
        const set = members(keys, value)
        set.delete(key)
        if (set.size === 0) keys.delete(value)
      }
    }
  }
}

function members(keys: Map<string, Set<ObjectKey>>, value: string): Set<ObjectKey> {
  const known = keys.get(value) ?? new Set<ObjectKey>()
  keys.set(value, known)
  return known
}

function isNewer({ metadata: seen }: KubeObject, { metadata: known }: KubeObject): boolean {
  if (seen.uid !== known.uid) return true
  const [before, after] = [known.generation ?? 0, seen.generation ?? 0]
  return (
    after > before || (after === before && compareVersions(seen.resourceVersion, known.resourceVersion) !== 'older')
  )
}

/**
 * Compares resource version `a` with `b`. They are decimal and increase in every existing API server, which Kubernetes
 * guarantees from 1.35 on. Anything else counts as newer, so no change is missed.
 */
export function compareVersions(a: string, b: string): 'older' | 'same' | 'newer' {
  if (a === b) return 'same'
  const isDecimal = /^[1-9]\d*$/
  if (!isDecimal.test(a) || !isDecimal.test(b)) return 'newer'
  return a.length < b.length || (a.length === b.length && a < b) ? 'older' : 'newer'
}

/** Removes fields that the operator never reads and that are often larger than the rest. */
function stripped<T extends KubeObject>(object: T): T {
  const { managedFields: _, ...metadata } = object.metadata as T['metadata'] & { readonly managedFields?: unknown }
  const all = Object.entries<string>(metadata.annotations ?? {})
  const kept = all.filter(([name, value]) => name !== LAST_APPLIED && value.length <= MAX_ANNOTATION_CHARS)
  if (kept.length === all.length) return { ...object, metadata }
  const annotations = Object.fromEntries(kept)
  return { ...object, metadata: { ...metadata, annotations } }
}
