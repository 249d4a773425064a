/**
 * @module master/queue/type-queue
 * The queue of one automation type: one Batcher per kind of change, and the TaskDispatcher for reserves. Every change
 * that makes a task ready wakes the dispatcher after its commit.
 */
import { FleetError } from '../../protocol/index.ts'
import type { CatalogEntry } from '../../automation/index.ts'
import { allSucceeded, type Batcher, type Random } from '../../runtime/index.ts'
import {
  EXTEND_LOST,
  NOT_FOUND,
  type Backend,
  type CancelledLease,
  type CancelResult,
  type DoneTask,
  type ExtendHoldResult,
  type ExtendLeaseResult,
  type Lease,
  type LeaseLost,
  type ExtendItem,
  type LeaseRef,
  type NackItem,
  type NewPause,
  type NewTask,
  type Pause,
  type DeadGroupAct,
  type SubmitItemResult,
  type SweepResult,
  type Tasks,
} from '../../storage/index.ts'
import { createBatcher } from './batcher.ts'
import { isBoundedInFlight } from './groups.ts'
import { TaskDispatcher, type TaskDispatcherDeps } from './task-dispatcher.ts'
import type { Latencies } from './latencies.ts'
import type { ReserveOptions } from './waiters.ts'

/** Dead tasks that one call of the store replays or removes: at most 6.25 MiB of bodies (D84). */
const DEAD_PIECE = 25

/** Tasks that one call of the store cancels. On Redis it reads their bodies, each at most `SVC_MAX_BODY_BYTES`. */
const CANCEL_PIECE = 25
/** Characters of results that one call of the store acknowledges. */
const RESULTS_PER_CALL = 4 * 1_048_576

export type Settled = 'ok' | 'lease_lost'
export type Nacked = 'scheduled' | 'dead' | 'lease_lost'
type Selected = 'replayed' | 'removed' | 'not_dead'
/** A nack as the worker sent it. */
export type NackOptions = Omit<NackItem, 'jitter'>

/** Which tasks of a group to replay or to remove. */
type DeadGroupAction = Omit<DeadGroupAct, 'n'>

/** A lease to extend, and the progress of its task. */
export type LeaseExtension = Omit<ExtendItem, 'visibilityMs'>

export interface TypeQueueDeps extends Omit<TaskDispatcherDeps, 'release'> {
  readonly backend: Backend
  readonly random: Random
  readonly idempotencyTtlMs: number
  readonly maxQueueLength: number
  /** Drops the oldest outputs of a full store. @returns whether there were any. */
  readonly makeCapacity: () => Promise<boolean>
  /** Measures how long the tasks wait and run. */
  readonly latencies: Latencies
  /** The most outcomes that are retained. */
  readonly maxOutcomes: number
  /** Called with tasks that this master has ended, after their settle. */
  readonly onFinished: (ids: readonly string[]) => void
  /** Called with leases that a cancel has ended. */
  readonly onCancelled: (leases: readonly CancelledLease[]) => void
  /** Called with a lease whose token the store has never issued. */
  readonly onRegression: (lease: LeaseRef) => void
}

export class TypeQueue {
  readonly entry: CatalogEntry
  readonly #tasks: Tasks
  readonly #bus: Backend['bus']
  readonly #random: Random
  readonly #dispatcher: TaskDispatcher
  readonly #submits: Batcher<NewTask, SubmitItemResult>
  readonly #acks: Batcher<DoneTask, Settled>
  readonly #latencies: Latencies
  readonly #maxOutcomes: number
  readonly #onFinished: (ids: readonly string[]) => void
  readonly #onCancelled: TypeQueueDeps['onCancelled']
  readonly #releases: Batcher<LeaseRef, Settled>
  readonly #extends: Batcher<LeaseExtension, ExtendHoldResult>
  readonly #nacks: Batcher<NackItem, Nacked>

