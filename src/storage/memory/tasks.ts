/**
 * @module storage/memory/tasks
 * The `tasks` of the contract over one {@link TaskQueue} per automation type.
 */
import { MAX_ANSWER_BYTES, MAX_RESERVED_PER_CALL, MAX_RESERVE_BYTES } from '../../protocol/index.ts'
import { cutError } from '../index.ts'
import { sizeOf } from './task.ts'
import { TaskQueue } from './task-queue.ts'
import { valueOf, within } from './store.ts'
import { RECORD } from './ledger.ts'
import type { Allowance } from './task-queue.ts'
import type {
  Counts,
  Lease,
  LeaseLost,
  LeaseRef,
  Nack,
  NewTask,
  Place,
  QueueRow,
  DeadRow,
  Refusal,
  Reserved,
  ReserveRequest,
  RetryPolicy,
  Submitted,
  Swept,
  Tasks,
} from '../index.ts'
import type { Store, Sync } from './store.ts'
import type { Task } from './task.ts'
import type { WorkerRecords } from './worker-records.ts'

/** Tasks one reserve drops because they outlived their ttl, and retries it promotes. */
const MAX_DROPS = 1_000
const MAX_PROMOTED = 1_000
const QUEUED: Submitted = Object.freeze({ queued: true })
const textOf = ({ id, body }: Task): number => id.length + body.length

export class MemoryTasks implements Sync<Tasks> {
  readonly #store: Store
  readonly #records: WorkerRecords
  readonly #queues = new Map<string, TaskQueue>()

  constructor(store: Store, records: WorkerRecords) {
    this.#store = store
    this.#records = records
  }

