/** @module storage/sqlite/engine-counters  SqliteCounters keeps counters. A counter of 0 has no row. */
import type { Counters, Sync } from '../index.ts'
import type { Database } from './driver.ts'
import type { EngineDeps } from './engine-deps.ts'
import { KIND, type Names } from './names.ts'
import { namespaceFull, Namespaces } from './namespaces.ts'
import { Sizes } from './sizes.ts'

const MAX_COUNTERS = 10_000

function statementsOf(db: Database) {
  return {
    read: db.prepare<[number, string], number>('SELECT v FROM counter WHERE ns = ? AND name = ?').pluck(),
    write: db.prepare<[number, string, number]>(
      'INSERT INTO counter(ns, name, v) VALUES(?, ?, ?) ON CONFLICT(ns, name) DO UPDATE SET v = excluded.v',
    ),
    remove: db.prepare<[number, string]>('DELETE FROM counter WHERE ns = ? AND name = ?'),
    any: db.prepare<[number], number>('SELECT 1 FROM counter WHERE ns = ? LIMIT 1').pluck(),
  }
}

export class SqliteCounters implements Sync<Counters> {
  readonly #names: Names
  readonly #sizes: Sizes
  readonly #namespaces: Namespaces
  readonly #sql: ReturnType<typeof statementsOf>

  constructor({ db, txn, names }: EngineDeps) {
    this.#names = names
    this.#sizes = new Sizes(db, txn, 'SELECT count(*) FROM counter WHERE ns = ?')
    this.#sql = statementsOf(db)
    this.#namespaces = new Namespaces({
      names,
      txn,
      kind: KIND.counter,
      what: 'counters',
      prune: () => 0,
      isEmpty: (ns) => this.#sql.any.get(ns) === undefined,
    })
  }

  add(
    namespace: string,
    items: readonly { readonly name: string; readonly delta: number }[],
    isOfType = false,
  ): readonly (number | 'out_of_range')[] {
    const ns = this.#namespaces.findOrMake(namespace, isOfType)
    return items.map(({ name, delta }) => {
      const before = this.#sql.read.get(ns, name)
      const sum = (before ?? 0) + delta
      if (!Number.isSafeInteger(sum)) return 'out_of_range'
      if (sum === 0) this.#remove(ns, name, before)
      else this.#write(namespace, ns, name, before, sum)
      return sum
    })
  }

  get(namespace: string, wanted: readonly string[]): readonly number[] {
    const ns = this.#names.find(KIND.counter, namespace)
    return wanted.map((name) => (ns === undefined ? 0 : (this.#sql.read.get(ns, name) ?? 0)))
  }

  #remove(ns: number, name: string, before: number | undefined): void {
    if (before === undefined) return
    this.#sizes.add(ns, -1)
    this.#sql.remove.run(ns, name)
  }

  #write(namespace: string, ns: number, name: string, before: number | undefined, sum: number): void {
    if (before === undefined) {
      if (this.#sizes.of(ns) >= MAX_COUNTERS) throw namespaceFull('counters', namespace, MAX_COUNTERS)
      this.#sizes.add(ns, 1)
    }
    this.#sql.write.run(ns, name, sum)
  }
}
