/**
 * @module storage/sqlite/engine-reserve
 * TaskReservation leases the next pending tasks to workers. Whether a worker may reserve is read from its record in the
 * same transaction, so no drain slips in between (G14).
 */
import { DEFAULT_MAX_OUTCOMES, MAX_RESERVED_PER_CALL, MAX_RESERVE_BYTES } from '../../protocol/index.ts'
import {
  earlierOf,
  hasExpired,
  lastingPause,
  maxAttemptsOf,
  RETAINED,
  type Lease,
  type Reservation,
  type ReserveRefusal,
  type ReserveRequest,
  type ReserveResult,
  type Sync,
  type Tasks,
  type Tier,
} from '../index.ts'
import type { Database } from './driver.ts'
import type { ScheduledTasks } from './scheduled-tasks.ts'
import type { TokenSequence, TokenSequences } from './token-sequences.ts'
import { KIND, type Names } from './names.ts'
import type { QueueGroups } from './queue-groups.ts'
import { pendingOf, type Queue, type Queues } from './queues.ts'
import type { RetainedOutcomes } from './retained-outcomes.ts'
import type { TaskDeps, TaskRows } from './task-rows.ts'
import type { Transaction } from './transaction.ts'

/** One reserve promotes at most this many due tasks; the rest follow with the next one. */
const MAX_PROMOTED = 1_000
/** One reserve drops at most this many expired tasks. */
const MAX_DROPPED = 1_000
const TIERS: readonly Tier[] = [0, 1, 2]

/** Columns of {@link PendingRow}. */
const PENDING = 'task.pk, id, tier, ord, ttl_at, attempt, own_max, retain, attempts, progress, body'
type PendingRow = [
  pk: number,
  id: string,
  tier: Tier,
  ord: number,
  ttlAt: number | null,
  attempt: number,
  ownMax: number | null,
  retain: number | null,
  attempts: string | null,
  progress: string | null,
  body: string | null,
]
interface PickedTask {
  readonly pk: number
  readonly id: string
  readonly attempt: number
  readonly ownMax: number | null
  readonly retain: number | null
  readonly progress: string | null
  readonly body: string
}
interface ExpiredTask {
  readonly pk: number
  readonly id: string
  readonly attempt: number
  readonly retain: number | null
  readonly attempts: string | null
}
/** What one reserve may still lease and drop. */
interface Allowance {
  leases: number
  bytes: number
  drops: number
  /** The leases at the start. */
  readonly wanted: number
  readonly maxOutcomes: number
}
interface PendingPart {
  readonly picked: readonly PickedTask[]
  readonly expired: readonly ExpiredTask[]
  /** The `ord` to read on from. */
  readonly next: number
  readonly hasMore: boolean
}

function statementsOf(db: Database) {
  return {
    findWorker: db.prepare<[number, string], { isDraining: 0 | 1; gen: number }>(
      'SELECT drain IS NOT NULL AS isDraining, gen FROM worker JOIN cfg USING(type, id) WHERE type = ? AND id = ?',
    ),
    pending: db
      .prepare<[number, Tier, number, number], PendingRow>(
        `SELECT ${PENDING}
        FROM task LEFT JOIN body ON body.pk = task.pk
        WHERE type = ? AND place = 0 AND tier = ? AND ord >= ? ORDER BY ord LIMIT ?`,
      )
      .raw(),
    firstOfGroup: db
      .prepare<[number, string], PendingRow>(
        `SELECT ${PENDING}
        FROM task INDEXED BY task_group LEFT JOIN body ON body.pk = task.pk
        WHERE type = ? AND place = 0 AND grp = ? ORDER BY tier, ord LIMIT 1`,
      )
      .raw(),
    lease: db.prepare<[number, number, number, string, number]>(
      'UPDATE task SET place = 1, due = ?, token = ?, lease_max = ?, worker = ? WHERE pk = ?',
    ),
  }
}

export class TaskReservation implements Pick<Sync<Tasks>, 'reserve'> {
  readonly #txn: Transaction
  readonly #names: Names
  readonly #sequences: TokenSequences
  readonly #queues: Queues
  readonly #rows: TaskRows
  readonly #outcomes: RetainedOutcomes
  readonly #scheduled: ScheduledTasks
  readonly #sql: ReturnType<typeof statementsOf>

  constructor({ db, txn, names, outcomes, sequences, queues, rows }: TaskDeps, scheduled: ScheduledTasks) {
    this.#outcomes = outcomes
    this.#txn = txn
    this.#names = names
    this.#sequences = sequences
    this.#queues = queues
    this.#rows = rows
    this.#scheduled = scheduled
    this.#sql = statementsOf(db)
  }

