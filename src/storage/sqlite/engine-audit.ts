/** @module storage/sqlite/engine-audit  SqliteAudit stores the newest entries of the audit log. */
import { AUDIT_LOG_LENGTH, type JsonText } from '../../protocol/index.ts'
import type { AuditLog, AuditRow, Sync } from '../index.ts'
import type { Database } from './driver.ts'
import type { EngineDeps } from './engine-deps.ts'

function statementsOf(db: Database) {
  return {
    append: db.prepare<[string]>('INSERT INTO audit(entry) VALUES(?)'),
    drop: db.prepare<[number]>('DELETE FROM audit WHERE n <= (SELECT max(n) FROM audit) - ?'),
    list: db.prepare<[number, number], AuditRow>('SELECT n, entry FROM audit WHERE n < ? ORDER BY n DESC LIMIT ?'),
  }
}

export class SqliteAudit implements Sync<AuditLog> {
  readonly #sql: ReturnType<typeof statementsOf>

  constructor({ db }: EngineDeps) {
    this.#sql = statementsOf(db)
  }

  append(entries: readonly JsonText[]): void {
    for (const entry of entries) this.#sql.append.run(entry)
    this.#sql.drop.run(AUDIT_LOG_LENGTH)
  }

  list(before: number | null, limit: number): readonly AuditRow[] {
    return this.#sql.list.all(before ?? Number.MAX_SAFE_INTEGER, limit)
  }
}
