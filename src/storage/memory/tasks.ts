/**
 * @module storage/memory/tasks
 * Implements `tasks` of the contract with one {@link TaskQueue} per automation type.
 */
import {
  DEFAULT_MAX_OUTCOMES,
  MAX_RESPONSE_BYTES,
  MAX_RESERVED_PER_CALL,
  MAX_RESERVE_BYTES,
} from '../../protocol/index.ts'
import {
  attemptError,
  CANCELLED,
  finishedAs,
  charsOfState,
  cutError,
  DEAD,
  earlierOf,
  EXTEND_LOST,
  isLostTooOften,
  listCursor,
  lostLeaseError,
  maxAttemptsOf,
  nackOutcome,
  NOT_FOUND,
  OUTCOMES_PER_SWEEP,
  pausedOf,
  RETAINED,
  takeWithin,
} from '../index.ts'
import { MemoryDeadTasks } from './dead-tasks.ts'
import { sizeOfNew } from './task.ts'
import { listedTask, placeOf, stateOf } from './task-views.ts'
import { TaskQueue } from './task-queue.ts'
import { charsOfKeys, submitTask } from './task-submission.ts'
import type { Allowance } from './task-queue.ts'
import type {
  CancelResult,
  Counts,
  DoneTask,
  ExtendItem,
  ExtendLeaseResult,
  GroupPolicy,
  GroupRow,
  Lease,
  LeaseLost,
  LeaseRef,
  NackItem,
  NewPause,
  NewTask,
  Pause,
  TaskList,
  TaskPlace,
  TaskState,
  QueuePage,
  Reservation,
  ReserveRefusal,
  ReserveResult,
  ReserveRequest,
  RetryPolicy,
  SubmitItemResult,
  SweepResult,
  Tasks,
  Sync,
} from '../index.ts'
import type { Store } from './store.ts'
import type { Task } from './task.ts'
import type { WorkerRecords } from './worker-records.ts'

/** Tasks one reserve drops because they outlived their ttl, and retries it promotes. */
const MAX_DROPS = 1_000
const MAX_PROMOTED = 1_000
const charsOf = ({ id, body }: Task): number => id.length + body.length

export class MemoryTasks extends MemoryDeadTasks implements Sync<Tasks> {
  readonly #store: Store
  readonly #records: WorkerRecords

  constructor(store: Store, records: WorkerRecords) {
    super(store)
    this.#store = store
    this.#records = records
  }

  submit(
    type: string,
    idempotencyTtlMs: number,
    tasks: readonly NewTask[],
    maxLength = Infinity,
  ): readonly SubmitItemResult[] {
    const queue = this.of(type)
    const now = this.#store.now()
    let chars = 0
    for (const task of tasks) chars += sizeOfNew(task) + charsOfKeys(task)
    this.#store.budget.require(chars)
    const { presenceCheck: checksPresence } = this.#store.safeguards
    const options = { now, idempotencyTtlMs, maxLength, checksPresence }
    return tasks.map((task) => submitTask(queue, task, options))
  }

  reserve(
    type: string,
    visibilityMs: number,
    requests: readonly ReserveRequest[],
    maxOutcomes = DEFAULT_MAX_OUTCOMES,
  ): ReserveResult {
    const queue = this.of(type)
    const now = this.#store.now()
    queue.promote(MAX_PROMOTED, now)
    const { pause } = queue
    const tasks = pause === null ? MAX_RESERVED_PER_CALL : 0
    const allowance: Allowance = { tasks, chars: Infinity, drops: MAX_DROPS, maxOutcomes }
    const results = requests.map((request): Reservation => {
      const reason = this.#refusal(type, request)
      if (reason !== null) return { kind: 'refused', reason }
      return { kind: 'leased', leases: lease(queue, request, allowance, now, now + visibilityMs) }
    })
    const isHeldBack = queue.pendingCount > 0 && results.some(({ kind }) => kind === 'leased')
    const nextStartAtMs = isHeldBack ? earlierOf(pause?.untilMs ?? null, queue.nextStart()) : null
    return { results, dropped: MAX_DROPS - allowance.drops, nextDueAtMs: earlierOf(queue.nextDue(), nextStartAtMs) }
  }