  reserve(
    typeName: string,
    visibilityMs: number,
    requests: readonly ReserveRequest[],
    maxOutcomes = DEFAULT_MAX_OUTCOMES,
  ): ReserveResult {
    const type = this.#names.find(KIND.type, typeName)
    if (type === undefined) return { results: requests.map(() => refused('unknown')), dropped: 0, nextDueAtMs: null }
    const queue = this.#queues.change(type)
    this.#scheduled.promote(queue, MAX_PROMOTED)
    const refusals = requests.map((request) => this.#refusal(type, request))
    const pause = lastingPause(queue.pause, this.#txn.nowMs)
    const accepted = wantedBy(requests, refusals)
    const wanted = pause === null ? accepted : 0
    const allowance = { wanted, leases: wanted, bytes: MAX_RESERVE_BYTES, drops: MAX_DROPPED, maxOutcomes }
    const expiresAtMs = this.#txn.nowMs + visibilityMs
    const results =
      queue.groups === null
        ? this.#leaseInOrder(queue, requests, refusals, allowance, expiresAtMs)
        : this.#leaseInTurns(queue, queue.groups, requests, refusals, allowance, expiresAtMs)
    const isHeldBack = accepted > 0 && pendingOf(queue) > 0
    const nextStartAtMs = earlierOf(pause?.untilMs ?? null, queue.groups?.nextStartAtMs() ?? null)
    const nextDueAtMs = earlierOf(this.#scheduled.nextDueAtMs(queue), isHeldBack ? nextStartAtMs : null)
    return { results, dropped: MAX_DROPPED - allowance.drops, nextDueAtMs }
  }

  /** Leases the next tasks of the tiers. */
  #leaseInOrder(
    queue: Queue,
    requests: readonly ReserveRequest[],
    refusals: readonly (ReserveRefusal | null)[],
    allowance: Allowance,
    expiresAtMs: number,
  ): readonly Reservation[] {
    const picked = TIERS.flatMap((tier) => this.#pick(queue, tier, allowance))
    return this.#leaseAll(queue, picked, requests, refusals, expiresAtMs)
  }

  /** Leases one task of each group in turn. */
  #leaseInTurns(
    queue: Queue,
    groups: QueueGroups,
    requests: readonly ReserveRequest[],
    refusals: readonly (ReserveRefusal | null)[],
    allowance: Allowance,
    expiresAtMs: number,
  ): readonly Reservation[] {
    return requests.map((request, i) => {
      const reason = refusals[i] ?? null
      if (reason !== null) return refused(reason)
      const leases: Lease[] = []
      while (leases.length < request.limit && allowance.leases > 0 && allowance.bytes > 0) {
        const task = this.#takeNext(queue, groups, allowance)
        if (task === null) break
        leases.push(this.#lease(task, request, this.#sequences.change(queue.type), expiresAtMs))
      }
      return { kind: 'leased', leases }
    })
  }

  /** Takes the first task of the next group out of its queue. Drops expired ones, which take no turn. */
  #takeNext(queue: Queue, groups: QueueGroups, allowance: Allowance): PickedTask | null {
    for (let group = groups.first(); group !== undefined; group = groups.first()) {
      const row = this.#sql.firstOfGroup.get(queue.type, group)
      if (row === undefined) throw new TypeError(`group ${JSON.stringify(group)} has no pending task`)
      const [pk, id, tier, , ttlAt, attempt, ownMax, retain, attempts, progress, body] = row
      const isExpired = body === null || hasExpired(ttlAt, this.#txn.nowMs)
      const isAllowed = isExpired ? allowance.drops > 0 : hasBytesFor(body, allowance)
      if (!isAllowed) {
        allowance.bytes = 0
        return null
      }
      queue.pending[tier] -= 1
      if (!isExpired) {
        groups.lease(group)
        queue.inFlight += 1
        allowance.leases -= 1
        allowance.bytes -= body.length
        return { pk, id, attempt, ownMax, retain, progress, body }
      }
      groups.remove(group)
      allowance.drops -= 1
      this.#drop(queue, { pk, id, attempt, retain, attempts }, allowance.maxOutcomes)
    }
    return null
  }

  /** Why this worker may not reserve; `null` if it may. */
  #refusal(type: number, { worker, gen }: ReserveRequest): ReserveRefusal | null {
    const record = this.#sql.findWorker.get(type, worker)
    if (record === undefined) return 'unknown'
    if (record.isDraining === 1) return 'draining'
    return record.gen === gen ? null : 'stale'
  }

  /** Takes the next tasks of a tier out of its queue until the allowance or the tier is used up. Drops expired ones. */
  #pick(queue: Queue, tier: Tier, allowance: Allowance): readonly PickedTask[] {
    const all: PickedTask[] = []
    let from = -Number.MAX_SAFE_INTEGER
    let hasMore = queue.pending[tier] > 0
    while (hasMore && allowance.leases > 0 && allowance.bytes > 0) {
      const part = this.#read(queue, tier, from, allowance)
      for (const task of part.expired) this.#drop(queue, task, allowance.maxOutcomes)
      all.push(...part.picked)
      queue.pending[tier] -= part.expired.length + part.picked.length
      from = part.next
      hasMore = part.hasMore
    }
    return all
  }

  #drop(queue: Queue, { pk, retain: retainMs, ...task }: ExpiredTask, maxOutcomes: number): void {
    this.#rows.remove(pk)
    if (retainMs === null) return
    this.#outcomes.keep(queue, { ...task, retainMs }, { kind: 'expired', worker: null, result: null }, maxOutcomes)
  }

