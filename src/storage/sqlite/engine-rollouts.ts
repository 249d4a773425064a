/** @module storage/sqlite/engine-rollouts  SqliteRollouts stores the rollout reports of each type. */
import { MAX_ROLLOUTS, type JsonText } from '../../protocol/index.ts'
import { byName, type RolloutHead, type RolloutPutResult, type RolloutReport, type Rollouts } from '../index.ts'
import type { Sync } from '../index.ts'
import type { Database } from './driver.ts'
import type { EngineDeps } from './engine-deps.ts'
import { KIND, type Names } from './names.ts'

function statementsOf(db: Database) {
  return {
    head: db.prepare<[number, string], string>('SELECT head FROM rollout WHERE type = ? AND name = ?').pluck(),
    count: db.prepare<[number], number>('SELECT count(*) FROM rollout WHERE type = ?').pluck(),
    put: db.prepare<[RolloutReport & { readonly type: number }]>(
      `INSERT OR REPLACE INTO rollout(type, name, reported, head, body)
        VALUES(:type, :name, :reportedAtMs, :head, :body)`,
    ),
    remove: db.prepare<[number, string]>('DELETE FROM rollout WHERE type = ? AND name = ?'),
    list: db.prepare<[number], RolloutReport>(
      'SELECT name, head, body, reported AS reportedAtMs FROM rollout WHERE type = ?',
    ),
    heads: db.prepare<[number], RolloutHead>('SELECT name, head FROM rollout WHERE type = ?'),
  }
}

export class SqliteRollouts implements Sync<Rollouts> {
  readonly #names: Names
  readonly #sql: ReturnType<typeof statementsOf>

  constructor({ db, names }: EngineDeps) {
    this.#names = names
    this.#sql = statementsOf(db)
  }

  put(typeName: string, { name, head, body, reportedAtMs }: RolloutReport): RolloutPutResult {
    const type = this.#names.number(KIND.type, typeName)
    const stored = this.#sql.head.get(type, name)
    if (stored === undefined && (this.#sql.count.get(type) ?? 0) >= MAX_ROLLOUTS) return 'full'
    this.#sql.put.run({ type, name, head, body, reportedAtMs })
    return stored === head ? 'updated' : 'changed'
  }

  remove(typeName: string, name: string): JsonText | null {
    const type = this.#names.find(KIND.type, typeName)
    const stored = type === undefined ? undefined : this.#sql.head.get(type, name)
    if (type === undefined || stored === undefined) return null
    this.#sql.remove.run(type, name)
    return stored
  }

  list(typeName: string): readonly RolloutReport[] {
    const type = this.#names.find(KIND.type, typeName)
    return type === undefined ? [] : this.#sql.list.all(type).toSorted(byName)
  }

  heads(typeNames: readonly string[]): readonly (readonly RolloutHead[])[] {
    return typeNames.map((typeName) => {
      const type = this.#names.find(KIND.type, typeName)
      return type === undefined ? [] : this.#sql.heads.all(type).toSorted(byName)
    })
  }
}