  ack(type: string, leases: readonly DoneTask[], maxOutcomes = DEFAULT_MAX_OUTCOMES): readonly ('ok' | LeaseLost)[] {
    const queue = this.of(type)
    return leases.map(({ id, token, result = null }) => {
      const task = queue.held(id, token)
      if (task === undefined) return queue.acked.has(token, id) ? 'ok' : queue.lost(token)
      queue.complete(task, result, maxOutcomes)
      return 'ok'
    })
  }

  release(type: string, leases: readonly LeaseRef[]): readonly ('ok' | LeaseLost)[] {
    const queue = this.of(type)
    const back: Task[] = []
    const results = leases.map(({ id, token }) => {
      const task = queue.held(id, token)
      if (task === undefined) return queue.lost(token)
      queue.endLeaseOf(task)
      back.push(task)
      return 'ok'
    })
    queue.putBack(back)
    return results
  }

  nack(type: string, retry: RetryPolicy, items: readonly NackItem[]): readonly ('scheduled' | 'dead' | LeaseLost)[] {
    const queue = this.of(type)
    const now = this.#store.now()
    return items.map((item) => {
      const task = queue.held(item.id, item.token)
      if (task === undefined) return queue.lost(item.token)
      const outcome = nackOutcome({ attempt: task.attempt, maxAttempts: task.max }, item, retry)
      task.attempt = outcome.attempt
      queue.recordAttempt(task, 'failed', attemptError(item.error))
      queue.totals.nacked += 1
      if (outcome.kind === 'retry') {
        queue.retry(task, now + outcome.delayMs)
        return 'scheduled'
      }
      queue.moveToDead(task, cutError(item.error))
      return 'dead'
    })
  }

  extend(type: string, items: readonly ExtendItem[]): readonly ExtendLeaseResult[] {
    const queue = this.of(type)
    return items.map(({ id, token, visibilityMs, progress }) => {
      const task = queue.held(id, token)
      if (task === undefined) return EXTEND_LOST[queue.lost(token)]
      queue.extend(task, visibilityMs)
      if (progress !== undefined) queue.reportProgress(task, progress)
      return { kind: 'extended', expiresAtMs: task.until }
    })
  }

  sweep(type: string, maxLost: number, limit: number): SweepResult {
    const queue = this.of(type)
    const now = this.#store.now()
    const back: Task[] = []
    let dead = 0
    while (back.length + dead < limit) {
      const task = queue.takeOverdue(now)
      if (task === null) break
      task.lost += 1
      queue.recordAttempt(task, 'lease_lost', null)
      if (isLostTooOften(task.lost, maxLost)) {
        queue.moveToDead(task, lostLeaseError(task.lost))
        dead += 1
      } else {
        queue.endLeaseOf(task)
        back.push(task)
      }
    }
    queue.putBack(back)
    const promoted = queue.promote(limit, now)
    const forgottenKeys = queue.keys.forget(limit, now)
    const isAnyOverdue = (queue.nextDeadline() ?? Infinity) <= now
    const isAnyDue = (queue.nextDue() ?? Infinity) <= now
    queue.outcomes.forget(Math.min(limit, OUTCOMES_PER_SWEEP), now)
    const more = isAnyOverdue || isAnyDue || queue.keys.hasEnded(now) || queue.outcomes.hasExpired(now)
    return { requeued: back.length, promoted, dead, forgottenKeys, more }
  }

  locate(type: string, ids: readonly string[]): readonly (TaskPlace | null)[] {
    const queue = this.of(type)
    return ids.map((id) => placeOf(queue.find(id)))
  }

  queue(type: string, n: number, bytes = MAX_RESPONSE_BYTES): QueuePage {
    const queue = this.of(type)
    const length = queue.pendingCount
    const tasks = takeWithin(queue.pending(), charsOf, Infinity, n)
    const items = takeWithin(tasks, charsOf, bytes).map(({ id, attempt, body }) => ({ id, attempt, body }))
    const page = { length, items, ...pausedOf(queue.pause) }
    if (items.length === tasks.length) return page
    return { ...page, rest: tasks.slice(items.length).map(({ id, attempt }) => ({ id, attempt })) }
  }

