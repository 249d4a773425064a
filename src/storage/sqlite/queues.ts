/**
 * @module storage/sqlite/queues
 * Queues keeps the counts of each task queue and the next positions at its ends in memory, so that no call counts rows.
 * They are read from the tables at open and follow the transaction after that.
 */
import type { Pause, Tier } from '../index.ts'
import type { Database } from './driver.ts'
import type { QueueGroups } from './queue-groups.ts'
import type { Kept, Transaction } from './transaction.ts'

/** `task.place`. */
export const PLACE = { pending: 0, inFlight: 1, scheduled: 2, dead: 3 } as const
export type PlaceNumber = (typeof PLACE)[keyof typeof PLACE]

export interface Queue extends Kept {
  readonly type: number
  /** By tier. */
  pending: [number, number, number]
  inFlight: number
  scheduled: number
  dead: number
  /** The next `ord` at the front, falling; at the back (retries take theirs from it too), and for the dead, rising. */
  front: number
  back: number
  death: number
  /** Retained outcomes, also expired ones, and their bytes. */
  outcomes: number
  outcomeBytes: number
  /** Also one that has ended by time. */
  pause: Pause | null
  /** Running total. */
  cancelled: number
  /** Null without a group policy. */
  groups: QueueGroups | null
}

interface Group {
  readonly type: number
  readonly place: PlaceNumber
  readonly tier: Tier
  readonly rows: number
  readonly first: number
  readonly last: number
}

const GROUPS = `SELECT type, place, tier, count(*) AS rows, min(ord) AS first, max(ord) AS last
  FROM task LEFT JOIN fence ON fence.n = task.type
  WHERE place <> 3 OR ord > coalesce(dead_cut, 0) GROUP BY type, place, tier`

const OUTCOMES = 'SELECT type, count(*) AS outcomes, sum(bytes) AS outcomeBytes FROM outcome GROUP BY type'

const PAUSES = 'SELECT type, note, actor, since AS sinceMs, until AS untilMs FROM pause'

export class Queues {
  readonly #txn: Transaction
  readonly #queues = new Map<number, Queue>()
  readonly #pks: Kept & { next: number }

  constructor(db: Database, txn: Transaction) {
    this.#txn = txn
    this.#pks = { next: 1 + (db.prepare<[], number | null>('SELECT max(pk) FROM task').pluck().get() ?? 0), kept: 0 }
    for (const { type, cut } of db
      .prepare<[], { type: number; cut: number }>('SELECT n AS type, dead_cut AS cut FROM fence')
      .iterate())
      this.#make(type).death = cut + 1
    for (const group of db.prepare<[], Group>(GROUPS).iterate())
      count(this.#queues.get(group.type) ?? this.#make(group.type), group)
    for (const { type, ...counts } of db
      .prepare<[], Pick<Queue, 'type' | 'outcomes' | 'outcomeBytes'>>(OUTCOMES)
      .iterate())
      Object.assign(this.#queues.get(type) ?? this.#make(type), counts)
    for (const { type, ...pause } of db.prepare<[], Pause & { type: number }>(PAUSES).iterate())
      (this.#queues.get(type) ?? this.#make(type)).pause = pause
    for (const { type, n } of db.prepare<[], { type: number; n: number }>('SELECT type, n FROM cancelled').iterate())
      (this.#queues.get(type) ?? this.#make(type)).cancelled = n
  }

  find(type: number): Readonly<Queue> | undefined {
    return this.#queues.get(type)
  }

  change(type: number): Queue {
    let queue = this.#queues.get(type)
    if (queue === undefined) {
      queue = this.#make(type)
      this.#txn.onRollback(() => void this.#queues.delete(type))
    }
    this.#txn.keep(queue)
    queue.groups?.begin()
    return queue
  }

  /** Keys grow with the submits, so the tasks of a batch lie side by side. */
  nextPk(): number {
    this.#txn.keep(this.#pks)
    return this.#pks.next++
  }

  #make(type: number): Queue {
    const queue: Queue = {
      type,
      pending: [0, 0, 0],
      inFlight: 0,
      scheduled: 0,
      dead: 0,
      front: -1,
      back: 1,
      death: 1,
      outcomes: 0,
      outcomeBytes: 0,
      pause: null,
      cancelled: 0,
      groups: null,
      kept: 0,
    }
    this.#queues.set(type, queue)
    return queue
  }
}

/** All tasks of the queue, wherever they stand. */
export function lengthOf(queue: Readonly<Queue>): number {
  return pendingOf(queue) + queue.inFlight + queue.scheduled + queue.dead
}

export function pendingOf({ pending }: Readonly<Queue>): number {
  return pending[0] + pending[1] + pending[2]
}

function count(queue: Queue, { place, tier, rows, first, last }: Group): void {
  switch (place) {
    case PLACE.pending:
      queue.pending[tier] += rows
      queue.front = Math.min(queue.front, first - 1)
      queue.back = Math.max(queue.back, last + 1)
      return
    case PLACE.inFlight:
      queue.inFlight += rows
      return
    case PLACE.scheduled:
      queue.scheduled += rows
      queue.back = Math.max(queue.back, last + 1)
      return
    case PLACE.dead:
      queue.dead += rows
      queue.death = Math.max(queue.death, last + 1)
  }
}
