/** @module storage/sqlite/engine-rollups  SqliteRollups stores the rollups of each type, a ring for each resolution. */
import { HISTORY_RESOLUTIONS, type JsonText } from '../../protocol/index.ts'
import { addToStep, numbersOf, resolutionOf, stepRange } from '../index.ts'
import type { RollupIncrement, Rollups, RollupStep, Sync } from '../index.ts'
import type { Database } from './driver.ts'
import type { EngineDeps } from './engine-deps.ts'
import { KIND, type Names } from './names.ts'
import type { Transaction } from './transaction.ts'

interface StoredStep {
  readonly n: number
  readonly numbers: JsonText
}

function statementsOf(db: Database) {
  return {
    get: db
      .prepare<[number, number, number, number], JsonText>(
        'SELECT numbers FROM rollup WHERE type = ? AND step = ? AND place = ? AND n = ?',
      )
      .pluck(),
    put: db.prepare<[number, number, number, number, JsonText]>(
      'INSERT OR REPLACE INTO rollup(type, step, place, n, numbers) VALUES(?, ?, ?, ?, ?)',
    ),
    range: db.prepare<[number, number, number, number], StoredStep>(
      'SELECT n, numbers FROM rollup WHERE type = ? AND step = ? AND n BETWEEN ? AND ? ORDER BY n',
    ),
  }
}

export class SqliteRollups implements Sync<Rollups> {
  readonly #txn: Transaction
  readonly #names: Names
  readonly #sql: ReturnType<typeof statementsOf>

  constructor({ db, txn, names }: EngineDeps) {
    this.#txn = txn
    this.#names = names
    this.#sql = statementsOf(db)
  }

  add(increments: readonly RollupIncrement[]): void {
    for (const increment of increments) {
      const type = this.#names.number(KIND.type, increment.type)
      for (const { stepMs, steps } of HISTORY_RESOLUTIONS) {
        const n = Math.floor(this.#txn.nowMs / stepMs)
        const place = n % steps
        const stored = this.#sql.get.get(type, stepMs, place, n) ?? null
        this.#sql.put.run(type, stepMs, place, n, addToStep(stored, increment))
      }
    }
  }

  read(typeName: string, stepMs: number, fromMs: number, toMs: number): readonly RollupStep[] {
    const type = this.#names.find(KIND.type, typeName)
    if (type === undefined) return []
    const { first, last } = stepRange(resolutionOf(stepMs), this.#txn.nowMs, fromMs, toMs)
    return this.#sql.range
      .all(type, stepMs, first, last)
      .map(({ n, numbers }) => ({ startMs: n * stepMs, ...numbersOf(numbers) }))
  }
}
