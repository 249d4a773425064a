/**
 * @module storage/sqlite/engine-tasks
 * SqliteTasks implements the task queues. Each part does one step of a task's life: engine-submit.ts queues tasks,
 * engine-reserve.ts leases them, engine-settle.ts ends leases, engine-sweep.ts does what is due by time, engine-dead.ts
 * keeps the dead ones, engine-cancel.ts cancels, engine-pause.ts pauses queues, engine-groups.ts sets group policies,
 * retained-outcomes.ts keeps outcomes, engine-inspect.ts reads, and engine-list.ts lists.
 *
 * The counts are kept in memory and change with each row (queues.ts), and the token decides who may settle a task
 * (token-sequences.ts). Dead rows up to `deadCut` were cleared: they count as absent until the idle work has removed
 * them.
 */
import type {
  CancelResult,
  Counts,
  DeadGroup,
  DeadPage,
  DeadRow,
  DoneTask,
  ExtendItem,
  ExtendLeaseResult,
  GroupPolicy,
  GroupRow,
  LeaseLost,
  LeaseRef,
  NackItem,
  NewPause,
  NewestDead,
  NewTask,
  Pause,
  QueuePage,
  ReplayCounts,
  DeadGroupAct,
  ReserveRequest,
  ReserveResult,
  RetryPolicy,
  SubmitItemResult,
  SweepResult,
  Sync,
  TaskList,
  TaskPlace,
  TaskState,
  Tasks,
} from '../index.ts'
import { ScheduledTasks } from './scheduled-tasks.ts'
import { TaskCancellation } from './engine-cancel.ts'
import { DeadGroupIndex } from './dead-group-index.ts'
import { DeadTasks } from './engine-dead.ts'
import { DeadTaskGroups } from './engine-dead-groups.ts'
import type { EngineDeps } from './engine-deps.ts'
import { TaskGrouping } from './engine-groups.ts'
import { TaskInspection } from './engine-inspect.ts'
import { TaskListing } from './engine-list.ts'
import { TaskPause } from './engine-pause.ts'
import { TaskReservation } from './engine-reserve.ts'
import { TaskSettlement } from './engine-settle.ts'
import { TaskSubmission } from './engine-submit.ts'
import { TaskSweep } from './engine-sweep.ts'
import { Queues } from './queues.ts'
import { RetainedOutcomes } from './retained-outcomes.ts'
import { ReplayCounters } from './replay-counters.ts'
import { TaskRows, type TaskDeps } from './task-rows.ts'

export class SqliteTasks implements Sync<Tasks> {
  readonly #submission: TaskSubmission
  readonly #reservation: TaskReservation
  readonly #settlement: TaskSettlement
  readonly #sweep: TaskSweep
  readonly #inspection: TaskInspection
  readonly #listing: TaskListing
  readonly #dead: DeadTasks
  readonly #deadGroups: DeadTaskGroups
  readonly #pause: TaskPause
  readonly #cancellation: TaskCancellation
  readonly #grouping: TaskGrouping

  constructor(engine: EngineDeps) {
    const { db, txn } = engine
    const [queues, rows, outcomes] = [new Queues(db, txn), new TaskRows(db), new RetainedOutcomes(db, txn)]
    const deadGroups = new DeadGroupIndex(db, txn)
    const deps: TaskDeps = { ...engine, queues, rows, outcomes, deadGroups, replays: new ReplayCounters(db) }
    const scheduled = new ScheduledTasks(deps)
    this.#cancellation = new TaskCancellation(deps)
    this.#submission = new TaskSubmission(deps, this.#cancellation)
    this.#reservation = new TaskReservation(deps, scheduled)
    this.#settlement = new TaskSettlement(deps)
    this.#sweep = new TaskSweep(deps, scheduled)
    this.#inspection = new TaskInspection(deps)
    this.#listing = new TaskListing(deps)
    this.#dead = new DeadTasks(deps)
    this.#deadGroups = new DeadTaskGroups(deps, this.#dead)
    this.#pause = new TaskPause(deps)
    this.#grouping = new TaskGrouping(deps)
  }

  submit(
    type: string,
    idempotencyTtlMs: number,
    tasks: readonly NewTask[],
    maxLength?: number,
  ): readonly SubmitItemResult[] {
    return this.#submission.submit(type, idempotencyTtlMs, tasks, maxLength)
  }

  reserve(
    type: string,
    visibilityMs: number,
    requests: readonly ReserveRequest[],
    maxOutcomes?: number,
  ): ReserveResult {
    return this.#reservation.reserve(type, visibilityMs, requests, maxOutcomes)
  }