  constructor(entry: CatalogEntry, deps: TypeQueueDeps) {
    const { type, visibilityMs, retry } = entry
    const { tasks, bus } = deps.backend
    this.entry = entry
    this.#tasks = tasks
    this.#bus = bus
    this.#random = deps.random
    this.#latencies = deps.latencies
    this.#dispatcher = new TaskDispatcher(entry, { ...deps, release: (leases) => this.#releaseUndelivered(leases) })
    this.#submits = createBatcher(
      withCapacityRetry(deps.makeCapacity, (items) => {
        const submitted = tasks.submit(type, deps.idempotencyTtlMs, items, deps.maxQueueLength)
        this.#dispatcher.expect(count(items, isPendingImmediately), submitted)
        return submitted
      }),
      ({ body }) => body.length,
    )
    const checked = withRegressionReport(deps.onRegression)
    this.#maxOutcomes = deps.maxOutcomes
    this.#onFinished = deps.onFinished
    this.#onCancelled = deps.onCancelled
    this.#acks = createBatcher(
      async (leases) => {
        const results = checked(leases, await tasks.ack(type, leases, deps.maxOutcomes))
        this.#leasesEnded(count(results, (result) => result === 'ok'))
        return results
      },
      ({ result }) => (result?.kind === 'json' ? result.text.length : 0),
      RESULTS_PER_CALL,
    )
    this.#releases = createBatcher(async (leases) => checked(leases, await tasks.release(type, leases)))
    const checkedExtends = withExtendRegressionReport(deps.onRegression)
    this.#extends = createBatcher(async (leases) => {
      const items = leases.map((lease) => ({ ...lease, visibilityMs }))
      return checkedExtends(leases, await tasks.extend(type, items))
    })
    this.#nacks = createBatcher(async (items) => checked(items, await tasks.nack(type, retry, items)))
  }

  get waiting(): number {
    return this.#dispatcher.waiting
  }

  /** @returns one result per task; an Error if its call of the store failed. @throws {FleetError} STORAGE_OVERLOADED */
  async submit(tasks: readonly NewTask[]): Promise<readonly (SubmitItemResult | Error)[]> {
    const outcomes = await this.#submits.addEach(tasks)
    if (tasks.some(({ unique }) => unique !== undefined)) this.#onFinished(outcomes.flatMap(replacedBy))
    if (!tasks.every(isPendingImmediately)) this.wake(1) // The dispatcher reads when the next task is due.
    return outcomes
  }

  async reserve(options: ReserveOptions): Promise<readonly Lease[]> {
    const { onLeases } = options
    const onMeasured = (leases: readonly Lease[]): boolean => {
      this.#latencies.leased(leases)
      return onLeases?.(leases) ?? true
    }
    const measured = onLeases === undefined ? options : { ...options, onLeases: onMeasured }
    const leases = await this.#dispatcher.reserve(measured)
    this.#latencies.leased(leases)
    return leases
  }

  async ack(leases: readonly DoneTask[]): Promise<readonly Settled[]> {
    const results = await this.#acks.add(leases)
    this.#latencies.ended(leases.filter((_, at) => results[at] === 'ok'))
    this.#onFinished(leases.map(({ id }) => id))
    return results
  }

  async release(leases: readonly LeaseRef[]): Promise<readonly Settled[]> {
    const outcomes = await this.#releases.addEach(leases)
    this.#latencies.dropped(leases)
    this.wake(count(outcomes, (outcome) => outcome === 'ok'))
    return allSucceeded(outcomes)
  }

  extend(leases: readonly LeaseExtension[]): Promise<readonly ExtendHoldResult[]> {
    return this.#extends.add(leases)
  }

  async nack(nacks: readonly NackOptions[]): Promise<readonly Nacked[]> {
    const outcomes = await this.#nacks.addEach(nacks.map((options) => ({ ...options, jitter: this.#random.unit() })))
    this.wake(count(outcomes, (outcome) => outcome === 'scheduled')) // The dispatcher reads when the next retry is due.
    this.#latencies.ended(nacks.filter((_, at) => isEnd(outcomes[at])))
    this.#leasesEnded(count(outcomes, (outcome) => outcome === 'dead'))
    this.#onFinished(nacks.filter((_, at) => outcomes[at] === 'dead').map(({ id }) => id))
    return allSucceeded(outcomes)
  }

  /** Replays at most `n` tasks, oldest death first. A task that dies again meanwhile is not replayed a second time. */
  async replay(n: number, replay?: string): Promise<number> {
    const { type } = this.entry
    const newestDeath = n > DEAD_PIECE ? await this.#tasks.newestDeath(type) : undefined
    let replayed = 0
    while (replayed < n) {
      const wanted = Math.min(DEAD_PIECE, n - replayed)
      const done = await this.#tasks.replay(type, wanted, newestDeath, replay)
      replayed += done
      this.wake(done)
      if (done < wanted) break
    }
    return replayed
  }

  /** Acts on exactly these dead tasks. @returns one outcome each, in order; `not_dead` for a repeated id. */
  async applyToDead(
    action: 'replay' | 'remove',
    ids: readonly string[],
    replay?: string,
  ): Promise<readonly Selected[]> {
    const outcomes = new Map<string, Selected>()
    const named = [...new Set(ids)]
    for (let from = 0; from < named.length; from += DEAD_PIECE) {
      const piece = named.slice(from, from + DEAD_PIECE)
      const done = await this.#tasks.applyToDead(this.entry.type, action, piece, replay)
      this.wake(count(done, (outcome) => outcome === 'replayed'))
      for (const [at, outcome] of done.entries()) outcomes.set(piece[at] ?? '', outcome)
    }
    return ids.map((id) => {
      const outcome = outcomes.get(id) ?? 'not_dead'
      outcomes.delete(id)
      return outcome
    })
  }

  /**
   * Replays or removes at most `most` tasks of a group, oldest death first.
   *
   * @returns `delayMs`: when the task after the last one would be due; 0 without a pace. `isComplete`: no task is left.
   */
  async applyToDeadGroup(
    { group, action, diedBeforeMs, pace, replay }: DeadGroupAction,
    most: number,
  ): Promise<{ readonly done: number; readonly isComplete: boolean; readonly delayMs: number }> {
    const delayOf = (index: number): number =>
      pace === undefined ? 0 : Math.round(pace.delayMs + index * pace.intervalMs)
    let done = 0
    while (done < most) {
      const paced = pace === undefined ? undefined : { ...pace, delayMs: delayOf(done) }
      const n = Math.min(DEAD_PIECE, most - done)
      const { type } = this.entry
      const acted = await this.#tasks
        .applyToDeadGroup(type, { group, action, diedBeforeMs, n, pace: paced, replay })
        .catch((error: unknown) => {
          if (done === 0) throw error
          return null // The earlier pieces count. The caller continues with the rest.
        })
      if (acted === null) break
      // After a paced replay the dispatcher reads when the next task is due.
      if (action === 'replay') this.wake(pace === undefined ? acted : Math.min(acted, 1))
      done += acted
      if (acted === 0) return { done, isComplete: true, delayMs: delayOf(done) }
    }
    return { done, isComplete: false, delayMs: delayOf(done) }
  }

  /** Replays a dead task with another body. @returns false if it is not dead since `diedAtMs`. */
  async replayEdited(id: string, diedAtMs: number, body: string): Promise<boolean> {
    const isReplayed = await this.#tasks.replayEdited(this.entry.type, id, diedAtMs, body)
    this.wake(isReplayed ? 1 : 0)
    return isReplayed
  }

  /** Removes exactly these tasks unless they are dead. @returns one result each, in order. */
  async cancel(ids: readonly string[], actor: string): Promise<readonly CancelResult[]> {
    const results = new Map<string, CancelResult>()
    const named = [...new Set(ids)]
    for (let from = 0; from < named.length; from += CANCEL_PIECE) {
      const piece = named.slice(from, from + CANCEL_PIECE)
      const done = await this.#tasks.cancel(this.entry.type, piece, actor, this.#maxOutcomes)
      for (const [at, result] of done.entries()) results.set(piece[at] ?? '', result)
      this.#onFinished(piece.filter((_, at) => done[at]?.kind === 'cancelled'))
      const ended = done.flatMap((result, at) => endedLease(piece[at] ?? '', result))
      this.#latencies.dropped(ended)
      if (ended.length > 0) this.#onCancelled(ended)
      this.#leasesEnded(ended.length)
    }
    return ids.map((id) => {
      const result = results.get(id) ?? NOT_FOUND
      results.delete(id)
      return result
    })
  }

  /** Reserves lease nothing from now on, and those that wait keep waiting (D106). */
  async pause(pause: NewPause): Promise<Pause> {
    const stored = await this.#tasks.pause(this.entry.type, pause)
    if (stored.untilMs !== null) this.wake() // The dispatcher knows only the end of the pause that this one replaces.
    return stored
  }

  /** @returns false if the queue was not paused. */
  async resume(): Promise<boolean> {
    const wasPaused = await this.#tasks.resume(this.entry.type)
    if (wasPaused) this.wake()
    return wasPaused
  }

  /** Wakes the dispatcher for the tasks that a sweep made ready. */
  swept({ requeued, promoted, dead }: Pick<SweepResult, 'requeued' | 'promoted' | 'dead'>): void {
    this.wake(requeued + promoted)
    this.#leasesEnded(dead)
  }

  wake(tasks?: number): void {
    if (tasks !== 0) this.#dispatcher.wake(tasks)
  }

  /** Wakes the dispatcher for tasks of another master. @param isChosen Whether only a few masters were woken. */
  probe(isChosen: boolean): void {
    this.#dispatcher.probe()
    if (!isChosen || this.#dispatcher.waiting > 0) return
    this.#bus.passWake(this.entry.type).catch(() => {}) // Each master with waiters looks within a second.
  }

  dismiss(worker: string): void {
    this.#dispatcher.dismiss(worker)
  }

  close(): void {
    this.#dispatcher.close()
  }

  /**
   * Wakes the dispatcher if each lease that ended may have made a task ready: one that its group could not start before
   * (D119).
   */
  #leasesEnded(leases: number): void {
    if (isBoundedInFlight(this.entry)) this.wake(leases)
  }

  /** Releases leases without a recipient. If this fails, they expire after the visibility timeout. */
  async #releaseUndelivered(leases: readonly LeaseRef[]): Promise<void> {
    await this.release(leases.map(({ id, token }) => ({ id, token }))).catch(() => {})
  }
}