  bodies(type: string, ids: readonly string[], bytes = MAX_RESPONSE_BYTES): readonly (string | null)[] {
    const queue = this.of(type)
    const bodyOf = (id: string): string | null => {
      const task = queue.find(id)
      return task === undefined || task.place === 'dead' ? null : task.body
    }
    return takeWithin(ids.map(bodyOf), (body) => body?.length ?? 0, bytes)
  }

  describe(type: string, ids: readonly string[], bytes = MAX_RESPONSE_BYTES): readonly (TaskState | null)[] {
    const queue = this.of(type)
    return takeWithin(
      ids.map((id) => stateOf(queue.find(id)) ?? queue.outcomes.find(id) ?? null),
      charsOfState,
      bytes,
    )
  }

  list(type: string, place: TaskPlace, after: string | null, limit: number, bytes = MAX_RESPONSE_BYTES): TaskList {
    const queue = this.of(type)
    const page = queue.page(place, after === null ? null : listCursor(after), limit)
    const shown = takeWithin(page.entries, ({ task }) => charsOf(task) + (task.lastError?.length ?? 0), bytes)
    const isCut = shown.length < page.entries.length
    return {
      rows: shown.map(({ task }) => listedTask(task, place)),
      next: isCut ? (shown.at(-1)?.cursor ?? null) : page.next,
    }
  }

  countDue(type: string, withinMs: number): number {
    return this.of(type).countDue(withinMs)
  }

  counts(types: readonly string[]): readonly Counts[] {
    return types.map((type) => this.of(type).counts())
  }

  cancel(
    type: string,
    ids: readonly string[],
    actor: string,
    maxOutcomes = DEFAULT_MAX_OUTCOMES,
  ): readonly CancelResult[] {
    const queue = this.of(type)
    const named = new Set<string>()
    return ids.map((id) => {
      if (named.has(id)) return NOT_FOUND
      named.add(id)
      const task = queue.find(id)
      if (task === undefined) return finishedAs(queue.outcomes.find(id)?.kind)
      if (task.place === 'dead') return DEAD
      const was = queue.cancel(task)
      const end = { kind: 'cancelled', worker: null, actor, result: null } as const
      queue.outcomes.keep({ ...task, attempt: 0 }, end, maxOutcomes)
      if (was !== 'in_flight') return CANCELLED[was]
      return { kind: 'cancelled', was, worker: task.worker, token: task.token }
    })
  }

  pause(type: string, pause: NewPause): Pause {
    return this.of(type).setPause(pause)
  }

  resume(type: string): boolean {
    return this.of(type).endPause()
  }

  setGroupPolicy(type: string, policy: GroupPolicy | null): void {
    this.of(type).setGroupPolicy(policy)
  }

  groups(type: string, limit: number): readonly GroupRow[] {
    return this.of(type).groups(limit)
  }

  /** Why this worker may not reserve; null if it may. */
  #refusal(type: string, { worker, gen }: ReserveRequest): ReserveRefusal | null {
    const record = this.#records.find({ type, id: worker })
    if (record === undefined) return 'unknown'
    if (record.drain !== null && this.#store.safeguards.drainCheck) return 'draining'
    return record.config.gen === gen ? null : 'stale'
  }
}

/** The leases of one request; the first of a call may exceed the size of a whole result. */
function lease(
  queue: TaskQueue,
  { worker, limit, defaultMaxAttempts }: ReserveRequest,
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
    queue.lease(task, worker, maxAttemptsOf(task.ownMax, defaultMaxAttempts), until)
    const leased = {
      id: task.id,
      token: task.token,
      attempt: task.attempt,
      maxAttempts: task.max,
      expiresAtMs: until,
      body: task.body,
    }
    const { retainMs, progress } = task
    if (retainMs === null && progress === null) leases.push(leased)
    else leases.push({ ...leased, ...(retainMs !== null && RETAINED), ...(progress && { progress: progress.text }) })
  }
  return leases
}
