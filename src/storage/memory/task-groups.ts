/**
 * @module storage/memory/task-groups
 * TaskGroups keeps the pending tasks of a type with a group policy by group: a linked list for each tier of a group, so
 * that any of them can be removed in constant time. Which group is next, the {@link GroupSchedule} decides.
 */
import { GroupSchedule } from '../index.ts'
import { valueOf } from './store.ts'
import type { GroupCounts, GroupPolicy, GroupRow, GroupTotals } from '../index.ts'
import type { Safeguards } from './store.ts'
import type { Task } from './task.ts'

/** The place of a pending task in the list of its tier. */
export interface GroupNode {
  readonly task: Task
  previous: GroupNode | null
  next: GroupNode | null
}

interface List {
  first: GroupNode | null
  last: GroupNode | null
}
type Lists = readonly [List, List, List]

/** The tasks that are in a type when it gets its policy. */
interface PresentTasks {
  /** In the order in which they would be leased. */
  readonly pending: Iterable<Task>
  readonly inFlight: Iterable<Task>
}

const createList = (): List => ({ first: null, last: null })
const createLists = (): Lists => [createList(), createList(), createList()]

export class TaskGroups {
  readonly #safeguards: Safeguards
  readonly #now: () => number
  readonly #schedule: GroupSchedule
  readonly #lists = new Map<string, Lists>()

  /** @param tats The times of the rates, as an earlier one returned them. */
  constructor(
    policy: GroupPolicy,
    { pending, inFlight }: PresentTasks,
    tats: Iterable<readonly [string, number]>,
    { now, safeguards }: { readonly now: () => number; readonly safeguards: Safeguards },
  ) {
    this.#safeguards = safeguards
    this.#now = now
    const counts: GroupCounts[] = []
    for (const task of pending) {
      this.#append(task)
      counts.push({ name: task.group, pending: 1, inFlight: 0 })
    }
    for (const { group } of inFlight) counts.push({ name: group, pending: 0, inFlight: 1 })
    this.#schedule = new GroupSchedule(policy, counts, tats, now())
  }

  setPolicy(policy: GroupPolicy): void {
    this.#schedule.setPolicy(policy, this.#now())
  }

  tats(): Iterable<readonly [string, number]> {
    return this.#schedule.tats(this.#now())
  }

  /** The task that is next; undefined if no group is ready. */
  first(): Task | undefined {
    const name = this.#schedule.first(this.#now())
    const lists = name === undefined ? undefined : this.#lists.get(name)
    return lists?.find(({ first }) => first !== null)?.first?.task
  }

  nextStartAtMs(): number | null {
    return this.#schedule.nextStartAtMs(this.#now())
  }

  rows(limit: number): readonly GroupRow[] {
    return this.#schedule.rows(limit, this.#now())
  }

  totals(): GroupTotals {
    return this.#schedule.totals(this.#now())
  }

  push(task: Task): void {
    this.#append(task)
    this.#schedule.add(task.group, this.#now())
  }

  unshift(task: Task): void {
    const list = this.#listOf(task)
    const node: GroupNode = { task, previous: null, next: list.first }
    if (list.first === null) list.last = node
    else list.first.previous = node
    list.first = node
    task.node = node
    this.#schedule.add(task.group, this.#now())
  }

  /** Removes a pending task that is not leased. */
  remove(task: Task): void {
    this.#unlink(task)
    this.#schedule.remove(task.group, this.#now())
  }

  /** Removes the task that `first` returned, because it is leased. */
  lease(task: Task): void {
    this.#unlink(task)
    this.#schedule.lease(task.group, this.#now(), this.#safeguards.groupTurns)
  }

  endLease({ group }: Task): void {
    this.#schedule.endLease(group, this.#now())
  }

  #append(task: Task): void {
    const list = this.#listOf(task)
    const node: GroupNode = { task, previous: list.last, next: null }
    if (list.last === null) list.first = node
    else list.last.next = node
    list.last = node
    task.node = node
  }

  #unlink(task: Task): void {
    const { node } = task
    if (node === null) throw new TypeError(`the task ${task.id} is not in its group`)
    const list = this.#listOf(task)
    if (node.previous === null) list.first = node.next
    else node.previous.next = node.next
    if (node.next === null) list.last = node.previous
    else node.next.previous = node.previous
    task.node = null
    const isEmpty = this.#lists.get(task.group)?.every(({ first }) => first === null)
    if (isEmpty === true) this.#lists.delete(task.group)
  }

  #listOf({ group, line }: Task): List {
    return valueOf(this.#lists, group, createLists)[line]
  }
}
