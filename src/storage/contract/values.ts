/**
 * @module storage/contract/values
 * Defines the primitives that automations share: key-value pairs, locks and counters, each in namespaces.
 *
 * Of each kind there are at most 1,000 namespaces that are not named after an automation type. A write that would
 * create another one is STORAGE_FULL. `isOfType` marks the namespace of an automation type, which is neither counted
 * nor refused; false if omitted. An empty namespace makes room for a new one. On Redis it does so a minute after its
 * last write at the earliest. A namespace of locks also has to wait until a new token sequence would start above its
 * tokens, about a second (D100).
 */
import type { JsonText } from '../../protocol/index.ts'
import type { EpochMs, ExtendHoldResult, PerItem, Token } from './common.ts'

/** Key-value pairs. Names of namespaces and keys are 1 to 256 characters of well-formed text. */
export interface Kv {
  /**
   * Reads values.
   *
   * @param namespace 1 to 256 characters.
   * @param keys Keys of 1 to 256 characters.
   * @returns `null` for a key that is not set or has expired.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  get(namespace: string, keys: readonly string[]): PerItem<JsonText | null>
  /**
   * Sets values. Items act in order; the last one of a key applies.
   *
   * @param namespace 1 to 256 characters.
   * @param items `value`: at most 256 KiB. `ttlMs`: 1,000 ms to one year, counted from now; `null`: until it is
   *   deleted, also if an earlier set had a ttl.
   * @param isOfType The namespace belongs to the automation type of the same name; false if omitted.
   * @throws {FleetError} STORAGE_FULL, also for a larger value and above 100,000 keys in the namespace. Nothing of the
   *   call was set.
   *   STORAGE_UNAVAILABLE. Safe to retry.
   */
  set(
    namespace: string,
    items: readonly { readonly key: string; readonly value: JsonText; readonly ttlMs: number | null }[],
    isOfType?: boolean,
  ): Promise<void>
  /**
   * Deletes values.
   *
   * @param namespace 1 to 256 characters.
   * @param keys Keys of 1 to 256 characters.
   * @returns false if the key was not set or had expired.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry; a repeat returns false.
   */
  delete(namespace: string, keys: readonly string[]): PerItem<boolean>
}

/**
 * The result of acquiring one lock. `held`: a worker has the lock, which may be the same one; `untilMs` is the end of
 * its hold.
 */
export type LockResult =
  | { readonly kind: 'acquired'; readonly token: Token; readonly expiresAtMs: EpochMs }
  | { readonly kind: 'held'; readonly untilMs: EpochMs }

/** Locks with an expiry and a fencing token. They are not re-entrant. */
export interface Locks {
  /**
   * Acquires locks that are free. Items act in order.
   *
   * @param namespace 1 to 256 characters.
   * @param items `name` and `owner` (the worker): 1 to 256 characters. `holdMs`: 1,000 to 43,200,000 ms.
   * @param isOfType The namespace belongs to the automation type of the same name; false if omitted.
   * @returns the token and the end of the hold, or the end of the hold of the current owner.
   * @throws {FleetError} STORAGE_FULL, also above 10,000 held locks in the namespace. No lock of the call was acquired.
   *   STORAGE_UNAVAILABLE. If the outcome is unknown, a retry may find the lock held by its own first call,
   *   until that hold ends.
   */
  acquire(
    namespace: string,
    items: readonly { readonly name: string; readonly owner: string; readonly holdMs: number }[],
    isOfType?: boolean,
  ): PerItem<LockResult>
  /**
   * Moves the end of holds to now + `holdMs`, never to an earlier time.
   *
   * @param namespace 1 to 256 characters.
   * @param items `holdMs`: 1,000 to 43,200,000 ms.
   * @returns the end that now applies; `lease_lost` if the hold has ended or the token is another one.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  extend(
    namespace: string,
    items: readonly { readonly name: string; readonly token: Token; readonly holdMs: number }[],
  ): PerItem<ExtendHoldResult>
  /**
   * Releases locks.
   *
   * @param namespace 1 to 256 characters.
   * @param items The locks, each with the token of its hold.
   * @returns `lease_lost` if the hold has ended or the token is another one.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry; a repeat returns `lease_lost`.
   */
  release(
    namespace: string,
    items: readonly { readonly name: string; readonly token: Token }[],
  ): PerItem<'ok' | 'lease_lost'>
}

/** Counters: safe integers that start at 0. */
export interface Counters {
  /**
   * Adds to counters. Items act in order. A counter that becomes 0 is removed and makes room for another one.
   *
   * @param namespace 1 to 256 characters.
   * @param items `name`: 1 to 256 characters. `delta`: the number of steps to add, a safe integer, also below 0.
   * @param isOfType The namespace belongs to the automation type of the same name; false if omitted.
   * @returns the new value; `out_of_range` if it would leave ±(2^53 − 1), and the counter is unchanged.
   * @throws {FleetError} STORAGE_FULL, also above 10,000 counters in the namespace. Nothing of the call was added.
   *   STORAGE_UNAVAILABLE. Not safe to retry if the outcome is unknown: the delta may be added twice.
   */
  add(
    namespace: string,
    items: readonly { readonly name: string; readonly delta: number }[],
    isOfType?: boolean,
  ): PerItem<number | 'out_of_range'>
  /**
   * Reads counters.
   *
   * @param namespace 1 to 256 characters.
   * @param names Names of counters, 1 to 256 characters each.
   * @returns 0 for a counter that was never added to.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  get(namespace: string, names: readonly string[]): PerItem<number>
}
