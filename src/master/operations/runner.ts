/**
 * @module master/operations/runner
 * OperationRunner carries out the operations of all types, a step a second, on the leading master.
 *
 *   each second ──▶ read the heads ──▶ take over ──▶ judge active workers ──▶ stop? ──▶ begin the next ──▶ store
 *
 * It keeps nothing but the pace in memory, so that after a restart, and after a change of the leader, the next master
 * continues from what is stored. A master that was stalled and is replaced cannot store its step (the owner of the
 * operation is another one), and what it did to workers is recognised by the next one.
 * @see D190
 */
import { TokenBucket, type Cancel, type Clock, type Timers } from '../../runtime/index.ts'
import { hasEnded, isOver, type Operation, type OperationStore } from './operation-store.ts'
import type { OperationMetrics } from './operation-metrics.ts'
import type { StoredHead } from './stored.ts'
import { Work } from './work.ts'
import type { WorkerSteps } from './worker-steps.ts'

const STEP_EVERY_MS = 1_000
/** While nothing runs, the heads are read every third second: another master may have created an operation. */
const IDLE_STEPS = 3
/** Dead tasks that one step replays at most: the most that `per_second` allows. */
const MAX_REPLAYED = 1_000

export interface RunnerDeps {
  readonly store: OperationStore
  readonly types: readonly string[]
  readonly masterId: string
  readonly clock: Clock
  readonly timers: Timers
  readonly isLeader: () => boolean
  readonly metrics: Pick<OperationMetrics, 'observe' | 'count' | 'countReplayed'>
  readonly patch: WorkerSteps
  readonly drain: WorkerSteps
  /** Replays up to `n` dead tasks of a group, or of all. @returns how many, and whether none is left. */
  readonly replay: (
    type: string,
    of: { readonly group: string | null; readonly beforeMs: number; readonly operation: string },
    n: number,
  ) => Promise<{ readonly done: number; readonly isComplete: boolean }>
  /** `what` completes "failed to …". */
  readonly onFailed: (what: string, error: unknown) => void
}

export class OperationRunner {
  readonly #deps: RunnerDeps
  /** By operation. */
  readonly #paces = new Map<string, TokenBucket>()
  #cancel: Cancel = () => {}
  #running: Promise<void> | null = null
  #idle = 0

  constructor(deps: RunnerDeps) {
    this.#deps = deps
  }

  start(): void {
    this.#cancel = this.#deps.timers.every(STEP_EVERY_MS, () => this.#begin())
  }

  /** Resolves when the current step has ended. */
  async stop(): Promise<void> {
    this.#cancel()
    await this.#running
  }

  /** Takes the next step without a pause for idleness. To be called after an operation was created. */
  wake(): void {
    this.#idle = 0
  }

  #begin(): void {
    if (!this.#deps.isLeader() || (this.#idle > 0 && this.#idle % IDLE_STEPS !== 0)) {
      this.#idle += 1
      return
    }
    this.#running ??= this.#step().finally(() => (this.#running = null)) // A slow step is not taken twice.
  }

  async #step(): Promise<void> {
    const { metrics, store, types, onFailed } = this.#deps
    try {
      const open = (await store.list(types)).filter((operation) => !isOver(operation))
      metrics.observe(open)
      this.#idle = open.length === 0 ? this.#idle + 1 : 0
      const ids = new Set(open.map(({ id }) => id))
      for (const id of this.#paces.keys()) if (!ids.has(id)) this.#paces.delete(id)
      await Promise.all(
        open.map((each) =>
          this.#advance(each).catch((error: unknown) => onFailed(`carry out an operation of ${each.type}`, error)),
        ),
      )
    } catch (error) {
      onFailed('read the operations', error)
    }
  }

  async #advance(found: Operation): Promise<void> {
    const operation = await this.#owned(found)
    if (operation === null) return
    const { kind } = operation.head
    if (kind === 'replay') return this.#replay(operation)
    await this.#advanceWorkers(operation, kind === 'patch' ? this.#deps.patch : this.#deps.drain)
  }

  /** Takes the operation over. @returns null if it has ended meanwhile. */
  async #owned(operation: Operation): Promise<Operation | null> {
    const { masterId, store } = this.#deps
    if (operation.head.owner === masterId) return operation
    return store.update(operation, (head) => (isOver({ head }) ? null : { ...head, owner: masterId }))
  }

  async #advanceWorkers(operation: Operation, steps: WorkerSteps): Promise<void> {
    const { masterId, clock, metrics, store } = this.#deps
    const { head } = operation
    const work = new Work(store, operation)
    const active = work.active
    if (active.length > 0) work.replace(active, await steps.judge(operation, await work.items(active)))
    const room = Math.max(0, head.parallel - work.active.length)
    if (!hasEnded(head.state) && work.stopReason() === null && room > 0) {
      const positions = await work.pending(this.#take(operation, room))
      if (positions.length > 0) work.replace(positions, await steps.begin(operation, await work.items(positions)))
    }
    metrics.count(operation, await work.commit(masterId, clock.wallMs()))
  }

  async #replay(operation: Operation): Promise<void> {
    const { clock, masterId, metrics, replay, store } = this.#deps
    const { head, type } = operation
    const n = this.#take(operation, MAX_REPLAYED)
    if (hasEnded(head.state) || n === 0) return
    const of = { group: head.group, beforeMs: head.beforeMs ?? 0, operation: operation.id }
    const { done, isComplete } = await replay(type, of, n)
    metrics.countReplayed(operation, done)
    if (done === 0 && !isComplete) return
    await store.update(operation, (latest) => {
      if (latest.owner !== masterId) return null
      const next = replayed(latest, done)
      return isComplete && !hasEnded(latest.state) ? { ...next, state: 'done', endedMs: clock.wallMs() } : next
    })
  }

  /** @returns how many may begin now, at most `limit`. */
  #take({ id, head: { perSecond } }: Operation, limit: number): number {
    const pace =
      this.#paces.get(id) ?? new TokenBucket(this.#deps.clock, { capacity: Math.max(1, perSecond), perSecond })
    this.#paces.set(id, pace)
    let taken = 0
    while (taken < limit && pace.take()) taken += 1
    return taken
  }
}

/** Tasks that something else replayed or removed meanwhile stay pending, also at the end. */
function replayed(head: StoredHead, done: number): StoredHead {
  const { counts } = head
  return {
    ...head,
    total: Math.max(head.total, counts.done + done),
    counts: { ...counts, done: counts.done + done, pending: Math.max(0, counts.pending - done) },
  }
}
