/**
 * @module master/operations/operation-store
 * OperationStore reads and writes operations. A change of the head that loses against another one is made again on top
 * of it, if the change still applies.
 */
import { FleetError, KEPT_OPERATIONS, MAX_OPERATIONS, type OperationState } from '../../protocol/index.ts'
import type { Backend } from '../../storage/index.ts'
import type { StoredHead, StoredPart } from './stored.ts'

/** An operation as it was read. */
export interface Operation {
  readonly type: string
  readonly id: string
  readonly version: number
  readonly head: StoredHead
}

const CONFLICTS = 10
/** Number of operations of a type that may run at a time. */
const MAX_RUNNING = MAX_OPERATIONS - KEPT_OPERATIONS

export class OperationStore {
  readonly #backend: Backend

  constructor(backend: Backend) {
    this.#backend = backend
  }

  /** @returns the operations of the types, newest first. */
  async list(types: readonly string[]): Promise<readonly Operation[]> {
    const heads = await this.#backend.operations.heads(types)
    return types
      .flatMap((type, at) =>
        (heads[at] ?? []).map(({ id, version, head }): Operation => {
          return { type, id, version, head: JSON.parse(head) as StoredHead }
        }),
      )
      .toSorted((one, other) => other.head.createdMs - one.head.createdMs)
  }

  /** @throws {FleetError} NOT_FOUND */
  async find(type: string, id: string): Promise<Operation> {
    const found = (await this.list([type])).find((each) => each.id === id)
    if (found === undefined) throw unknownOperation(type, id)
    return found
  }

  /** @throws {FleetError} NOT_FOUND */
  async part(type: string, id: string, n: number): Promise<StoredPart> {
    const text = await this.#backend.operations.part(type, id, n)
    if (text === null) throw unknownOperation(type, id)
    return JSON.parse(text) as StoredPart
  }

  /**
   * Stores a new operation, and removes old ones that have ended.
   *
   * @returns false if there is one of this id.
   * @throws {FleetError} OVERLOADED if too many operations of the type run.
   */
  async create(type: string, id: string, head: StoredHead, parts: readonly StoredPart[]): Promise<boolean> {
    const stored = await this.list([type])
    const ended = stored.filter(isOver)
    if (stored.length - ended.length >= MAX_RUNNING) throw tooMany(type)
    for (const old of ended.slice(KEPT_OPERATIONS - 1)) await this.#backend.operations.remove(type, old.id)
    const texts = parts.map((part) => JSON.stringify(part))
    const result = await this.#backend.operations.create(type, id, JSON.stringify(head), texts)
    if (result === 'full') throw tooMany(type)
    return result === 'created'
  }

  /**
   * Replaces the head and parts.
   *
   * @param change Returns the new head; null if the change does not apply any more. It is called again after a
   *   conflict, with the head that is stored then.
   * @returns the operation as it is stored now; null if the change does not apply, or the operation was removed.
   */
  async update(
    operation: Operation,
    change: (head: StoredHead) => StoredHead | null,
    parts: ReadonlyMap<number, StoredPart> = new Map(),
  ): Promise<Operation | null> {
    const { type, id } = operation
    const texts = [...parts].map(([n, part]) => ({ n, text: JSON.stringify(part) }))
    let current: Operation | undefined = operation
    for (let attempt = 0; attempt < CONFLICTS && current !== undefined; attempt += 1) {
      const head = change(current.head)
      if (head === null) return null
      const { version } = current
      const result = await this.#backend.operations.update(type, id, version, JSON.stringify(head), texts)
      if (result === 'updated') return { ...current, version: version + 1, head }
      current = (await this.list([type])).find((each) => each.id === id)
    }
    if (current === undefined) return null
    throw new FleetError('OVERLOADED', `operation ${id} changed several times at the same time; try again`, {
      retryAfterSeconds: 1,
    })
  }
}

/** @returns whether the operation will not change any more. */
export const isOver = ({ head }: Pick<Operation, 'head'>): boolean => hasEnded(head.state) && head.active.length === 0

/** @returns whether it begins no further worker. */
export const hasEnded = (state: OperationState): boolean => state !== 'running'

function unknownOperation(type: string, id: string): FleetError {
  return new FleetError(
    'NOT_FOUND',
    `type ${type} has no operation ${JSON.stringify(id)}; the newest ${KEPT_OPERATIONS} that have ended are kept`,
  )
}

const tooMany = (type: string): FleetError =>
  new FleetError('OVERLOADED', `${MAX_RUNNING} operations of type ${type} run, the maximum; wait, or cancel one`, {
    retryAfterSeconds: 60,
  })