/**
 * Repeats a failed call once after outputs were dropped from a full store: nothing of the first call was stored (D83).
 */
function withCapacityRetry<Item, Outcome>(
  makeCapacity: () => Promise<boolean>,
  call: (items: readonly Item[]) => Promise<readonly Outcome[]>,
) {
  return async (items: readonly Item[]): Promise<readonly Outcome[]> => {
    try {
      return await call(items)
    } catch (error) {
      if (!(error instanceof FleetError && error.code === 'STORAGE_FULL') || !(await makeCapacity())) throw error
      return call(items)
    }
  }
}

/** Reports tokens that the store never issued, and returns them to callers as lost leases. */
function withRegressionReport(onRegression: (lease: LeaseRef) => void) {
  return <Result>(
    leases: readonly LeaseRef[],
    results: readonly (Result | LeaseLost)[],
  ): readonly (Result | 'lease_lost')[] => {
    if (!results.includes('not_issued')) return results as readonly (Result | 'lease_lost')[]
    return results.map((result, at) => {
      const lease = leases[at]
      if (result !== 'not_issued') return result
      if (lease !== undefined) onRegression(lease)
      return 'lease_lost'
    })
  }
}

function endedLease(id: string, result: CancelResult): readonly CancelledLease[] {
  if (result.kind !== 'cancelled' || result.was !== 'in_flight') return []
  return [{ id, token: result.token, worker: result.worker }]
}

/** As `withRegressionReport`, for the results of extends. */
function withExtendRegressionReport(onRegression: (lease: LeaseRef) => void) {
  return (leases: readonly LeaseRef[], results: readonly ExtendLeaseResult[]): readonly ExtendHoldResult[] =>
    results.map((result, at) => {
      if (result.kind !== 'not_issued') return result
      const lease = leases[at]
      if (lease !== undefined) onRegression(lease)
      return EXTEND_LOST.lease_lost
    })
}

/** The id of the task that this submit cancelled. */
function replacedBy(outcome: SubmitItemResult | Error): readonly string[] {
  if (outcome instanceof Error || outcome.kind !== 'queued') return []
  return outcome.replaced === undefined ? [] : [outcome.replaced]
}

/** Whether a nack counted. */
const isEnd = (outcome: Nacked | Error | undefined): boolean => outcome === 'scheduled' || outcome === 'dead'

const isPendingImmediately = ({ notBeforeMs }: NewTask): boolean => notBeforeMs === undefined

function count<T>(items: readonly T[], matches: (item: T) => boolean): number {
  let found = 0
  for (const item of items) if (matches(item)) found += 1
  return found
}
