/**
 * @module storage/sqlite/engine-settle
 * TaskSettlement ends and extends leases. Only the token of the current lease settles a task; any other result is
 * `lease_lost`, except for a repeated ack of the same task.
 */
import { DEFAULT_MAX_OUTCOMES } from '../../protocol/index.ts'
import {
  attemptError,
  cutError,
  EXTEND_LOST,
  extendedDeadline,
  nackOutcome,
  type DoneTask,
  type ExtendItem,
  type ExtendLeaseResult,
  type LeaseLost,
  type LeaseRef,
  type NackItem,
  type RetryPolicy,
  type Sync,
  type Tasks,
} from '../index.ts'
import { Acked } from './acked.ts'
import type { DeadGroupIndex } from './dead-group-index.ts'
import type { Database } from './driver.ts'
import type { TokenSequences } from './token-sequences.ts'
import { KIND, type Names } from './names.ts'
import { PLACE, type Queue, type Queues } from './queues.ts'
import type { ReplayCounters } from './replay-counters.ts'
import type { RetainedOutcomes } from './retained-outcomes.ts'
import { columnWith, markedColumn, replayIn, type TaskDeps, type TaskRow, type TaskRows } from './task-rows.ts'
import type { Transaction } from './transaction.ts'

type EndFailedRun = [
  place: number,
  ord: number,
  due: number,
  attempt: number,
  error: string | null,
  attempts: string | null,
  pk: number,
]

function statementsOf(db: Database) {
  return {
    endFailedRun: db.prepare<EndFailedRun>(
      `UPDATE task SET place = ?, ord = ?, due = ?, attempt = ?, error = ?, attempts = ?, token = NULL, worker = NULL
        WHERE pk = ?`,
    ),
    extend: db.prepare<[number, number]>('UPDATE task SET due = ? WHERE pk = ?'),
    reportProgress: db.prepare<[string, number, number]>('UPDATE task SET progress = ?, progress_at = ? WHERE pk = ?'),
  }
}

export class TaskSettlement implements Pick<Sync<Tasks>, 'ack' | 'release' | 'nack' | 'extend'> {
  readonly #txn: Transaction
  readonly #names: Names
  readonly #sequences: TokenSequences
  readonly #queues: Queues
  readonly #rows: TaskRows
  readonly #acked: Acked
  readonly #outcomes: RetainedOutcomes
  readonly #deadGroups: DeadGroupIndex
  readonly #replays: ReplayCounters
  readonly #sql: ReturnType<typeof statementsOf>

  constructor({ db, txn, names, outcomes, sequences, queues, rows, deadGroups, replays }: TaskDeps) {
    this.#replays = replays
    this.#outcomes = outcomes
    this.#deadGroups = deadGroups
    this.#txn = txn
    this.#names = names
    this.#sequences = sequences
    this.#queues = queues
    this.#rows = rows
    this.#acked = new Acked(db, txn)
    this.#sql = statementsOf(db)
  }

  ack(
    typeName: string,
    leases: readonly DoneTask[],
    maxOutcomes = DEFAULT_MAX_OUTCOMES,
  ): readonly ('ok' | LeaseLost)[] {
    const type = this.#names.find(KIND.type, typeName)
    if (type === undefined) return leases.map(() => 'lease_lost')
    const queue = this.#queues.change(type)
    const fence = this.#sequences.change(type)
    const removed: number[] = []
    const results = leases.map(({ id, token, result = null }) => {
      const taken = this.#rows.take(type, id, token)
      if (taken === undefined) return this.#acked.has(type, token, id) ? 'ok' : this.#sequences.lost(type, token)
      const { pk, attempt, worker, retain: retainMs, attempts, grp } = taken
      removed.push(pk)
      queue.groups?.endLease(grp)
      this.#acked.mark(type, token, id)
      this.#replays.count(type, replayIn(attempts), 'done')
      if (retainMs !== null)
        this.#outcomes.keep(queue, { id, attempt, retainMs, attempts }, { kind: 'done', worker, result }, maxOutcomes)
      return 'ok'
    })
    this.#rows.removeBodies(removed)
    queue.inFlight -= removed.length
    fence.acked += removed.length
    return results
  }

