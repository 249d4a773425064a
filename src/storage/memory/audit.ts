/** @module storage/memory/audit  Implements `audit` of the contract: the newest entries in a list. */
import { AUDIT_LOG_LENGTH, type JsonText } from '../../protocol/index.ts'
import type { AuditLog, AuditRow, Sync } from '../index.ts'
import { RECORD_OVERHEAD } from './memory-budget.ts'
import type { Store } from './store.ts'

export class MemoryAudit implements Sync<AuditLog> {
  readonly #store: Store
  /** Oldest first. */
  #rows: AuditRow[] = []
  #last = 0

  constructor(store: Store) {
    this.#store = store
  }

  append(entries: readonly JsonText[]): void {
    this.#store.budget.requireForOptional(sizeOf(entries))
    this.#store.budget.add(sizeOf(entries))
    for (const entry of entries) this.#rows.push({ n: (this.#last += 1), entry })
    const dropped = this.#rows.splice(0, Math.max(0, this.#rows.length - AUDIT_LOG_LENGTH))
    this.#store.budget.add(-sizeOf(dropped.map(({ entry }) => entry)))
  }

  list(before: number | null, limit: number): readonly AuditRow[] {
    const first = this.#rows[0]?.n ?? 1
    const end = before === null ? this.#rows.length : Math.max(0, Math.min(this.#rows.length, before - first))
    return this.#rows.slice(Math.max(0, end - limit), end).toReversed()
  }
}

const sizeOf = (entries: readonly JsonText[]): number =>
  entries.reduce((sum, { length }) => sum + RECORD_OVERHEAD + length, 0)
