/**
 * @module storage/sqlite/engine-configs
 * SqliteConfigs changes the configs of workers by compare-and-set, so that each success has its own generation (D16,
 * D18), and keeps the newest 50 changes. The row of a forgotten worker has its generation alone; `config` is NULL there
 * (D46).
 */
import { CONFIG_HISTORY_ROWS } from '../../protocol/index.ts'
import {
  bulkText,
  historyContent,
  type BulkChange,
  type BulkPut,
  type BulkPutResult,
  type ConfigPut,
  type ConfigPutResult,
  type ConfigRaiseResult,
  type ConfigRow,
  type Configs,
  type HistoryRow,
  type ManagedConfigRow,
  type Ref,
  type Sync,
} from '../index.ts'
import type { Database } from './driver.ts'
import type { EngineDeps } from './engine-deps.ts'
import type { SqliteRevisions } from './engine-revisions.ts'
import { LABEL_COLUMNS, storedLabel, type LabelColumns } from './label-columns.ts'
import { KIND, type Names } from './names.ts'
import type { Transaction } from './transaction.ts'

/** The most that one call may raise a generation. It keeps a forged generation from using up the numbers. */
const MAX_RAISE = 1_000_000

interface StoredConfig extends ConfigRow, LabelColumns {
  readonly managedBy: string | null
  readonly conn: string | null
}
interface FoundConfig {
  readonly type: number
  readonly row: ConfigRow
  readonly configRevision: string | null
  readonly managedBy: string | null
  /** The connection of its worker. */
  readonly conn: string | null
}

type NewConfig = Pick<ConfigPut, 'id' | 'config' | 'changed' | 'actor'>
interface NewGeneration {
  readonly gen: number
  readonly historyText: string
}

function statementsOf(db: Database) {
  return {
    find: db.prepare<[number, string], StoredConfig>(
      `SELECT gen, config, changed AS changedAtMs, actor, ${LABEL_COLUMNS}, managed_by AS managedBy, conn
        FROM worker JOIN cfg USING(type, id) WHERE type = ? AND id = ?`,
    ),
    update: db.prepare<[number, string, number, string, number, string]>(
      'UPDATE cfg SET gen = ?, config = ?, changed = ?, actor = ? WHERE type = ? AND id = ?',
    ),
    updateGen: db.prepare<[number, number, string]>('UPDATE cfg SET gen = ? WHERE type = ? AND id = ?'),
    setLabel: db.prepare<[string, string, number, number, string]>(
      'UPDATE cfg SET revision = ?, variant = ?, variant_gen = ? WHERE type = ? AND id = ?',
    ),
    setManager: db.prepare<[string, number, string]>('UPDATE worker SET managed_by = ? WHERE type = ? AND id = ?'),
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
      Omit<HistoryRow, 'changed' | 'config' | 'bulk'> & { readonly changed: string; readonly config: string }
    >(
      `SELECT gen, ts AS changedAtMs, actor, changed, config FROM cfg_history WHERE type = ? AND id = ?
        ORDER BY gen DESC LIMIT ? OFFSET ?`,
    ),
  }
}

export class SqliteConfigs implements Sync<Configs> {
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

  put(put: ConfigPut): ConfigPutResult {
    const found = this.#find(put)
    if (found === undefined) return { kind: 'not_found' }
    const { type, row, conn } = found
    const isExpected = row.gen === put.expectGen && (put.expectConfig ?? row.config) === row.config
    if (!isExpected) return { kind: 'conflict', current: row }
    const gen = row.gen + 1
    this.#store(type, put, { gen, historyText: put.config })
    return { kind: 'stored', gen, conn }
  }

  get(refs: readonly Ref[]): readonly (ManagedConfigRow | null)[] {
    return refs.map((ref) => {
      const found = this.#find(ref)
      if (found === undefined) return null
      const { row, configRevision, managedBy } = found
      return { ...row, configRevision, managedBy }
    })
  }

  putMany(typeName: string, bulk: BulkChange, puts: readonly BulkPut[]): readonly BulkPutResult[] {
    const type = this.#names.find(KIND.type, typeName)
    if (type === undefined || !this.#revisions.has(type, bulk.revision))
      return puts.map(() => ({ kind: 'unknown_revision' }))
    const results = puts.map((put) => this.#putOne(typeName, bulk, put))
    if (results.some(({ kind }) => kind === 'stored')) this.#revisions.use(type, bulk.revision)
    return results
  }

  history(ref: Ref, limit: number, skip = 0): readonly HistoryRow[] {
    const found = this.#find(ref)
    if (found === undefined) return []
    return this.#sql.newestChanges.all(found.type, ref.id, limit, skip).map(({ config, ...row }) => ({
      ...row,
      changed: JSON.parse(row.changed) as string[],
      ...historyContent(config),
    }))
  }

  raise(items: readonly (Ref & { readonly above: number })[]): readonly ConfigRaiseResult[] {
    return items.map((item) => this.#raise(item, item.above + 1))
  }

  #putOne(typeName: string, { revision, managedBy, actor }: BulkChange, put: BulkPut): BulkPutResult {
    const { id, change, variant } = put
    const found = this.#find({ type: typeName, id })
    if (found === undefined) return { kind: 'not_found' }
    const { type, row, conn } = found
    const isExpected =
      row.gen === put.expectGen && row.config === put.expectConfig && found.managedBy === put.expectManagedBy
    if (!isExpected) return { kind: 'conflict' }
    const gen = change === null ? row.gen : row.gen + 1
    if (change !== null) {
      this.#store(type, { id, actor, ...change }, { gen, historyText: bulkText(revision, change.patch) })
    }
    this.#sql.setLabel.run(revision, variant, gen, type, id)
    if (managedBy !== null) this.#sql.setManager.run(managedBy, type, id)
    return { kind: 'stored', gen, conn }
  }

  #store(type: number, { id, config, changed, actor }: NewConfig, { gen, historyText }: NewGeneration): void {
    const { nowMs } = this.#txn
    this.#sql.update.run(gen, config, nowMs, actor, type, id)
    this.#sql.addChange.run(type, id, gen, nowMs, actor, JSON.stringify(changed), historyText)
    this.#sql.trimChanges.run({ type, id })
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
    const { conn, managedBy, revision, variant, variantGen, ...row } = stored
    const configRevision = storedLabel({ revision, variant, variantGen }, row.gen)
    return { type, row, configRevision, managedBy, conn }
  }
}
