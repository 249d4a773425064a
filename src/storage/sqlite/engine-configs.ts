/**
 * @module storage/sqlite/engine-configs
 * SqliteConfigs changes the configs of workers by compare-and-set, so that each success has its own generation (D16,
 * D18), and keeps the newest 50 changes. The row of a forgotten worker has its generation alone; `config` is NULL there
 * (D46).
 */
import { CONFIG_HISTORY_ROWS } from '../../protocol/index.ts'
import type {
  ConfigPut,
  ConfigPutResult,
  ConfigRaiseResult,
  ConfigRow,
  Configs,
  HistoryRow,
  Ref,
  Sync,
} from '../index.ts'
import type { Database } from './driver.ts'
import type { EngineDeps } from './engine-deps.ts'
import { KIND, type Names } from './names.ts'
import type { Transaction } from './transaction.ts'

/** The most that one call may raise a generation. It keeps a forged generation from using up the numbers. */
const MAX_RAISE = 1_000_000

type StoredConfig = ConfigRow & { readonly conn: string | null }
interface FoundConfig {
  readonly type: number
  readonly row: ConfigRow
  /** The connection of its worker. */
  readonly conn: string | null
}

function statementsOf(db: Database) {
  return {
    find: db.prepare<[number, string], StoredConfig>(
      `SELECT gen, config, changed AS changedAtMs, actor, conn FROM worker JOIN cfg USING(type, id)
        WHERE type = ? AND id = ?`,
    ),
    update: db.prepare<[number, string, number, string, number, string]>(
      'UPDATE cfg SET gen = ?, config = ?, changed = ?, actor = ? WHERE type = ? AND id = ?',
    ),
    updateGen: db.prepare<[number, number, string]>('UPDATE cfg SET gen = ? WHERE type = ? AND id = ?'),
    addChange: db.prepare<[number, string, number, number, string, string, string]>(
      'INSERT INTO cfg_history(type, id, gen, ts, actor, changed, config) VALUES(?, ?, ?, ?, ?, ?, ?)',
    ),
    trimChanges: db.prepare<[{ type: number; id: string }]>(
      `DELETE FROM cfg_history WHERE type = :type AND id = :id
        AND gen <= (SELECT gen FROM cfg_history WHERE type = :type AND id = :id
        ORDER BY gen DESC LIMIT 1 OFFSET ${CONFIG_HISTORY_ROWS})`,
    ),
    newestChanges: db.prepare<
      [number, string, number, number],
      Omit<HistoryRow, 'changed'> & { readonly changed: string }
    >(
      `SELECT gen, ts AS changedAtMs, actor, changed, config FROM cfg_history WHERE type = ? AND id = ?
        ORDER BY gen DESC LIMIT ? OFFSET ?`,
    ),
  }
}

export class SqliteConfigs implements Sync<Configs> {
  readonly #txn: Transaction
  readonly #names: Names
  readonly #sql: ReturnType<typeof statementsOf>

  constructor({ db, txn, names }: EngineDeps) {
    this.#txn = txn
    this.#names = names
    this.#sql = statementsOf(db)
  }

  put(put: ConfigPut): ConfigPutResult {
    const found = this.#find(put)
    if (found === undefined) return { kind: 'not_found' }
    const { type, row, conn } = found
    const isExpected = row.gen === put.expectGen && (put.expectConfig ?? row.config) === row.config
    if (!isExpected) return { kind: 'conflict', current: row }
    const gen = row.gen + 1
    const { nowMs } = this.#txn
    this.#sql.update.run(gen, put.config, nowMs, put.actor, type, put.id)
    this.#sql.addChange.run(type, put.id, gen, nowMs, put.actor, JSON.stringify(put.changed), put.config)
    this.#sql.trimChanges.run({ type, id: put.id })
    return { kind: 'stored', gen, conn }
  }

  get(refs: readonly Ref[]): readonly (ConfigRow | null)[] {
    return refs.map((ref) => this.#find(ref)?.row ?? null)
  }

  history(ref: Ref, limit: number, skip = 0): readonly HistoryRow[] {
    const found = this.#find(ref)
    if (found === undefined) return []
    return this.#sql.newestChanges
      .all(found.type, ref.id, limit, skip)
      .map((row) => ({ ...row, changed: JSON.parse(row.changed) as string[] }))
  }

  raise(items: readonly (Ref & { readonly above: number })[]): readonly ConfigRaiseResult[] {
    return items.map((item) => this.#raise(item, item.above + 1))
  }

  #raise(ref: Ref, wantedGen: number): ConfigRaiseResult {
    const found = this.#find(ref)
    if (found === undefined) return { kind: 'not_found' }
    const { type, row, conn } = found
    if (wantedGen - row.gen > MAX_RAISE) return { kind: 'too_far' }
    if (wantedGen <= row.gen) return { kind: 'raised', gen: row.gen, conn }
    this.#sql.updateGen.run(wantedGen, type, ref.id)
    return { kind: 'raised', gen: wantedGen, conn }
  }

  #find(ref: Ref): FoundConfig | undefined {
    const type = this.#names.find(KIND.type, ref.type)
    const stored = type === undefined ? undefined : this.#sql.find.get(type, ref.id)
    if (type === undefined || stored === undefined) return undefined
    const { conn, ...row } = stored
    return { type, row, conn }
  }
}
