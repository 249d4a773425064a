/**
 * @module storage/sqlite/engine-configs
 * The configs of workers: compare-and-set, so that each success has its own generation (D16, D18), and the newest 50
 * changes. The row of a forgotten worker holds its generation alone; `config` is NULL there (D46).
 */
import { CONFIG_HISTORY_ROWS } from '../../protocol/index.ts'
import type { ConfigRow, Configs, HistoryRow, Ref } from '../index.ts'
import type { Sync } from './calls.ts'
import type { Database } from './driver.ts'
import { KIND, type Names } from './names.ts'
import type { Transaction } from './transaction.ts'

/** A generation further ahead than this is no trace of a store that went back. */
const MAX_RAISE = 1_000_000

export function configsOf(db: Database, txn: Transaction, names: Names): Sync<Configs> {
  type Stored = ConfigRow & { readonly conn: string | null }
  const find = db.prepare<[number, string], Stored>(
    'SELECT gen, config, changed AS changedAtMs, actor, conn FROM worker JOIN cfg USING(type, id) WHERE type = ? AND id = ?',
  )
  const set = db.prepare<[number, string, number, string, number, string]>(
    'UPDATE cfg SET gen = ?, config = ?, changed = ?, actor = ? WHERE type = ? AND id = ?',
  )
  const setGen = db.prepare<[number, number, string]>('UPDATE cfg SET gen = ? WHERE type = ? AND id = ?')
  const log = db.prepare<[number, string, number, number, string, string, string]>(
    'INSERT INTO cfg_history(type, id, gen, ts, actor, changed, config) VALUES(?, ?, ?, ?, ?, ?, ?)',
  )
  const trim = db.prepare<[{ type: number; id: string }]>(`DELETE FROM cfg_history WHERE type = :type AND id = :id
    AND gen <= (SELECT gen FROM cfg_history WHERE type = :type AND id = :id ORDER BY gen DESC LIMIT 1 OFFSET ${CONFIG_HISTORY_ROWS})`)
  const newest = db.prepare<
    [number, string, number, number],
    Omit<HistoryRow, 'changed'> & { readonly changed: string }
  >(
    'SELECT gen, ts AS changedAtMs, actor, changed, config FROM cfg_history WHERE type = ? AND id = ? ORDER BY gen DESC LIMIT ? OFFSET ?',
  )

  function known<A>(ref: Ref, missing: A, act: (type: number, id: string, stored: Stored) => A): A {
    const type = names.find(KIND.type, ref.type)
    const stored = type === undefined ? undefined : find.get(type, ref.id)
    return type === undefined || stored === undefined ? missing : act(type, ref.id, stored)
  }
  return {
    put: (put) =>
      known<ReturnType<Sync<Configs>['put']>>(put, 'not_found', (type, id, { conn, ...row }) => {
        if (row.gen !== put.expectGen) return { conflict: row }
        const gen = row.gen + 1
        set.run(gen, put.config, txn.nowMs, put.actor, type, id)
        log.run(type, id, gen, txn.nowMs, put.actor, JSON.stringify(put.changed), put.config)
        trim.run({ type, id })
        return { gen, conn }
      }),
    get: (refs) =>
      refs.map((ref) =>
        known<ConfigRow | null>(ref, null, (_type, _id, { gen, config, changedAtMs, actor }) => ({
          gen,
          config,
          changedAtMs,
          actor,
        })),
      ),
    history: (ref, limit, skip = 0) =>
      known<HistoryRow[]>(ref, [], (type, id) =>
        newest.all(type, id, limit, skip).map((row) => ({ ...row, changed: JSON.parse(row.changed) as string[] })),
      ),
    raise: (items) =>
      items.map(({ above, ...ref }) =>
        known<{ gen: number; conn: string | null } | 'not_found' | 'too_far'>(
          ref,
          'not_found',
          (type, id, { gen, conn }) => {
            if (above + 1 - gen > MAX_RAISE) return 'too_far'
            const raised = Math.max(gen, above + 1)
            if (raised > gen) setGen.run(raised, type, id)
            return { gen: raised, conn }
          },
        ),
      ),
  }
}
