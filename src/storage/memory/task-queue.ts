/**
 * @module storage/memory/task-queue
 * Keeps the tasks of one automation type and moves them between pending, in flight, scheduled and dead. A task is a
 * single object that all structures refer to; its `place` names the current one.
 *
 *   submit ─▶ tiers, or scheduled if it is delayed
 *
 *   A cancelled task leaves any place but the dead letters. A type with a group policy leases in the order of its
 *   groups (task-groups.ts), and the tiers show the order without groups.
 *
 *   tiers (three rings) ──lease──▶ deadlines ──▶ gone (retained: an outcome), or back to the front of its tier
 *        ▲                            └─retry──▶ scheduled (by due time) ──▶ back of its tier
 *        └──────────replay────────── dead letters (oldest first) ◀─moveToDead┘
 *
 * Every move is O(log n) at most; clearing the dead letters drops their map in one step.
 */
import { TimerQueue } from './timer-queue.ts'
import { AckedTokens } from './token-sequence.ts'
import { DeadLetters } from './dead-letters.ts'
import { IdempotencyKeys } from './idempotency-keys.ts'
import { PendingTasks } from './pending-tasks.ts'
import { RetainedOutcomes } from './retained-outcomes.ts'
import { newTask, sizeOf, sizeOfNew } from './task.ts'
import { pageOf } from './task-pages.ts'
import { UniqueKeys } from './unique-keys.ts'
import {
  CountedReplays,
  dueOf,
  expiryOf,
  extendedDeadline,
  hasExpired,
  lastingPause,
  pausedOf,
  totalsOf,
  replayOf,
  withAttempt,
  withoutReplay,
  withReplay,
} from '../index.ts'
import { MAX_COUNTED_DUE } from '../../protocol/index.ts'
import type {
  Counts,
  FailedAttempt,
  GroupPolicy,
  GroupRow,
  LeaseLost,
  NewPause,
  NewTask,
  Pause,
  RunResult,
  TaskPlace,
} from '../index.ts'
import type { TokenSequence } from './token-sequence.ts'
import type { Store } from './store.ts'
import type { Task } from './task.ts'

interface ReplayOptions {
  readonly dueAtMs?: number | undefined
  readonly body?: string
  readonly replay?: string | undefined
}

/** What one reserve may still lease and drop. */
export interface Allowance {
  tasks: number
  chars: number
  drops: number
  readonly maxOutcomes: number
}

export class TaskQueue {
  readonly dead = new DeadLetters()
  readonly keys: IdempotencyKeys
  readonly unique: UniqueKeys
  readonly outcomes: RetainedOutcomes
  readonly acked: AckedTokens
  readonly replays = new CountedReplays()
  readonly totals = { submitted: 0, acked: 0, nacked: 0, died: 0 }
  #cancelled = 0
  readonly #store: Store
  readonly #fence: TokenSequence
  readonly #pending: PendingTasks
  /** All but the dead ones. */
  readonly #live = new Map<string, Task>()
  readonly #deadlines = new TimerQueue<Task>()
  readonly #scheduled = new TimerQueue<Task>()
  /** Also one that has ended by time. */
  #pause: Pause | null = null

