/**
 * @module storage/memory/dead-tasks
 * Lists, replays and removes dead tasks, one by one, in the order of their deaths, and by groups of errors (D157).
 */
import { MAX_RESPONSE_BYTES } from '../../protocol/index.ts'
import {
  attemptsOf,
  charsOfAttempts,
  exampleError,
  GROUP_DEATHS_READ,
  listCursor,
  pacedDueMs,
  takeWithin,
  workerOfDeath,
  workersOfDeaths,
} from '../index.ts'
import { valueOf } from './store.ts'
import { TaskQueue } from './task-queue.ts'
import type {
  DeadGroup,
  DeadGroups,
  DeadLetters,
  DeadPage,
  DeadRow,
  NewestDead,
  ReplayCounts,
  DeadGroupAct,
  Replays,
  Sync,
} from '../index.ts'
import type { Store } from './store.ts'
import type { Task } from './task.ts'

export class MemoryDeadTasks implements Sync<DeadLetters & DeadGroups & Replays> {
  readonly #store: Store
  readonly #queues = new Map<string, TaskQueue>()

  constructor(store: Store) {
    this.#store = store
  }

  dead(type: string, n: number, bytes = MAX_RESPONSE_BYTES, after = 0): DeadPage {
    const { dead } = this.of(type)
    const shown = takeWithin(dead.after(after), charsOfDead, bytes, n)
    const next = shown.length < n ? dead.next(shown.at(-1)) : undefined // Further tasks, so the bytes ended it.
    return { length: dead.size, items: shown.map(deadRow), ...(next !== undefined && { next }) }
  }

  replay(type: string, n: number, until = Infinity, replay?: string): number {
    const queue = this.#opened(type, replay)
    for (let replayed = 0; replayed < n; replayed += 1) {
      const task = queue.dead.first(until)
      if (task === undefined) return replayed
      queue.replay(task, { replay })
    }
    return n
  }

  newestDeath(type: string): number {
    return this.of(type).dead.deaths
  }

  clearDead(type: string): number {
    return this.of(type).clearDead()
  }

  applyToDead(
    type: string,
    action: 'replay' | 'remove',
    ids: readonly string[],
    replay?: string,
  ): readonly ('replayed' | 'removed' | 'not_dead')[] {
    const queue = this.#opened(type, replay)
    return ids.map((id) => {
      const task = queue.dead.get(id)
      if (task === undefined) return 'not_dead'
      if (action === 'replay') queue.replay(task, { replay })
      else queue.removeDead(task)
      return action === 'replay' ? 'replayed' : 'removed'
    })
  }

  deadGroups(type: string): readonly DeadGroup[] {
    const { dead } = this.of(type)
    const nowMs = this.#store.now()
    const found = dead.counts.counts().flatMap(([group, count]) => {
      const newest = takeWithin(dead.before(Infinity, group), () => 0, 0, GROUP_DEATHS_READ)
      const [oldest, example] = [dead.oldestOf(group), newest[0]]
      if (oldest === undefined || example === undefined) return []
      const row: DeadGroup = {
        group,
        count,
        firstDiedAtMs: oldest.diedAtMs,
        lastDiedAtMs: example.diedAtMs,
        trend: dead.counts.trend(group, nowMs),
        workers: workersOfDeaths(newest.map(({ attempts }) => workerOfDeath(attempts))),
        example: { id: example.id, lastError: exampleError(example.lastError ?? '') },
      }
      return [{ row, death: dead.numberOf(example) }]
    })
    return found.toSorted((a, b) => b.death - a.death).map(({ row }) => row)
  }

  /** The store is new at each start, so no other release has used it. */
  groupDead(): boolean {
    return false
  }

  newestDead(
    type: string,
    group: string | null,
    before: string | null,
    n: number,
    bytes = MAX_RESPONSE_BYTES,
  ): NewestDead {
    const { dead } = this.of(type)
    const death = before === null ? Infinity : listCursor(before)[1]
    const shown = takeWithin(dead.before(death, group), charsOfDead, bytes, n)
    const last = shown.at(-1)
    const lastDeath = last === undefined ? 0 : dead.numberOf(last)
    const isLast = dead.before(lastDeath, group).next().done === true
    return { items: shown.map(deadRow), next: isLast ? null : `${last?.diedAtMs}:${lastDeath}` }
  }

  applyToDeadGroup(type: string, { group, action, diedBeforeMs, n, pace, replay }: DeadGroupAct): number {
    const queue = this.#opened(type, replay)
    for (let done = 0; done < n; done += 1) {
      const task = queue.dead.oldestOf(group)
      if (task === undefined || task.diedAtMs >= diedBeforeMs) return done
      if (action === 'remove') queue.removeDead(task)
      else queue.replay(task, { replay, dueAtMs: pace && pacedDueMs(this.#store.now(), pace, done) })
    }
    return n
  }

  deadTask(type: string, id: string): DeadRow | null {
    const task = this.of(type).dead.get(id)
    return task === undefined ? null : deadRow(task)
  }

  replayEdited(type: string, id: string, diedAtMs: number, body: string): boolean {
    const queue = this.of(type)
    const task = queue.dead.get(id)
    if (task?.diedAtMs !== diedAtMs) return false
    queue.replay(task, { body })
    return true
  }

  replayCounts(type: string, replays: readonly string[]): readonly (ReplayCounts | null)[] {
    return replays.map((replay) => this.of(type).replays.get(replay))
  }

  forgetReplays(type: string, replays: readonly string[]): void {
    for (const replay of replays) this.of(type).replays.forget(replay)
  }

  #opened(type: string, replay: string | undefined): TaskQueue {
    const queue = this.of(type)
    if (replay !== undefined) queue.replays.open(replay)
    return queue
  }

  protected of(type: string): TaskQueue {
    return valueOf(this.#queues, type, () => new TaskQueue(this.#store))
  }
}

function deadRow({ id, attempt, body, max, lastError, diedAtMs, attempts }: Task): DeadRow {
  return { id, attempt, maxAttempts: max, lastError, diedAtMs, body, ...attemptsOf(attempts) }
}

const charsOfDead = ({ id, body, lastError, attempts }: Task): number =>
  id.length + body.length + (lastError?.length ?? 0) + charsOfAttempts(attempts)