  release(typeName: string, leases: readonly LeaseRef[]): readonly ('ok' | LeaseLost)[] {
    const released = new Map<number, { readonly queue: Queue; readonly row: TaskRow }>()
    const results = this.#settleEach(typeName, leases, (row, _lease, queue) => {
      if (released.has(row.pk)) return 'lease_lost'
      released.set(row.pk, { queue, row })
      queue.inFlight -= 1
      queue.groups?.endLease(row.grp)
      return 'ok'
    })
    // The last one first, so that the first lease of the call ends up at the very front.
    for (const { queue, row } of [...released.values()].toReversed()) this.#rows.toFront(queue, row)
    return results
  }

  nack(
    typeName: string,
    retry: RetryPolicy,
    items: readonly NackItem[],
  ): readonly ('scheduled' | 'dead' | LeaseLost)[] {
    return this.#settleEach(typeName, items, (row, item, queue) => this.#nack(row, item, queue, retry))
  }

  extend(typeName: string, items: readonly ExtendItem[]): readonly ExtendLeaseResult[] {
    const type = this.#names.find(KIND.type, typeName)
    if (type === undefined) return items.map(() => EXTEND_LOST.lease_lost)
    return items.map((item) => {
      const row = this.#leased(type, item)
      if (row === undefined) return EXTEND_LOST[this.#sequences.lost(type, item.token)]
      const expiresAtMs = extendedDeadline(row.due ?? 0, this.#txn.nowMs, item.visibilityMs)
      this.#sql.extend.run(expiresAtMs, row.pk)
      if (item.progress !== undefined) this.#sql.reportProgress.run(item.progress, this.#txn.nowMs, row.pk)
      return { kind: 'extended', expiresAtMs }
    })
  }

  #nack(row: TaskRow, item: NackItem, queue: Queue, retry: RetryPolicy): 'scheduled' | 'dead' {
    const { pk, attempt, leaseMax, worker } = row
    const { nowMs } = this.#txn
    const fence = this.#sequences.change(queue.type)
    const outcome = nackOutcome({ attempt, maxAttempts: leaseMax }, item, retry)
    const run = { attempt: outcome.attempt, atMs: nowMs, error: attemptError(item.error), worker: worker ?? '' }
    const attempts = columnWith(row.attempts, { kind: 'failed', ...run })
    queue.inFlight -= 1
    queue.groups?.endLease(row.grp)
    fence.nacked += 1
    if (outcome.kind === 'retry') {
      queue.scheduled += 1
      const dueAtMs = nowMs + outcome.delayMs
      this.#sql.endFailedRun.run(PLACE.scheduled, queue.back++, dueAtMs, outcome.attempt, null, attempts, pk)
      return 'scheduled'
    }
    queue.dead += 1
    fence.died += 1
    const error = cutError(item.error)
    this.#replays.count(queue.type, replayIn(attempts), 'died')
    const withoutMark = markedColumn(attempts, undefined)
    this.#deadGroups.add(queue.type, { pk, ord: queue.death, due: nowMs, error })
    this.#sql.endFailedRun.run(PLACE.dead, queue.death++, nowMs, outcome.attempt, error, withoutMark, pk)
    return 'dead'
  }

  /** Calls `settle` for each item whose lease is the current one. */
  #settleEach<Item extends LeaseRef, Result>(
    typeName: string,
    items: readonly Item[],
    settle: (row: TaskRow, item: Item, queue: Queue) => Result,
  ): (Result | LeaseLost)[] {
    const type = this.#names.find(KIND.type, typeName)
    if (type === undefined) return items.map(() => 'lease_lost')
    const queue = this.#queues.change(type)
    return items.map((item) => {
      const row = this.#leased(type, item)
      return row === undefined ? this.#sequences.lost(type, item.token) : settle(row, item, queue)
    })
  }

  /** The task, if `token` is its current lease. */
  #leased(type: number, { id, token }: LeaseRef): TaskRow | undefined {
    const row = this.#rows.find(type, id)
    return row?.place === PLACE.inFlight && row.token === token ? row : undefined
  }
}
