/**
 * @module storage/sqlite/engine-reserve
 * What time decides about tasks: due retries come back, the next in line are leased, leases that ran out are taken.
 * Whether a worker may have tasks is read from its record in the same transaction, so no drain slips in between (G14).
 */
import { MAX_RESERVED_PER_CALL, MAX_RESERVE_BYTES } from '../../protocol/index.ts'
import type { ReserveRefusal, Reservation, ReserveRequest, Tasks, Tier } from '../index.ts'
import type { Sync } from './calls.ts'
import { KIND } from './names.ts'
import type { Queue } from './queues.ts'
import type { TaskContext } from './rows.ts'

/** One reserve brings back no more due retries than this; the rest follow with the next one. */
const PROMOTED_PER_RESERVE = 1_000
/** One reserve drops no more expired tasks than this. */
const MAX_DROPPED = 1_000
const TIERS: readonly Tier[] = [0, 1, 2]

type Ready = [
  pk: number,
  id: string,
  ord: number,
  ttlAt: number | null,
  attempt: number,
  ownMax: number | null,
  body: string | null,
]
interface Picked {
  readonly pk: number
  readonly id: string
  readonly attempt: number
  readonly ownMax: number | null
  readonly body: string
}
interface Room {
  leases: number
  bytes: number
  drops: number
  readonly wanted: number
}

