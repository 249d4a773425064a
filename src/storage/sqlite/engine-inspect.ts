/**
 * @module storage/sqlite/engine-inspect
 * What is read of the task queues, and what is done to the dead.
 */
import { MAX_ANSWER_BYTES } from '../../protocol/index.ts'
import type { Counts, DeadRow, TaskPlace, QueueRow, QueueTicket, Tasks } from '../index.ts'
import { fitting } from './answer.ts'
import type { Sync } from './calls.ts'
import { pruneCost } from './prune-cost.ts'
import { KIND } from './names.ts'
import { PLACE, pendingOf, type Queue } from './queues.ts'
import { isCleared, type TaskContext, type TaskRow } from './rows.ts'

const PLACES: readonly TaskPlace[] = ['pending', 'in_flight', 'scheduled', 'dead']
/** Replayed tasks wait here, whatever their priority. */
const NORMAL = 1
const NO_TOTALS = { submitted: 0, acked: 0, nacked: 0, died: 0 } as const

type Inspection = Pick<
  Sync<Tasks>,
  'locate' | 'queue' | 'bodies' | 'dead' | 'replay' | 'lastDeath' | 'clearDead' | 'select' | 'counts'
> & { prune(limit: number): number }

export function inspectionOf({ db, txn, names, fences, queues, rows }: TaskContext): Inspection {
  const pending = db.prepare<[number, number], QueueTicket & { pk: number }>(
    `SELECT id, attempt, pk FROM task WHERE type = ? AND place = 0 ORDER BY tier, ord LIMIT ?`,
  )
  const bodyOf = db.prepare<[number], string>('SELECT body FROM body WHERE pk = ?').pluck()
  const dead = db.prepare<
    [number, number, number],
    DeadRow & { ord: number }
  >(`SELECT ord, id, attempt, body, lease_max AS maxAttempts, error AS lastError, due AS diedAtMs FROM task JOIN body ON body.pk = task.pk
    WHERE type = ? AND place = 3 AND ord > ? ORDER BY ord LIMIT ?`)
  const oldestDead = db.prepare<[number, number, number, number], Pick<TaskRow, 'pk' | 'ttl'>>(
    'SELECT pk, ttl FROM task WHERE type = ? AND place = 3 AND ord > ? AND ord <= ? ORDER BY ord LIMIT ?',
  )
  const cleared = db.prepare<[number, number, number], { pk: number; bytes: number }>(
    'SELECT pk, octet_length(body) AS bytes FROM task JOIN body USING(pk) WHERE type = ? AND place = 3 AND ord <= ? ORDER BY ord LIMIT ?',
  )
  const revive = db.prepare<[number, number, number | null, number]>(
    'UPDATE task SET place = 0, tier = ?, ord = ?, ttl_at = ?, due = NULL, attempt = 0, lost = 0, error = NULL WHERE pk = ?',
  )
  const head = db
    .prepare<[number, number], number>(
      'SELECT submitted FROM task WHERE type = ? AND place = 0 AND tier = ? ORDER BY ord LIMIT 1',
    )
    .pluck()

  const cutOf = (type: number): number => fences.find(type)?.deadCut ?? 0
  function replayOne(queue: Queue, { pk, ttl }: Pick<TaskRow, 'pk' | 'ttl'>): void {
    revive.run(NORMAL, queue.back++, ttl === null ? null : txn.nowMs + ttl, pk)
    queue.dead -= 1
    queue.pending[NORMAL] += 1
  }
  function oldestOf({ type, pending: counts }: Readonly<Queue>): number | null {
    const heads = counts.flatMap((count, tier) => (count === 0 ? [] : (head.get(type, tier) ?? [])))
    return heads.length === 0 ? null : Math.min(...heads)
  }
  function countsOf(typeName: string): Counts {
    const type = names.find(KIND.type, typeName)
    const queue = type === undefined ? undefined : queues.find(type)
    if (type === undefined || queue === undefined)
      return { tiers: [0, 0, 0], scheduled: 0, inFlight: 0, dead: 0, oldestSubmittedAtMs: null, totals: NO_TOTALS }
    const { submitted, acked, nacked, died } = fences.find(type) ?? NO_TOTALS
    return {
      tiers: [...queue.pending],
      scheduled: queue.scheduled,
      inFlight: queue.inFlight,
      dead: queue.dead,
      oldestSubmittedAtMs: oldestOf(queue),
      totals: { submitted, acked, nacked, died },
    }
  }
  return {
    locate(typeName, ids) {
      const type = names.find(KIND.type, typeName)
      return ids.map((id) => {
        const row = type === undefined ? undefined : rows.find(type, id)
        return type === undefined || row === undefined || isCleared(row, cutOf(type))
          ? null
          : (PLACES[row.place] ?? null)
      })
    },
    queue(typeName, n, bytes = MAX_ANSWER_BYTES) {
      const type = names.find(KIND.type, typeName)
      const queue = type === undefined ? undefined : queues.find(type)
      if (queue === undefined) return { length: 0, items: [] }
      const line = pending.all(queue.type, n)
      function* read(): Generator<QueueRow> {
        for (const { pk, id, attempt } of line) yield { id, attempt, body: bodyOf.get(pk) ?? '' }
      }
      const items = fitting(read(), textOf, bytes)
      const rest = line.slice(items.length).map(({ id, attempt }) => ({ id, attempt }))
      return { length: pendingOf(queue), items, ...(rest.length > 0 && { rest }) }
    },
    bodies(typeName, ids, bytes = MAX_ANSWER_BYTES) {
      const type = names.find(KIND.type, typeName)
      function* read(): Generator<string | null> {
        for (const id of ids) {
          const row = type === undefined ? undefined : rows.find(type, id)
          yield row === undefined || row.place === PLACE.dead ? null : (bodyOf.get(row.pk) ?? null)
        }
      }
      return fitting(read(), (body) => body?.length ?? 0, bytes)
    },
    dead(typeName, n, bytes = MAX_ANSWER_BYTES, after = 0) {
      const type = names.find(KIND.type, typeName)
      const queue = type === undefined ? undefined : queues.find(type)
      if (queue === undefined) return { length: 0, items: [] }
      const behind = Math.max(cutOf(queue.type), after)
      let seen = 0
      function* read(): Generator<DeadRow & { ord: number }> {
        for (const row of dead.iterate((queue as Queue).type, behind, n)) {
          seen += 1
          yield row
        }
      }
      const found = fitting(read(), (row) => textOf(row) + (row.lastError?.length ?? 0), bytes)
      const next = found.at(-1)?.ord
      const items = found.map(({ id, attempt, body, maxAttempts, lastError, diedAtMs }) => ({
        id,
        attempt,
        body,
        maxAttempts,
        lastError,
        diedAtMs,
      }))
      return { length: queue.dead, items, ...(found.length < seen && next !== undefined && { next }) }
    },
    replay(typeName, n, until = Number.MAX_SAFE_INTEGER) {
      const type = names.find(KIND.type, typeName)
      if (type === undefined) return 0
      const queue = queues.change(type)
      const found = oldestDead.all(type, cutOf(type), until, n)
      for (const row of found) replayOne(queue, row)
      return found.length
    },
    lastDeath(typeName) {
      const type = names.find(KIND.type, typeName)
      return ((type === undefined ? undefined : queues.find(type))?.death ?? 1) - 1
    },
    clearDead(typeName) {
      const type = names.find(KIND.type, typeName)
      if (type === undefined) return 0
      const queue = queues.change(type)
      const count = queue.dead
      fences.change(type).deadCut = queue.death - 1
      queue.dead = 0
      return count
    },
    select(typeName, action, ids) {
      const type = names.find(KIND.type, typeName)
      if (type === undefined) return ids.map(() => 'not_dead')
      const queue = queues.change(type)
      return ids.map((id) => {
        const row = rows.find(type, id)
        if (row === undefined || row.place !== PLACE.dead || isCleared(row, cutOf(type))) return 'not_dead'
        if (action === 'replay') {
          replayOne(queue, row)
          return 'replayed'
        }
        rows.remove(row.pk)
        queue.dead -= 1
        return 'removed'
      })
    },
    counts: (types) => types.map(countsOf),
    prune(limit) {
      let left = limit
      for (const type of names.all(KIND.type)) {
        const gone = left > 0 && cutOf(type) > 0 ? cleared.all(type, cutOf(type), left) : []
        for (const { pk, bytes } of gone) {
          if (left <= 0) break
          rows.remove(pk)
          left -= pruneCost(bytes)
        }
      }
      return limit - left
    },
  }
}

function textOf({ id, body }: QueueRow): number {
  return id.length + body.length
}
