/**
 * @module storage/sqlite/stream-heads
 * StreamHeads keeps where each stream begins and ends in memory, and writes it with the transaction that changed it.
 */
import type { Database, Statement } from './driver.ts'
import { KIND, type Names } from './names.ts'
import type { EngineDeps } from './engine-deps.ts'
import type { Kept, Transaction } from './transaction.ts'

export interface StreamHead extends Kept {
  readonly type: number
  /** Number of the oldest entry. */
  head: number
  /** Number of the next entry. */
  next: number
  /** Of the segments. */
  bytes: number
  /** Time of the newest entry. */
  lastMs: number
  /** Time of the newest entry before the head. */
  goneMs: number
}

const SELECT_ALL = `SELECT type, head, next, last_ms AS lastMs, gone_ms AS goneMs,
    coalesce((SELECT sum(bytes) FROM segment WHERE segment.type = stream.type), 0) AS bytes FROM stream`

export class StreamHeads {
  readonly #txn: Transaction
  readonly #names: Names
  readonly #save: Statement<[number, number, number, number, number]>
  readonly #heads = new Map<number, StreamHead>()

  constructor({ db, txn, names }: EngineDeps) {
    this.#txn = txn
    this.#names = names
    this.#save = db.prepare(
      `INSERT INTO stream(type, head, next, last_ms, gone_ms) VALUES(?, ?, ?, ?, ?)
        ON CONFLICT(type) DO UPDATE SET head = excluded.head, next = excluded.next, last_ms = excluded.last_ms,
        gone_ms = excluded.gone_ms`,
    )
    this.#load(db)
  }

  /** For reading; `undefined` before the first push. */
  find(typeName: string): Readonly<StreamHead> | undefined {
    const type = this.#names.find(KIND.type, typeName)
    return type === undefined ? undefined : this.#heads.get(type)
  }

  /** For changing: what is set in it is stored with this transaction. */
  change(type: number): StreamHead {
    const head = this.#heads.get(type) ?? this.#make(type)
    this.#txn.keep(head, () => void this.#save.run(head.type, head.head, head.next, head.lastMs, head.goneMs))
    return head
  }

  #load(db: Database): void {
    for (const row of db.prepare<[], Omit<StreamHead, 'kept'>>(SELECT_ALL).iterate())
      this.#heads.set(row.type, { ...row, kept: 0 })
  }

  #make(type: number): StreamHead {
    const head = { type, head: 1, next: 1, bytes: 0, lastMs: 0, goneMs: 0, kept: 0 }
    this.#heads.set(type, head)
    this.#txn.onRollback(() => void this.#heads.delete(type))
    return head
  }
}
