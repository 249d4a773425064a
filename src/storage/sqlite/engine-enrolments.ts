/**
 * @module storage/sqlite/engine-enrolments
 * SqliteEnrolments stores the enrolment rules of each type. `enrolled` has their version, which a register compares.
 */
import { MAX_ENROLMENTS } from '../../protocol/index.ts'
import { byName, type EnrolmentPutResult, type EnrolmentRule, type EnrolmentRules } from '../index.ts'
import type { Enrolments, Sync } from '../index.ts'
import type { Database } from './driver.ts'
import type { EngineDeps } from './engine-deps.ts'
import type { SqliteRevisions } from './engine-revisions.ts'
import { KIND, type Names } from './names.ts'
import type { Transaction } from './transaction.ts'

type Row = EnrolmentRule & { readonly type: number }

function statementsOf(db: Database) {
  return {
    version: db.prepare<[number], string>(`SELECT changed || '.' || changes FROM enrolled WHERE type = ?`).pluck(),
    change: db.prepare<[number, number]>(
      `INSERT INTO enrolled(type, changes, changed) VALUES(?, 1, ?)
        ON CONFLICT(type) DO UPDATE SET changes = changes + 1, changed = excluded.changed`,
    ),
    isStored: db
      .prepare<[Row], number>(
        `SELECT 1 FROM enrolment WHERE type = :type AND name = :name AND revision = :revision
          AND variant = :variant AND managed_by IS :managedBy AND body = :body`,
      )
      .pluck(),
    others: db.prepare<[number, string], number>('SELECT count(*) FROM enrolment WHERE type = ? AND name <> ?').pluck(),
    put: db.prepare<[Row]>(
      `INSERT OR REPLACE INTO enrolment(type, name, revision, variant, managed_by, body)
        VALUES(:type, :name, :revision, :variant, :managedBy, :body)`,
    ),
    remove: db.prepare<[number, string]>('DELETE FROM enrolment WHERE type = ? AND name = ?'),
    list: db.prepare<[number], EnrolmentRule>(
      'SELECT name, revision, variant, managed_by AS managedBy, body FROM enrolment WHERE type = ?',
    ),
  }
}

export class SqliteEnrolments implements Sync<Enrolments> {
  readonly #txn: Transaction
  readonly #names: Names
  readonly #revisions: SqliteRevisions
  readonly #sql: ReturnType<typeof statementsOf>

  constructor({ db, txn, names }: EngineDeps, revisions: SqliteRevisions) {
    this.#txn = txn
    this.#names = names
    this.#revisions = revisions
    this.#sql = statementsOf(db)
  }

  put(typeName: string, { name, revision, variant, managedBy, body }: EnrolmentRule): EnrolmentPutResult {
    const type = this.#names.find(KIND.type, typeName)
    if (type === undefined || !this.#revisions.has(type, revision)) return 'unknown_revision'
    const row = { type, name, revision, variant, managedBy, body }
    if (this.#sql.isStored.get(row) !== undefined) return 'unchanged'
    if ((this.#sql.others.get(type, name) ?? 0) >= MAX_ENROLMENTS) return 'full'
    this.#sql.put.run(row)
    this.#sql.change.run(type, this.#txn.nowMs)
    return 'stored'
  }

  remove(typeName: string, name: string): boolean {
    const type = this.#names.find(KIND.type, typeName)
    if (type === undefined || this.#sql.remove.run(type, name).changes === 0) return false
    this.#sql.change.run(type, this.#txn.nowMs)
    return true
  }

  list(typeName: string): EnrolmentRules {
    const type = this.#names.find(KIND.type, typeName)
    if (type === undefined) return { version: '', rules: [] }
    return { version: this.versionOf(type), rules: this.#sql.list.all(type).toSorted(byName) }
  }

  /** Records that a worker was enrolled with the revision. */
  use(type: number, revision: string): void {
    this.#revisions.use(type, revision)
  }

  versionOf(type: number): string {
    return this.#sql.version.get(type) ?? ''
  }
}