  ack(type: string, leases: readonly DoneTask[], maxOutcomes?: number): readonly ('ok' | LeaseLost)[] {
    return this.#settlement.ack(type, leases, maxOutcomes)
  }

  release(type: string, leases: readonly LeaseRef[]): readonly ('ok' | LeaseLost)[] {
    return this.#settlement.release(type, leases)
  }

  nack(type: string, retry: RetryPolicy, items: readonly NackItem[]): readonly ('scheduled' | 'dead' | LeaseLost)[] {
    return this.#settlement.nack(type, retry, items)
  }

  extend(type: string, items: readonly ExtendItem[]): readonly ExtendLeaseResult[] {
    return this.#settlement.extend(type, items)
  }

  sweep(type: string, maxLost: number, limit: number): SweepResult {
    return this.#sweep.sweep(type, maxLost, limit)
  }

  locate(type: string, ids: readonly string[]): readonly (TaskPlace | null)[] {
    return this.#inspection.locate(type, ids)
  }

  queue(type: string, n: number, bytes?: number): QueuePage {
    return this.#inspection.queue(type, n, bytes)
  }

  bodies(type: string, ids: readonly string[], bytes?: number): readonly (string | null)[] {
    return this.#inspection.bodies(type, ids, bytes)
  }

  describe(type: string, ids: readonly string[], bytes?: number): readonly (TaskState | null)[] {
    return this.#inspection.describe(type, ids, bytes)
  }

  list(type: string, place: TaskPlace, after: string | null, limit: number, bytes?: number): TaskList {
    return this.#listing.list(type, place, after, limit, bytes)
  }

  counts(types: readonly string[]): readonly Counts[] {
    return this.#inspection.counts(types)
  }

  countDue(type: string, withinMs: number): number {
    return this.#inspection.countDue(type, withinMs)
  }

  dead(type: string, n: number, bytes?: number, after?: number): DeadPage {
    return this.#dead.list(type, n, bytes, after)
  }

  replay(type: string, n: number, newestDeath?: number, replay?: string): number {
    return this.#dead.replay(type, n, newestDeath, replay)
  }

  newestDeath(type: string): number {
    return this.#dead.newestDeath(type)
  }

  clearDead(type: string): number {
    return this.#dead.clear(type)
  }

  applyToDead(
    type: string,
    action: 'replay' | 'remove',
    ids: readonly string[],
    replay?: string,
  ): readonly ('replayed' | 'removed' | 'not_dead')[] {
    return this.#dead.applyToDead(type, action, ids, replay)
  }

  deadGroups(type: string): readonly DeadGroup[] {
    return this.#deadGroups.list(type)
  }

  groupDead(type: string, n: number): boolean {
    return this.#deadGroups.repair(type, n)
  }

  newestDead(type: string, group: string | null, before: string | null, n: number, bytes?: number): NewestDead {
    return this.#deadGroups.newest(type, group, before, n, bytes)
  }

  applyToDeadGroup(type: string, act: DeadGroupAct): number {
    return this.#deadGroups.apply(type, act)
  }

  replayCounts(type: string, replays: readonly string[]): readonly (ReplayCounts | null)[] {
    return this.#dead.replayCounts(type, replays)
  }

  forgetReplays(type: string, replays: readonly string[]): void {
    this.#dead.forgetReplays(type, replays)
  }

  deadTask(type: string, id: string): DeadRow | null {
    return this.#deadGroups.task(type, id)
  }

  replayEdited(type: string, id: string, diedAtMs: number, body: string): boolean {
    return this.#deadGroups.replayEdited(type, id, diedAtMs, body)
  }

  cancel(type: string, ids: readonly string[], actor: string, maxOutcomes?: number): readonly CancelResult[] {
    return this.#cancellation.cancel(type, ids, actor, maxOutcomes)
  }

  pause(type: string, pause: NewPause): Pause {
    return this.#pause.pause(type, pause)
  }

  resume(type: string): boolean {
    return this.#pause.resume(type)
  }

  /** Removes cleared tasks that cost about `limit` rows. @returns what they cost. */
  prune(limit: number): number {
    return this.#dead.prune(limit)
  }

  setGroupPolicy(type: string, policy: GroupPolicy | null): void {
    this.#grouping.setGroupPolicy(type, policy)
  }

  groups(type: string, limit: number): readonly GroupRow[] {
    return this.#grouping.groups(type, limit)
  }
}
