/**
 * @module storage/contract/operations
 * Defines operations: changes of many workers that the leading master carries out, step by step. The store knows
 * nothing of their content. The head is the part that lists show. The parts have the items, so that a step writes the
 * items that it changed and no others.
 *
 *   create ──▶ version 1 ──update(1)──▶ version 2 ──update(2)──▶ …        update(1) of another master: conflict
 *
 * @see D189
 */
import type { JsonText } from '../../protocol/index.ts'

/** The head of one operation. */
export interface OperationHead {
  /** 1 to 256 characters. */
  readonly id: string
  /** 1 for a new operation; each update adds 1. */
  readonly version: number
  readonly head: JsonText
}

/** One part of an operation. */
export interface OperationPart {
  /** Its position, from 0. */
  readonly n: number
  readonly text: JsonText
}

/** `full`: the type has 32 operations. `exists`: it has one of this id. Nothing was written, unless `created`. */
export type OperationCreateResult = 'created' | 'exists' | 'full'
/** `conflict`: the operation has another version. Nothing was written, unless `updated`. */
export type OperationUpdateResult = 'updated' | 'conflict' | 'not_found'

/** Operations of automation types. */
export interface Operations {
  /**
   * Stores a new operation.
   *
   * @param type The automation type.
   * @param id 1 to 256 characters.
   * @param head The head.
   * @param parts At most 64 parts of at most 1 MiB, in order; none for an operation without items.
   * @returns whether it was stored.
   * @throws {FleetError} STORAGE_FULL. Nothing was written. STORAGE_UNAVAILABLE. Safe to retry; a repeat of a call
   *   whose outcome is unknown may return `exists`.
   */
  create(type: string, id: string, head: JsonText, parts: readonly JsonText[]): Promise<OperationCreateResult>
  /**
   * Replaces the head, and the given parts, of an operation that has this version.
   *
   * @param type The automation type.
   * @param id The operation.
   * @param version The version that the change is based on.
   * @param head The new head.
   * @param parts The parts to replace; parts that the operation does not have are ignored.
   * @returns whether it was stored.
   * @throws {FleetError} STORAGE_FULL. Nothing was written. STORAGE_UNAVAILABLE. Safe to retry; a repeat of a call
   *   whose outcome is unknown may return `conflict`.
   */
  update(
    type: string,
    id: string,
    version: number,
    head: JsonText,
    parts: readonly OperationPart[],
  ): Promise<OperationUpdateResult>
  /**
   * Removes an operation with its parts.
   *
   * @param type The automation type.
   * @param id The operation.
   * @returns false if there is no such operation.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry; a repeat returns false.
   */
  remove(type: string, id: string): Promise<boolean>
  /**
   * Reads the heads of the operations of several types.
   *
   * @param types The automation types.
   * @returns for each type, in the same order, at most 32 heads, ordered by id, by code units.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  heads(types: readonly string[]): Promise<readonly (readonly OperationHead[])[]>
  /**
   * Reads one part.
   *
   * @param type The automation type.
   * @param id The operation.
   * @param n The position of the part, from 0.
   * @returns null if there is no such operation or part.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  part(type: string, id: string, n: number): Promise<JsonText | null>
}