  submit(
    type: string,
    idempotencyTtlMs: number,
    tasks: readonly NewTask[],
    maxLength = Infinity,
  ): readonly Submitted[] {
    const queue = this.#of(type)
    const now = this.#store.now()
    let chars = 0
    for (const task of tasks)
      chars += sizeOf(task) + (task.key === null ? 0 : RECORD + task.key.length + task.id.length)
    this.#store.ledger.require(chars)
    return tasks.map((task) => {
      const first = task.key === null ? undefined : queue.keys.find(task.key, now)
      if (first !== undefined) return { duplicateOf: first }
      if (this.#store.safeguards.presenceCheck && queue.find(task.id) !== undefined)
        return task.ownId ? { duplicateOf: task.id } : QUEUED
      if (queue.size >= maxLength) return 'queue_full'
      queue.submit(task)
      if (task.key !== null) queue.keys.record(task.key, task.id, now + idempotencyTtlMs)
      return QUEUED
    })
  }

  reserve(type: string, visibilityMs: number, requests: readonly ReserveRequest[]): Reserved {
    const queue = this.#of(type)
    const now = this.#store.now()
    queue.promote(MAX_PROMOTED, now)
    const allowance: Allowance = { tasks: MAX_RESERVED_PER_CALL, chars: Infinity, drops: MAX_DROPS }
    const answers = requests.map(
      (request) => this.#refusal(type, request) ?? lease(queue, request, allowance, now, now + visibilityMs),
    )
    return { answers, dropped: MAX_DROPS - allowance.drops, nextDue: queue.nextDue() }
  }

  ack(type: string, leases: readonly LeaseRef[]): readonly ('ok' | LeaseLost)[] {
    const queue = this.#of(type)
    return leases.map(({ id, token }) => {
      const task = queue.held(id, token)
      if (task === undefined) return queue.acked.has(token) ? 'ok' : queue.lost(token)
      queue.complete(task)
      return 'ok'
    })
  }

  release(type: string, leases: readonly LeaseRef[]): readonly ('ok' | LeaseLost)[] {
    const queue = this.#of(type)
    const back: Task[] = []
    const answers = leases.map(({ id, token }) => {
      const task = queue.held(id, token)
      if (task === undefined) return queue.lost(token)
      queue.giveUp(task)
      back.push(task)
      return 'ok'
    })
    queue.putBack(back)
    return answers
  }

  nack(type: string, retry: RetryPolicy, items: readonly Nack[]): readonly ('scheduled' | 'dead' | LeaseLost)[] {
    const queue = this.#of(type)
    const now = this.#store.now()
    return items.map(({ id, token, error, retryInMs, permanent, u }) => {
      const task = queue.held(id, token)
      if (task === undefined) return queue.lost(token)
      const delayMs = retryInMs ?? backoffMs(retry, task.attempt, u)
      task.attempt += 1
      queue.totals.nacked += 1
      if (permanent || task.attempt >= task.max) {
        queue.bury(task, cutError(error))
        return 'dead'
      }
      queue.retry(task, now + delayMs)
      return 'scheduled'
    })
  }

  extend(
    type: string,
    items: readonly (LeaseRef & { readonly visibilityMs: number })[],
  ): readonly ({ readonly until: number } | LeaseLost)[] {
    const queue = this.#of(type)
    const now = this.#store.now()
    return items.map(({ id, token, visibilityMs }) => {
      const task = queue.held(id, token)
      if (task === undefined) return queue.lost(token)
      queue.extend(task, now + visibilityMs)
      return { until: task.until }
    })
  }

  sweep(type: string, maxLost: number, limit: number): Swept {
    const queue = this.#of(type)
    const now = this.#store.now()
    const back: Task[] = []
    let dead = 0
    while (back.length + dead < limit) {
      const task = queue.takeOverdue(now)
      if (task === null) break
      task.lost += 1
      if (maxLost > 0 && task.lost >= maxLost) {
        queue.bury(task, `lease lost ${task.lost} times`)
        dead += 1
      } else {
        queue.giveUp(task)
        back.push(task)
      }
    }
    queue.putBack(back)
    const promoted = queue.promote(limit, now)
    const forgottenKeys = queue.keys.forget(limit, now)
    const more =
      (queue.nextDeadline() ?? Infinity) <= now || (queue.nextDue() ?? Infinity) <= now || queue.keys.hasEnded(now)
    return { requeued: back.length, promoted, dead, forgottenKeys, more }
  }

  locate(type: string, ids: readonly string[]): readonly (Place | null)[] {
    const queue = this.#of(type)
    return ids.map((id) => queue.find(id)?.place ?? null)
  }

  queue(type: string, n: number): { readonly length: number; readonly items: readonly QueueRow[] } {
    const queue = this.#of(type)
    const length = queue.tiers.reduce((sum, tier) => sum + tier.length, 0)
    return {
      length,
      items: within(queue.pending(), n, MAX_ANSWER_BYTES, textOf, ({ id, attempt, body }) => ({ id, attempt, body })),
    }
  }

  dead(type: string, n: number): { readonly length: number; readonly items: readonly DeadRow[] } {
    const { dead } = this.#of(type)
    const show = ({ id, attempt, body, max, lastError, diedAt }: Task): DeadRow => ({
      id,
      attempt,
      maxAttempts: max,
      lastError,
      diedAt,
      body,
    })
    return { length: dead.size, items: within(dead, n, MAX_ANSWER_BYTES, textOf, show) }
  }

  replay(type: string, n: number): number {
    const queue = this.#of(type)
    for (let replayed = 0; replayed < n; replayed += 1) {
      const task = queue.dead.first()
      if (task === undefined) return replayed
      queue.revive(task)
    }
    return n
  }

  clearDead(type: string): number {
    return this.#of(type).clearDead()
  }

  select(
    type: string,
    action: 'replay' | 'remove',
    ids: readonly string[],
  ): readonly ('replayed' | 'removed' | 'not_dead')[] {
    const queue = this.#of(type)
    return ids.map((id) => {
      const task = queue.dead.get(id)
      if (task === undefined) return 'not_dead'
      if (action === 'replay') queue.revive(task)
      else queue.removeDead(task)
      return action === 'replay' ? 'replayed' : 'removed'
    })
  }

  counts(types: readonly string[]): readonly Counts[] {
    return types.map((type) => this.#of(type).counts())
  }

  /** Why this worker gets no task; null: it may have some. */
  #refusal(type: string, { worker, gen }: ReserveRequest): Refusal | null {
    const record = this.#records.find({ type, id: worker })
    if (record === undefined) return 'unknown'
    if (record.drain !== null && this.#store.safeguards.drainCheck) return 'draining'
    return record.config.gen === gen ? null : 'stale'
  }

  #of(type: string): TaskQueue {
    return valueOf(this.#queues, type, () => new TaskQueue(this.#store))
  }
}

/** The leases of one request; the first of a call may exceed the size of a whole answer. */
function lease(
  queue: TaskQueue,
  { limit, defaultMaxAttempts }: ReserveRequest,
  allowance: Allowance,
  now: number,
  until: number,
): readonly Lease[] {
  const leases: Lease[] = []
  while (leases.length < limit && allowance.tasks > 0) {
    const task = queue.take(allowance, now)
    if (task === null) break
    allowance.chars = (allowance.chars === Infinity ? MAX_RESERVE_BYTES : allowance.chars) - task.body.length
    allowance.tasks -= 1
    queue.lease(task, task.ownMax ?? defaultMaxAttempts, until)
    leases.push({
      id: task.id,
      token: task.token,
      attempt: task.attempt,
      maxAttempts: task.max,
      until,
      body: task.body,
    })
  }
  return leases
}

/** Full jitter (D25). */
function backoffMs({ baseMs, factor, capMs }: RetryPolicy, attempt: number, u: number): number {
  return Math.floor(u * Math.min(capMs, baseMs * Math.min(factor ** attempt, Number.MAX_VALUE)))
}