  /** Reads what one statement returns. It ends before any row is changed. */
  #read({ type }: Readonly<Queue>, tier: Tier, from: number, allowance: Allowance): PendingPart {
    const picked: PickedTask[] = []
    const expired: ExpiredTask[] = []
    const limit = allowance.leases
    let next = from
    const rows = this.#sql.pending.iterate(type, tier, from, limit)
    for (const [pk, id, , ord, ttlAt, attempt, ownMax, retain, attempts, progress, body] of rows) {
      if (body === null || hasExpired(ttlAt, this.#txn.nowMs)) {
        if (allowance.drops <= 0) break
        expired.push({ pk, id, attempt, retain, attempts })
        allowance.drops -= 1
      } else {
        if (!hasBytesFor(body, allowance)) {
          allowance.bytes = 0
          break
        }
        picked.push({ pk, id, attempt, ownMax, retain, progress, body })
        allowance.leases -= 1
        allowance.bytes -= body.length
      }
      next = ord + 1
    }
    return { picked, expired, next, hasMore: picked.length + expired.length === limit }
  }

  /** Hands the tasks to the requests in order. Refused workers get none. */
  #leaseAll(
    queue: Queue,
    picked: readonly PickedTask[],
    requests: readonly ReserveRequest[],
    refusals: readonly (ReserveRefusal | null)[],
    expiresAtMs: number,
  ): readonly Reservation[] {
    if (picked.length === 0)
      return refusals.map((reason) => (reason === null ? { kind: 'leased', leases: [] } : refused(reason)))
    const fence = this.#sequences.change(queue.type)
    let next = 0
    queue.inFlight += picked.length
    return requests.map((request, i) => {
      const reason = refusals[i] ?? null
      if (reason !== null) return refused(reason)
      const tasks = picked.slice(next, next + request.limit)
      next += tasks.length
      return { kind: 'leased', leases: tasks.map((task) => this.#lease(task, request, fence, expiresAtMs)) }
    })
  }

  #lease(task: PickedTask, request: ReserveRequest, fence: TokenSequence, expiresAtMs: number): Lease {
    const { pk, id, attempt, ownMax, retain, progress, body } = task
    const token = this.#sequences.issue(fence)
    const maxAttempts = maxAttemptsOf(ownMax, request.defaultMaxAttempts)
    this.#sql.lease.run(expiresAtMs, token, maxAttempts, request.worker, pk)
    const lease = { id, token, attempt, maxAttempts, expiresAtMs, body }
    if (retain === null && progress === null) return lease
    return { ...lease, ...(retain !== null && RETAINED), ...(progress !== null && { progress }) }
  }
}

function refused(reason: ReserveRefusal): Reservation {
  return { kind: 'refused', reason }
}

/** How many tasks the admitted workers want, at most as many as one call leases. */
function wantedBy(requests: readonly ReserveRequest[], refusals: readonly (ReserveRefusal | null)[]): number {
  const wanted = requests.reduce((sum, { limit }, i) => sum + (refusals[i] === null ? limit : 0), 0)
  return Math.min(MAX_RESERVED_PER_CALL, wanted)
}

/** The first task of a call is leased whatever its size. */
function hasBytesFor(body: string, { leases, bytes, wanted }: Allowance): boolean {
  const isFirst = leases === wanted
  return isFirst || (bytes > 0 && body.length <= bytes)
}