export function reservationOf({
  db,
  txn,
  names,
  fences,
  queues,
  rows,
}: TaskContext): Pick<Sync<Tasks>, 'reserve' | 'sweep'> {
  const find = db.prepare<[number, string], { draining: 0 | 1; gen: number }>(
    'SELECT drain IS NOT NULL AS draining, gen FROM worker JOIN cfg USING(type, id) WHERE type = ? AND id = ?',
  )
  const dueRetries = db.prepare<[number, number, number], { pk: number; ownTier: Tier }>(
    'SELECT pk, own_tier AS ownTier FROM task WHERE type = ? AND place = 2 AND due <= ? ORDER BY due, ord LIMIT ?',
  )
  const promote = db.prepare<[number, number, number]>(
    'UPDATE task SET place = 0, tier = ?, ord = ?, due = NULL WHERE pk = ?',
  )
  const nextDue = db.prepare<[number], number | null>('SELECT min(due) FROM task WHERE type = ? AND place = 2').pluck()
  const ready = db
    .prepare<[number, Tier, number, number], Ready>(
      `SELECT task.pk, id, ord, ttl_at, attempt, own_max, body FROM task LEFT JOIN body ON body.pk = task.pk
    WHERE type = ? AND place = 0 AND tier = ? AND ord >= ? ORDER BY ord LIMIT ?`,
    )
    .raw()
  const lease = db.prepare<[number, number, number, string, number]>(
    'UPDATE task SET place = 1, due = ?, token = ?, lease_max = ?, worker = ? WHERE pk = ?',
  )
  const passed = db.prepare<[number, number, number], { pk: number; ownTier: Tier; lost: number }>(
    'SELECT pk, own_tier AS ownTier, lost FROM task WHERE type = ? AND place = 1 AND due <= ? ORDER BY due, token LIMIT ?',
  )
  const lose = db.prepare<[number]>('UPDATE task SET lost = lost + 1 WHERE pk = ?')
  const bury = db.prepare<[number, number, string, number]>(
    'UPDATE task SET place = 3, ord = ?, due = ?, error = ?, lost = lost + 1, token = NULL, worker = NULL WHERE pk = ?',
  )
  const oldKeys = db
    .prepare<[number, number, number], string>(
      'SELECT key FROM idem WHERE type = ? AND expires <= ? ORDER BY expires LIMIT ?',
    )
    .pluck()
  const forgetKey = db.prepare<[number, string]>('DELETE FROM idem WHERE type = ? AND key = ?')

  /** Why this worker gets no task; null: it may have some. */
  function refusal(type: number, { worker, gen }: ReserveRequest): ReserveRefusal | null {
    const record = find.get(type, worker)
    if (record === undefined) return 'unknown'
    if (record.draining === 1) return 'draining'
    return record.gen === gen ? null : 'stale'
  }
  function promoteDue(queue: Queue, limit: number): number {
    const due = queue.scheduled === 0 ? [] : dueRetries.all(queue.type, txn.nowMs, limit)
    for (const { pk, ownTier } of due) {
      promote.run(ownTier, queue.back++, pk)
      queue.pending[ownTier] += 1
    }
    queue.scheduled -= due.length
    return due.length
  }
  /** One statement's worth of tasks in line from `from` on. It ends before any row is changed. */
  function read(
    queue: Queue,
    tier: Tier,
    from: number,
    room: Room,
  ): { picked: Picked[]; expired: number[]; next: number; more: boolean } {
    const [picked, expired]: [Picked[], number[]] = [[], []]
    const limit = room.leases
    let next = from
    for (const [pk, id, ord, ttlAt, attempt, ownMax, body] of ready.iterate(queue.type, tier, from, limit)) {
      if (body === null || (ttlAt !== null && ttlAt <= txn.nowMs)) {
        if (room.drops <= 0) break
        expired.push(pk)
        room.drops -= 1
      } else {
        if (body.length > room.bytes && room.leases < room.wanted) room.bytes = 0 // One at least, however large.
        if (room.bytes <= 0) break
        picked.push({ pk, id, attempt, ownMax, body })
        room.leases -= 1
        room.bytes -= body.length
      }
      next = ord + 1
    }
    return { picked, expired, next, more: picked.length + expired.length === limit }
  }
  /** Reads on until there is no more room or no more tasks; what outlived its ttl goes. */
  function pick(queue: Queue, tier: Tier, room: Room): Picked[] {
    const all: Picked[] = []
    let from = -Number.MAX_SAFE_INTEGER
    let more = queue.pending[tier] > 0
    while (more && room.leases > 0 && room.bytes > 0) {
      const found = read(queue, tier, from, room)
      for (const pk of found.expired) rows.remove(pk)
      all.push(...found.picked)
      queue.pending[tier] -= found.expired.length + found.picked.length
      from = found.next
      more = found.more
    }
    return all
  }
  /** Refused workers get no tasks. */
  function leaseAll(
    queue: Queue,
    picked: readonly Picked[],
    requests: readonly ReserveRequest[],
    refusals: readonly (ReserveRefusal | null)[],
    until: number,
  ): Reservation[] {
    if (picked.length === 0) return refusals.map((refused) => refused ?? [])
    const fence = fences.change(queue.type)
    let next = 0
    queue.inFlight += picked.length
    return requests.map(({ worker, limit, defaultMaxAttempts }, i) => {
      const refused = refusals[i] ?? null
      if (refused !== null) return refused
      const mine = picked.slice(next, next + limit)
      next += mine.length
      return mine.map(({ pk, id, attempt, ownMax, body }) => {
        const token = fences.issue(fence)
        const maxAttempts = ownMax ?? defaultMaxAttempts
        lease.run(until, token, maxAttempts, worker, pk)
        return { id, token, attempt, maxAttempts, expiresAtMs: until, body }
      })
    })
  }
  function requeuePassed(queue: Queue, maxLost: number, limit: number): { requeued: number; dead: number } {
    const found = queue.inFlight === 0 ? [] : passed.all(queue.type, txn.nowMs, limit)
    const isLast = ({ lost }: { lost: number }): boolean => maxLost > 0 && lost + 1 >= maxLost
    const dead = found.filter(isLast)
    for (const { pk, lost } of dead) bury.run(queue.death++, txn.nowMs, `lease lost ${lost + 1} times`, pk)
    const back = found.filter((row) => !isLast(row))
    for (const row of back.toReversed()) {
      // The earliest deadline goes to the very front.
      lose.run(row.pk)
      rows.toFront(queue, row)
    }
    queue.inFlight -= found.length
    queue.dead += dead.length
    if (dead.length > 0) fences.change(queue.type).died += dead.length
    return { requeued: back.length, dead: dead.length }
  }
  function isMore({ type, inFlight, scheduled }: Readonly<Queue>): boolean {
    const { nowMs } = txn
    return (
      (inFlight > 0 && passed.get(type, nowMs, 1) !== undefined) ||
      (scheduled > 0 && dueRetries.get(type, nowMs, 1) !== undefined) ||
      oldKeys.get(type, nowMs, 1) !== undefined
    )
  }
  return {
    reserve(typeName, visibilityMs, requests) {
      const type = names.find(KIND.type, typeName)
      if (type === undefined) return { results: requests.map(() => 'unknown'), dropped: 0, nextDueAtMs: null }
      const queue = queues.change(type)
      promoteDue(queue, PROMOTED_PER_RESERVE)
      const refusals = requests.map((request) => refusal(type, request))
      const wanted = Math.min(
        MAX_RESERVED_PER_CALL,
        requests.reduce((sum, { limit }, i) => sum + (refusals[i] === null ? limit : 0), 0),
      )
      const room: Room = { wanted, leases: wanted, bytes: MAX_RESERVE_BYTES, drops: MAX_DROPPED }
      const picked = TIERS.flatMap((tier) => pick(queue, tier, room))
      const results = leaseAll(queue, picked, requests, refusals, txn.nowMs + visibilityMs)
      return {
        results,
        dropped: MAX_DROPPED - room.drops,
        nextDueAtMs: queue.scheduled === 0 ? null : (nextDue.get(type) ?? null),
      }
    },
    sweep(typeName, maxLost, limit) {
      const type = names.find(KIND.type, typeName)
      if (type === undefined) return { requeued: 0, promoted: 0, dead: 0, forgottenKeys: 0, more: false }
      const queue = queues.change(type)
      const { requeued, dead } = requeuePassed(queue, maxLost, limit)
      const promoted = promoteDue(queue, limit)
      const keys = oldKeys.all(type, txn.nowMs, limit)
      for (const key of keys) forgetKey.run(type, key)
      return { requeued, promoted, dead, forgottenKeys: keys.length, more: isMore(queue) }
    },
  }
}
