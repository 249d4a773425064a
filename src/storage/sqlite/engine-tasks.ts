/**
 * @module storage/sqlite/engine-tasks
 * Task queues in the database: what comes in and what is settled; engine-reserve.ts holds what goes out and comes back
 * by time, engine-inspect.ts what is read and what is done to the dead.
 *
 * The counts move with each row (queues.ts), the token decides who may settle (fences.ts), and dead rows up to
 * `deadCut` were cleared: they count as absent everywhere until the idle work has removed them.
 */
import {
  cutError,
  type LeaseLost,
  type LeaseRef,
  type NewTask,
  type NackItem,
  type RetryPolicy,
  type SubmitItemResult,
  type Tasks,
} from '../index.ts'
import { Acked } from './acked.ts'
import type { Sync } from './calls.ts'
import type { Database } from './driver.ts'
import { inspectionOf } from './engine-inspect.ts'
import { reservationOf } from './engine-reserve.ts'
import type { Fences } from './fences.ts'
import { KIND, type Names } from './names.ts'
import { lengthOf, PLACE, Queues, type Queue } from './queues.ts'
import { isCleared, Rows, type TaskContext, type TaskRow } from './rows.ts'
import type { Transaction } from './transaction.ts'

export function tasksOf(
  db: Database,
  txn: Transaction,
  names: Names,
  fences: Fences,
): Sync<Tasks> & { prune(limit: number): number } {
  const context: TaskContext = { db, txn, names, fences, queues: new Queues(db, txn), rows: new Rows(db) }
  return { ...submissionOf(context), ...settlementOf(context), ...reservationOf(context), ...inspectionOf(context) }
}

function submissionOf({ db, txn, names, fences, queues, rows }: TaskContext): Pick<Sync<Tasks>, 'submit'> {
  type Insert = [
    pk: number,
    type: number,
    id: string,
    tier: number,
    ownTier: number,
    ord: number,
    submitted: number,
    ttlAt: number | null,
    ttl: number | null,
    ownMax: number | null,
  ]
  const insert =
    db.prepare<Insert>(`INSERT INTO task(pk, type, id, place, tier, own_tier, ord, submitted, ttl_at, ttl, own_max, attempt, lost)
    VALUES(?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, 0, 0) ON CONFLICT(type, id) DO NOTHING`)
  const insertBody = db.prepare<[number, string]>('INSERT INTO body(pk, body) VALUES(?, ?)')
  const keyOf = db.prepare<[number, string], { id: string; expires: number }>(
    'SELECT id, expires FROM idem WHERE type = ? AND key = ?',
  )
  const insertKey = db.prepare<[number, string, string, number]>(
    'INSERT INTO idem(type, key, id, expires) VALUES(?, ?, ?, ?) ON CONFLICT(type, key) DO UPDATE SET id = excluded.id, expires = excluded.expires',
  )

  function add(queue: Queue, { id, tier, submittedAtMs: submitted, ttlMs, maxAttempts, body }: NewTask): boolean {
    const pk = queues.nextPk()
    const { changes } = insert.run(
      pk,
      queue.type,
      id,
      tier,
      tier,
      queue.back,
      submitted,
      ttlMs === null ? null : txn.nowMs + ttlMs,
      ttlMs,
      maxAttempts,
    )
    if (changes === 0) return false
    insertBody.run(pk, body)
    queue.back += 1
    queue.pending[tier] += 1
    return true
  }
  /** False where the id belongs to a task that is still there; a cleared one makes room. */
  function addAnew(queue: Queue, task: NewTask, deadCut: number): boolean {
    if (add(queue, task)) return true
    const row = rows.find(queue.type, task.id)
    if (row === undefined || !isCleared(row, deadCut)) return false
    rows.remove(row.pk)
    return add(queue, task)
  }
  function exists(type: number, id: string, deadCut: number): boolean {
    const row = rows.find(type, id)
    return row !== undefined && !isCleared(row, deadCut)
  }
  return {
    submit(typeName, idempotencyTtlMs, tasks, maxLength) {
      const type = names.number(KIND.type, typeName)
      const queue = queues.change(type)
      const fence = fences.change(type)
      let length = lengthOf(queue)
      return tasks.map((task): SubmitItemResult => {
        const known = task.key === null ? undefined : keyOf.get(type, task.key)
        if (known !== undefined && known.expires > txn.nowMs) return { duplicateOf: known.id }
        const isFull = maxLength !== undefined && length >= maxLength
        if (isFull && !exists(type, task.id, fence.deadCut)) return 'queue_full'
        const isNew = !isFull && addAnew(queue, task, fence.deadCut)
        // Also of a duplicate (D80).
        if (task.key !== null) insertKey.run(type, task.key, task.id, txn.nowMs + idempotencyTtlMs)
        // An id drawn for this call stands for this task.
        if (!isNew) return task.ownId ? { duplicateOf: task.id } : { queued: true }
        length += 1
        fence.submitted += 1
        return { queued: true }
      })
    },
  }
}

