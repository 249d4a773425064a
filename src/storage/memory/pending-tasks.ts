/**
 * @module storage/memory/pending-tasks
 * PendingTasks keeps the pending tasks of one type in the order of their tiers, and by group while the type has a group
 * policy. The groups then decide what is leased next; the tiers still have all tasks, for counts and lists.
 */
import { TaskGroups } from './task-groups.ts'
import { Tiers } from './tiers.ts'
import type { Counts, GroupPolicy, GroupRow, Tier } from '../index.ts'
import type { Store } from './store.ts'
import type { Task } from './task.ts'

export class PendingTasks {
  readonly tiers = new Tiers()
  readonly #store: Store
  /** Null without a group policy. */
  #groups: TaskGroups | null = null
  /** The times of the rates of groups while there is no policy. */
  #tats: readonly (readonly [string, number])[] = []

  constructor(store: Store) {
    this.#store = store
  }

  get count(): number {
    const [high, normal, low] = this.tiers.lengths
    return high + normal + low
  }

  /** The task that is next; undefined if none may be leased. */
  first(): Task | undefined {
    return this.#groups === null ? this.tiers.first() : this.#groups.first()
  }

  push(task: Task, tier: Tier): void {
    this.tiers.push(task, tier)
    this.#groups?.push(task)
  }

  unshift(task: Task, tier: Tier): void {
    this.tiers.unshift(task, tier)
    this.#groups?.unshift(task)
  }

  /** Removes any pending task that is not leased. */
  remove(task: Task): void {
    this.tiers.remove(task)
    this.#groups?.remove(task)
  }

  /** Removes the task that `first` returned, because it is leased. */
  lease(task: Task): void {
    if (this.#groups === null) {
      this.tiers.shift(task)
      return
    }
    this.tiers.remove(task)
    this.#groups.lease(task)
  }

  /** Call once for each lease that ends. @param isLost Its deadline has passed. */
  endLease(task: Task, isLost: boolean): void {
    if (!isLost || this.#store.safeguards.groupLeaseLost) this.#groups?.endLease(task)
  }

  /** When a group may start its next task by its rate; null if no group with pending tasks waits for that. */
  nextStart(): number | null {
    return this.#groups?.nextStartAtMs() ?? null
  }

  /** @param inFlight The leased tasks; read only if the type had no policy. */
  setGroupPolicy(policy: GroupPolicy | null, inFlight: () => Iterable<Task>): void {
    if (policy !== null && this.#groups !== null) {
      this.#groups.setPolicy(policy)
      return
    }
    if (this.#groups !== null) this.#tats = [...this.#groups.tats()]
    this.#groups = null
    if (policy === null) return
    const present = { pending: this.tiers.tasks(), inFlight: inFlight() }
    this.#groups = new TaskGroups(policy, present, this.#tats, this.#store)
  }

  /** The counts of groups; none without a policy. */
  groupTotals(): Pick<Counts, 'groups'> {
    return this.#groups === null ? {} : { groups: this.#groups.totals() }
  }

  groupRows(limit: number): readonly GroupRow[] {
    return this.#groups?.rows(limit) ?? []
  }
}
