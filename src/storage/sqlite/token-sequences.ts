/**
 * @module storage/sqlite/token-sequences
 * TokenSequences issues the fencing tokens of queues, pools and lock namespaces, and keeps the running totals of
 * queues. A token is never issued twice, even by a store that was copied back from a backup: the first one after every
 * open rises to the next multiple of 2^20 at or above now · 1,024, which is ahead of what any earlier life of the store
 * could have issued.
 */
import type { LeaseLost } from '../index.ts'
import type { Database, Statement } from './driver.ts'
import type { Kept, Transaction } from './transaction.ts'

const SEGMENT = 2 ** 20
const TOKENS_PER_MS = 1_024

export interface TokenSequence extends Kept {
  readonly n: number
  last: number
  /** Set once this life of the store has raised the counter. */
  raised: boolean
  /** What was skipped when it was raised, after `from` up to `to`. */
  skipped: { readonly from: number; readonly to: number }
  deadCut: number
  submitted: number
  acked: number
  nacked: number
  died: number
}

const NOTHING = { from: 0, to: 0 }

type SequenceRow = Pick<TokenSequence, 'n' | 'last' | 'deadCut' | 'submitted' | 'acked' | 'nacked' | 'died'>

export class TokenSequences {
  readonly #txn: Transaction
  readonly #sequences = new Map<number, TokenSequence>()
  readonly #save: Statement<[SequenceRow]>
  readonly #delete: Statement<[number]>

  constructor(db: Database, txn: Transaction) {
    this.#txn = txn
    this.#save = db.prepare(`INSERT INTO fence(n, last, dead_cut, submitted, acked, nacked, died)
      VALUES(:n, :last, :deadCut, :submitted, :acked, :nacked, :died)
      ON CONFLICT(n) DO UPDATE SET last = :last, dead_cut = :deadCut, submitted = :submitted, acked = :acked,
      nacked = :nacked, died = :died`)
    this.#delete = db.prepare('DELETE FROM fence WHERE n = ?')
    for (const row of db
      .prepare<[], SequenceRow>('SELECT n, last, dead_cut AS deadCut, submitted, acked, nacked, died FROM fence')
      .iterate()) {
      this.#sequences.set(row.n, { ...row, raised: false, skipped: NOTHING, kept: 0 })
    }
  }

  /** For reading; undefined before the first change. */
  find(n: number): Readonly<TokenSequence> | undefined {
    return this.#sequences.get(n)
  }

  /** For changing: what is set in it is stored with this transaction. */
  change(n: number): TokenSequence {
    let fence = this.#sequences.get(n)
    if (fence === undefined) {
      fence = {
        n,
        last: 0,
        raised: false,
        skipped: NOTHING,
        deadCut: 0,
        submitted: 0,
        acked: 0,
        nacked: 0,
        died: 0,
        kept: 0,
      }
      this.#sequences.set(n, fence)
      this.#txn.onRollback(() => void this.#sequences.delete(n))
    }
    const changed = fence
    this.#txn.keep(changed, () => void this.#save.run(rowOf(changed)))
    return changed
  }

  /** The number of the last death that was cleared; 0 if none was. */
  deadCutOf(n: number): number {
    return this.#sequences.get(n)?.deadCut ?? 0
  }

  /** Whether a new fence would begin above every token of this one. */
  isPast(n: number): boolean {
    return (this.#sequences.get(n)?.last ?? 0) <= this.#txn.nowMs * TOKENS_PER_MS
  }

  /** Only where {@link isPast}: this transaction has not changed it then. */
  remove(n: number): void {
    const fence = this.#sequences.get(n)
    if (fence === undefined) return
    this.#delete.run(n)
    this.#sequences.delete(n)
    this.#txn.onRollback(() => void this.#sequences.set(n, fence))
  }

  /**
   * What to call a lease that is not held: a token that was not issued here proves that the store went back in time.
   */
  lost(n: number, token: number): LeaseLost {
    const { last, skipped } = this.#sequences.get(n) ?? { last: 0, skipped: NOTHING }
    return last > 0 && (token > last || (token > skipped.from && token <= skipped.to)) ? 'not_issued' : 'lease_lost'
  }

  /** The next token. */
  issue(fence: TokenSequence): number {
    if (!fence.raised) {
      const from = fence.last
      fence.last = Math.ceil(Math.max(fence.last, this.#txn.nowMs * TOKENS_PER_MS) / SEGMENT) * SEGMENT
      fence.raised = true
      if (from > 0) fence.skipped = { from, to: fence.last }
    }
    fence.last += 1
    return fence.last
  }
}

function rowOf({ n, last, deadCut, submitted, acked, nacked, died }: TokenSequence): SequenceRow {
  return { n, last, deadCut, submitted, acked, nacked, died }
}