  constructor(store: Store) {
    this.#store = store
    this.#fence = store.sequences.make(store.now())
    this.#pending = new PendingTasks(store)
    this.acked = new AckedTokens(this.#fence)
    this.keys = new IdempotencyKeys(store.budget)
    this.unique = new UniqueKeys(store.budget)
    this.outcomes = new RetainedOutcomes(store)
  }

  /** Tasks in any place. */
  get size(): number {
    return this.#live.size + this.dead.size
  }

  find(id: string): Task | undefined {
    return this.#live.get(id) ?? this.dead.get(id)
  }

  /** Whether a new task may not have this id: a task or the outcome of one has it. */
  isKnown(id: string): boolean {
    return this.find(id) !== undefined || this.outcomes.find(id) !== undefined
  }

  /** The task in flight under exactly this lease. */
  held(id: string, token: number): Task | undefined {
    const task = this.#live.get(id)
    return task?.place === 'in_flight' && (task.token === token || !this.#store.safeguards.tokenCompare)
      ? task
      : undefined
  }

  /** The result for a lease that is not current. */
  lost(token: number): LeaseLost {
    return this.#fence.isAhead(token) ? 'not_issued' : 'lease_lost'
  }

  submit(submitted: NewTask, nowMs: number): void {
    const dueAtMs = dueOf(submitted, nowMs)
    const isDelayed = dueAtMs > nowMs
    const task = newTask(submitted, dueAtMs, isDelayed ? 'scheduled' : 'pending')
    this.#live.set(task.id, task)
    this.#store.budget.add(sizeOfNew(task))
    if (isDelayed) task.due = this.#scheduled.add(dueAtMs, task)
    else this.#pending.push(task, task.tier)
    if (submitted.unique !== undefined) this.unique.record(submitted.unique, task)
    this.totals.submitted += 1
  }

  /**
   * Takes the next task in line; null when there is none, or none within the allowance. Drops what outlived its ttl.
   */
  take(allowance: Allowance, now: number): Task | null {
    for (let task = this.#pending.first(); task !== undefined; task = this.#pending.first()) {
      const isExpired = hasExpired(task.expiresAtMs, now)
      const isAllowed = isExpired ? allowance.drops > 0 : task.body.length <= allowance.chars
      if (!isAllowed) return null
      if (!isExpired) {
        this.#pending.lease(task)
        return task
      }
      this.#pending.remove(task)
      allowance.drops -= 1
      this.#forget(task)
      this.outcomes.keep(task, { kind: 'expired', worker: null, result: null }, allowance.maxOutcomes)
    }
    return null
  }

  lease(task: Task, worker: string, max: number, until: number): void {
    task.place = 'in_flight'
    task.token = this.#fence.next()
    task.worker = worker
    task.max = max
    task.until = until
    task.deadline = this.#deadlines.add(until, task)
  }

  reportProgress(task: Task, text: string): void {
    this.#store.budget.add(text.length - (task.progress?.text.length ?? 0))
    task.progress = { text, atMs: this.#store.now() }
  }

  /** Moves the deadline, never to an earlier time. */
  extend(task: Task, visibilityMs: number): void {
    const until = extendedDeadline(task.until, this.#store.now(), visibilityMs)
    if (until === task.until) return
    this.#cancelDeadline(task)
    task.until = until
    task.deadline = this.#deadlines.add(until, task)
  }

  complete(task: Task, result: RunResult | null, maxOutcomes: number): void {
    this.#endLease(task)
    this.#forget(task)
    this.acked.record(task.token, task.id)
    if (task.attempts.length > 0) this.replays.count(replayOf(task.attempts), 'done')
    if (task.retainMs !== null) this.outcomes.keep(task, { kind: 'done', worker: task.worker, result }, maxOutcomes)
    this.totals.acked += 1
  }

  /** Adds a failed run, or a lost lease, to those that are kept of a task in flight. */
  recordAttempt(task: Task, kind: FailedAttempt['kind'], error: string | null): void {
    const before = sizeOf(task)
    const { attempt, worker } = task
    task.attempts = withAttempt(task.attempts, { kind, attempt, atMs: this.#store.now(), error, worker })
    this.#store.budget.add(sizeOf(task) - before)
  }

  retry(task: Task, due: number): void {
    this.#endLease(task)
    task.place = 'scheduled'
    task.due = this.#scheduled.add(due, task)
  }

  moveToDead(task: Task, error: string): void {
    this.#endLease(task)
    this.#live.delete(task.id)
    task.place = 'dead'
    task.lastError = error
    task.diedAtMs = this.#store.now()
    this.replays.count(replayOf(task.attempts), 'died')
    task.attempts = withoutReplay(task.attempts)
    this.dead.add(task)
    this.#store.budget.add(error.length)
    this.totals.died += 1
  }

  /** Ends the lease of a task that is to go back; {@link putBack} then queues it. */
  endLeaseOf(task: Task): void {
    this.#endLease(task)
    task.place = 'pending'
  }

  /** Returns tasks to the front of their tiers; the first of them comes first. */
  putBack(tasks: readonly Task[]): void {
    for (const task of tasks.toReversed()) {
      if (this.#store.safeguards.frontOfTier) this.#pending.unshift(task, task.tier)
      else this.#pending.push(task, task.tier)
    }
  }

  /**
   * From the dead letters to the back of the normal tier; at `dueAtMs` to the back of its own tier, if that is given.
   *
   * @param options `body` replaces that of the task. `replay`: the id of the replay.
   */
  replay(task: Task, { dueAtMs, body = task.body, replay }: ReplayOptions = {}): void {
    this.#store.budget.require(Math.max(0, body.length - task.body.length))
    this.#takeDead(task)
    task.body = body
    task.attempt = 0
    task.lost = 0
    task.attempts = withReplay(task.attempts, replay)
    task.lastError = null
    task.expiresAtMs = expiryOf(task.ttlMs, dueAtMs ?? this.#store.now())
    this.#live.set(task.id, task)
    this.#store.budget.add(sizeOf(task))
    task.place = dueAtMs === undefined ? 'pending' : 'scheduled'
    if (dueAtMs === undefined) this.#pending.push(task, 1)
    else task.due = this.#scheduled.add(dueAtMs, task)
  }

  /** Removes a task that is not dead; a lease of it ends. @returns where it was. */
  cancel(task: Task): 'pending' | 'in_flight' | 'scheduled' {
    const { place } = task
    if (place === 'dead' || place === 'cancelled') throw new TypeError(`the task is ${place}`)
    if (place === 'in_flight') this.#endLease(task)
    if (place === 'scheduled' && task.due !== null) this.#scheduled.cancel(task.due)
    this.#forget(task)
    if (place === 'pending') this.#pending.remove(task)
    task.place = 'cancelled'
    this.#cancelled += 1
    return place
  }

  removeDead(task: Task): void {
    this.#takeDead(task)
    this.unique.forget(task)
  }

  #takeDead(task: Task): void {
    this.dead.remove(task)
    this.#store.budget.add(-sizeOf(task) - (task.lastError?.length ?? 0))
  }

  clearDead(): number {
    const { size, chars } = this.dead
    this.dead.clear()
    this.unique.forgetDead()
    this.#store.budget.add(-chars)
    return size
  }

  /** Due tasks to the back of their tiers, in due order; at most `limit`. */
  promote(limit: number, now: number): number {
    for (let promoted = 0; promoted < limit; promoted += 1) {
      const task = this.#scheduled.takeDue(now)
      if (task === null) return promoted
      task.place = 'pending'
      task.due = null
      this.#pending.push(task, task.tier)
    }
    return limit
  }

  /** The task in flight whose deadline passed first; its lease has ended. */
  takeOverdue(now: number): Task | null {
    const task = this.#deadlines.takeDue(now)
    if (task !== null) task.deadline = null
    return task
  }

  nextDue(): number | null {
    return this.#scheduled.next()
  }

  /** When a group with pending tasks may start the next one by its rate; null if no group waits for that. */
  nextStart(): number | null {
    return this.#pending.nextStart()
  }

  setGroupPolicy(policy: GroupPolicy | null): void {
    this.#pending.setGroupPolicy(policy, () => [...this.#live.values()].filter(({ place }) => place === 'in_flight'))
  }

  groups(limit: number): readonly GroupRow[] {
    return this.#pending.groupRows(limit)
  }

  /** The pause that lasts now. */
  get pause(): Pause | null {
    return lastingPause(this.#pause, this.#store.now())
  }

  /** If the queue is paused already, it stays so since the same time. */
  setPause(pause: NewPause): Pause {
    const stored = { ...pause, sinceMs: this.pause?.sinceMs ?? this.#store.now() }
    this.#pause = stored
    return stored
  }

  /** @returns false if the queue was not paused. */
  endPause(): boolean {
    const wasPaused = this.pause !== null
    this.#pause = null
    return wasPaused
  }

  nextDeadline(): number | null {
    return this.#deadlines.next()
  }

  get pendingCount(): number {
    return this.#pending.count
  }

  pending(): Generator<Task> {
    return this.#pending.tiers.tasks()
  }

  /** One page of the tasks of a place; `after` is a position of `listCursor`, `null` for the first page. */
  page(place: TaskPlace, after: readonly [number, number] | null, limit: number): ReturnType<typeof pageOf> {
    const [deadlines, scheduled] = [this.#deadlines, this.#scheduled]
    return pageOf({ tiers: this.#pending.tiers, deadlines, scheduled, dead: this.dead }, place, after, limit)
  }

  countDue(withinMs: number): number {
    return this.#scheduled.countDue(this.#store.now() + withinMs, MAX_COUNTED_DUE)
  }

  counts(): Counts {
    const next = this.#pending.tiers.heads().map(({ submitted }) => submitted)
    return {
      tiers: this.#pending.tiers.lengths,
      scheduled: this.#scheduled.size,
      inFlight: this.#deadlines.size,
      dead: this.dead.size,
      oldestSubmittedAtMs: next.length === 0 ? null : Math.min(...next),
      totals: totalsOf({ ...this.totals }, this.#cancelled),
      ...pausedOf(this.pause),
      ...this.#pending.groupTotals(),
    }
  }

  /** Call once for each lease that ends. */
  #endLease(task: Task): void {
    this.#pending.endLease(task, task.deadline === null)
    this.#cancelDeadline(task)
  }

  #cancelDeadline(task: Task): void {
    if (task.deadline !== null) this.#deadlines.cancel(task.deadline)
    task.deadline = null
  }

  #forget(task: Task): void {
    this.#live.delete(task.id)
    this.unique.forget(task)
    this.#store.budget.add(-sizeOf(task))
  }
}