function settlementOf({
  db,
  txn,
  names,
  fences,
  queues,
  rows,
}: TaskContext): Pick<Sync<Tasks>, 'ack' | 'release' | 'nack' | 'extend'> {
  type Retry = [place: number, ord: number, due: number, attempt: number, error: string | null, pk: number]
  const settle = db.prepare<Retry>(
    'UPDATE task SET place = ?, ord = ?, due = ?, attempt = ?, error = ?, token = NULL, worker = NULL WHERE pk = ?',
  )
  const prolong = db.prepare<[number, number]>('UPDATE task SET due = ? WHERE pk = ?')
  const acked = new Acked(db, txn)

  /** The task where `token` is its live lease. */
  function held(type: number, { id, token }: LeaseRef): TaskRow | undefined {
    const row = rows.find(type, id)
    return row?.place === PLACE.inFlight && row.token === token ? row : undefined
  }
  function each<I extends LeaseRef, A>(
    typeName: string,
    items: readonly I[],
    settleOne: (row: TaskRow, item: I, queue: Queue, type: number) => A,
  ): (A | LeaseLost)[] {
    const type = names.find(KIND.type, typeName)
    if (type === undefined) return items.map(() => 'lease_lost')
    const queue = queues.change(type)
    return items.map((item) => {
      const row = held(type, item)
      return row === undefined ? fences.lost(type, item.token) : settleOne(row, item, queue, type)
    })
  }
  function fail(row: TaskRow, item: NackItem, queue: Queue, type: number, retry: RetryPolicy): 'scheduled' | 'dead' {
    const fence = fences.change(type)
    const attempt = row.attempt + 1
    queue.inFlight -= 1
    fence.nacked += 1
    if (!item.permanent && attempt < row.leaseMax) {
      queue.scheduled += 1
      settle.run(PLACE.scheduled, queue.back++, txn.nowMs + delayOf(item, retry, row.attempt), attempt, null, row.pk)
      return 'scheduled'
    }
    queue.dead += 1
    fence.died += 1
    settle.run(PLACE.dead, queue.death++, txn.nowMs, attempt, cutError(item.error), row.pk)
    return 'dead'
  }
  return {
    ack(typeName, leases) {
      const type = names.find(KIND.type, typeName)
      if (type === undefined) return leases.map(() => 'lease_lost')
      const queue = queues.change(type)
      const fence = fences.change(type)
      const gone: number[] = []
      const results = leases.map(({ id, token }): 'ok' | LeaseLost => {
        const pk = rows.take(type, id, token)
        if (pk === undefined) return acked.has(type, token, id) ? 'ok' : fences.lost(type, token)
        gone.push(pk)
        acked.mark(type, token, id)
        return 'ok'
      })
      rows.removeBodies(gone)
      queue.inFlight -= gone.length
      fence.acked += gone.length
      return results
    },
    release(typeName, leases) {
      const given = new Map<number, TaskRow>() // Each lease once, in the order given.
      const results = each(typeName, leases, (row, _lease, queue) => {
        if (given.has(row.pk)) return 'lease_lost'
        given.set(row.pk, row)
        queue.inFlight -= 1
        return 'ok' as const
      })
      const type = names.find(KIND.type, typeName)
      for (const row of [...given.values()].toReversed()) if (type !== undefined) rows.toFront(queues.change(type), row)
      return results
    },
    nack: (typeName, retry, items) =>
      each(typeName, items, (row, item, queue, type) => fail(row, item, queue, type, retry)),
    extend: (typeName, items) =>
      each(typeName, items, (row, { visibilityMs }) => {
        const until = Math.max(row.due ?? 0, txn.nowMs + visibilityMs)
        prolong.run(until, row.pk)
        return { expiresAtMs: until }
      }),
  }
}

function delayOf({ retryInMs, jitter: u }: NackItem, { baseMs, factor, capMs }: RetryPolicy, attempt: number): number {
  if (retryInMs !== null || baseMs === 0) return retryInMs ?? 0 // 0 · ∞ would be no number.
  return Math.floor(u * Math.min(capMs, baseMs * factor ** attempt))
}
