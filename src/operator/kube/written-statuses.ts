/**
 * @module operator/kube/written-statuses
 * Remembers the last status that was written to each object, and what the API server made of it. The writer uses it to
 * recognise a status that needs no write, and one that another client has edited.
 */
import { isDeepStrictEqual } from 'node:util'
import { keyOf, type KubeObject, type ObjectKey } from './objects.ts'

/** Statuses of deleted objects are kept until this many more are kept than the cache has objects. */
const MAX_EXTRA = 1_000

export interface Written<S> {
  readonly uid: string
  readonly atMs: number
  /** Until then a user may wait for further statuses, because of an edit. */
  readonly awaitedUntilMs: number
  readonly sent: S
  /** As the API server returned it, including fields that others have added. */
  readonly shown: unknown
}

interface Cache {
  readonly size: number
  get(key: ObjectKey): unknown
}

export class WrittenStatuses<T extends KubeObject, S> {
  readonly #byKey = new Map<ObjectKey, Written<S>>()
  readonly #cache: Cache

  constructor(cache: Cache) {
    this.#cache = cache
  }

  get(key: ObjectKey): Written<S> | undefined {
    return this.#byKey.get(key)
  }

  remember(key: ObjectKey, written: Written<S>): void {
    this.#byKey.set(key, written)
    if (this.#byKey.size <= this.#cache.size + MAX_EXTRA) return
    for (const known of this.#byKey.keys()) if (this.#cache.get(known) === undefined) this.#byKey.delete(known)
  }

  /** Whether the object already shows this status, or what the API server made of it. */
  shows(current: T, status: S): boolean {
    if (isDeepStrictEqual(current.status, status)) return true
    const written = this.#byKey.get(keyOf(current.metadata))
    return (
      written !== undefined &&
      isDeepStrictEqual(written.shown, current.status) &&
      isDeepStrictEqual(written.sent, status)
    )
  }

  /** Whether a field that was written shows another value. Conditions are skipped: others may add to that list. */
  isChangedByOthers({ metadata, status = {} }: T): boolean {
    const written = this.#byKey.get(keyOf(metadata))
    if (written?.uid !== metadata.uid) return false
    const [before, now] = [written.shown, status] as Readonly<Record<string, unknown>>[]
    return Object.keys(written.sent as object).some(
      (field) => field !== 'conditions' && !isDeepStrictEqual(before?.[field], now?.[field]),
    )
  }
}
