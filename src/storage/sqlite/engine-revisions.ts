/**
 * @module storage/sqlite/engine-revisions
 * SqliteRevisions stores named configs that never change. `cfg.revision` says which ones workers use; a release that
 * does not know this column leaves it in the row of a worker that it forgets, whose config is NULL. A revision that an
 * enrolment rule names is never dropped. The tally of a revision is JSON in its row, NULL before the first increment.
 */
import { KEPT_REVISIONS, MAX_REVISIONS } from '../../protocol/index.ts'
import { addToTally } from '../index.ts'
import type { NewRevision, RevisionPutResult, RevisionRow, Revisions, Sync, Tally, TallyIncrement } from '../index.ts'
import type { Database } from './driver.ts'
import type { EngineDeps } from './engine-deps.ts'
import { KIND, type Names } from './names.ts'
import type { Transaction } from './transaction.ts'

const IN_USE = 'FROM cfg WHERE cfg.type = revision.type AND cfg.revision = revision.name AND config IS NOT NULL'

function statementsOf(db: Database) {
  return {
    has: db.prepare<[number, string], number>('SELECT 1 FROM revision WHERE type = ? AND name = ?').pluck(),
    config: db.prepare<[number, string], string>('SELECT body FROM revision WHERE type = ? AND name = ?').pluck(),
    count: db.prepare<[number], number>('SELECT count(*) FROM revision WHERE type = ?').pluck(),
    unneeded: db
      .prepare<[number, number], number>(
        `SELECT n FROM (SELECT type, n, name FROM revision WHERE type = ? ORDER BY n DESC LIMIT -1 OFFSET ?)
          AS revision
          WHERE NOT EXISTS (SELECT 1 ${IN_USE}) AND NOT EXISTS (SELECT 1 FROM enrolment
            WHERE enrolment.type = revision.type AND enrolment.revision = revision.name)`,
      )
      .pluck(),
    drop: db.prepare<[number, number]>('DELETE FROM revision WHERE type = ? AND n = ?'),
    insert: db.prepare<[{ type: number; name: string; now: number; actor: string; by: string | null; body: string }]>(
      `INSERT INTO revision(type, n, name, created, actor, managed_by, body)
        SELECT :type, coalesce(max(n), 0) + 1, :name, :now, :actor, :by, :body FROM revision WHERE type = :type`,
    ),
    use: db.prepare<[{ type: number; name: string; now: number }]>(
      `UPDATE revision SET first_used = coalesce(first_used, :now), last_used = :now
        WHERE type = :type AND name = :name`,
    ),
    tally: db
      .prepare<[number, string], string | null>('SELECT tally FROM revision WHERE type = ? AND name = ?')
      .pluck(),
    setTally: db.prepare<[string, number, string]>('UPDATE revision SET tally = ? WHERE type = ? AND name = ?'),
    list: db.prepare<[number], Omit<RevisionRow, 'tally'> & { readonly tally: string | null }>(
      `SELECT name, managed_by AS managedBy, actor, created AS createdAtMs, (SELECT count(*) ${IN_USE}) AS workers,
        first_used AS firstUsedAtMs, last_used AS lastUsedAtMs, tally FROM revision WHERE type = ? ORDER BY n DESC`,
    ),
  }
}

export class SqliteRevisions implements Sync<Revisions> {
  readonly #txn: Transaction
  readonly #names: Names
  readonly #sql: ReturnType<typeof statementsOf>

  constructor({ db, txn, names }: EngineDeps) {
    this.#txn = txn
    this.#names = names
    this.#sql = statementsOf(db)
  }

  put(typeName: string, { name, config, managedBy, actor }: NewRevision): RevisionPutResult {
    const type = this.#names.number(KIND.type, typeName)
    if (this.has(type, name)) return 'exists'
    const unneeded = this.#sql.unneeded.all(type, KEPT_REVISIONS - 1)
    if ((this.#sql.count.get(type) ?? 0) - unneeded.length >= MAX_REVISIONS) return 'full'
    for (const n of unneeded) this.#sql.drop.run(type, n)
    this.#sql.insert.run({ type, name, now: this.#txn.nowMs, actor, by: managedBy, body: config })
    return 'stored'
  }

  get(typeName: string, names: readonly string[]): readonly (string | null)[] {
    const type = this.#names.find(KIND.type, typeName)
    return names.map((name) => (type === undefined ? null : (this.#sql.config.get(type, name) ?? null)))
  }

  list(typeName: string): readonly RevisionRow[] {
    const type = this.#names.find(KIND.type, typeName)
    const rows = type === undefined ? [] : this.#sql.list.all(type)
    return rows.map((row) => ({ ...row, tally: tallyOf(row.tally) }))
  }

  addTallies(typeName: string, increments: readonly TallyIncrement[]): void {
    const type = this.#names.find(KIND.type, typeName)
    if (type === undefined) return
    for (const { revision, counters } of increments) {
      const stored = this.#sql.tally.get(type, revision)
      if (stored === undefined) continue
      const tally = new Map(Object.entries(tallyOf(stored)))
      addToTally(tally, counters)
      this.#sql.setTally.run(JSON.stringify(Object.fromEntries(tally)), type, revision)
    }
  }

  has(type: number, name: string): boolean {
    return this.#sql.has.get(type, name) !== undefined
  }

  /** Records that workers were brought to the revision. */
  use(type: number, name: string): void {
    this.#sql.use.run({ type, name, now: this.#txn.nowMs })
  }
}

const tallyOf = (stored: string | null): Tally => (stored === null ? {} : (JSON.parse(stored) as Tally))
