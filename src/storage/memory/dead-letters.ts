/**
 * @module storage/memory/dead-letters
 * Keeps the dead tasks of one type, oldest death first. A map finds one by id and a doubly linked list keeps the order,
 * so removing any of them takes constant time. (A Map alone keeps the order too, but iterating skips over deleted
 * entries.) A second pair of links keeps the order within each group of errors (D157).
 */
import { DeadGroupCounts, errorGroup } from '../index.ts'
import { sizeOf } from './task.ts'
import type { Task } from './task.ts'

interface Node {
  readonly task: Task
  readonly death: number
  readonly group: string
  previous: Node | null
  next: Node | null
  /** In its group. */
  older: Node | null
  newer: Node | null
}

/** The ends of a group. */
interface Ends {
  oldest: Node
  newest: Node
}

export class DeadLetters {
  readonly counts = new DeadGroupCounts()
  readonly #groups = new Map<string, Ends>()
  #nodes = new Map<string, Node>()
  #first: Node | null = null
  #last: Node | null = null
  #chars = 0
  /** Deaths so far. */
  #deaths = 0

  get size(): number {
    return this.#nodes.size
  }

  /** Characters of all dead tasks, with the allowance per record. */
  get chars(): number {
    return this.#chars
  }

  get(id: string): Task | undefined {
    return this.#nodes.get(id)?.task
  }

  /** The oldest one, if its death number is at most `until`. */
  first(until: number): Task | undefined {
    return this.#first !== null && this.#first.death <= until ? this.#first.task : undefined
  }

  /** The death number of the newest one, also after it was removed. */
  get deaths(): number {
    return this.#deaths
  }

  add(task: Task): void {
    this.#deaths += 1
    const group = this.counts.groupFor(errorGroup(task.lastError ?? ''))
    const node: Node = {
      task,
      death: this.#deaths,
      group,
      previous: this.#last,
      next: null,
      older: this.#groups.get(group)?.newest ?? null,
      newer: null,
    }
    this.#addToGroup(node)
    if (this.#last === null) this.#first = node
    else this.#last.next = node
    this.#last = node
    this.#nodes.set(task.id, node)
    this.#chars += charsOf(task)
  }

  remove(task: Task): void {
    const node = this.#nodes.get(task.id)
    if (node === undefined) return
    if (node.previous === null) this.#first = node.next
    else node.previous.next = node.next
    if (node.next === null) this.#last = node.previous
    else node.next.previous = node.previous
    this.#removeFromGroup(node)
    this.#nodes.delete(task.id)
    this.#chars -= charsOf(task)
  }

  clear(): void {
    this.#nodes = new Map()
    this.#first = null
    this.#last = null
    this.#chars = 0
    this.#groups.clear()
    this.counts.clear()
  }

  /** Those that died after death number `death`, oldest first. */
  *after(death: number): Generator<Task> {
    for (let node = this.#first; node !== null; node = node.next) if (node.death > death) yield node.task
  }

  /** The tasks of a group, or all for `null`, that died before death number `death`, newest first. */
  *before(death: number, group: string | null = null): Generator<Task> {
    const newest = group === null ? this.#last : (this.#groups.get(group)?.newest ?? null)
    for (let node = newest; node !== null; node = group === null ? node.previous : node.older)
      if (node.death < death) yield node.task
  }

  /** The oldest task of a group. */
  oldestOf(group: string): Task | undefined {
    return this.#groups.get(group)?.oldest.task
  }

  /** The death number of a dead task; 0 for another one. */
  numberOf(task: Task): number {
    return this.#nodes.get(task.id)?.death ?? 0
  }

  #addToGroup(node: Node): void {
    const { group, older, task } = node
    this.counts.add(group, task.diedAtMs)
    if (older !== null) older.newer = node
    const ends = this.#groups.get(group)
    if (ends === undefined) this.#groups.set(group, { oldest: node, newest: node })
    else ends.newest = node
  }

  #removeFromGroup({ group, older, newer, task }: Node): void {
    this.counts.remove(group, task.diedAtMs)
    if (older !== null) older.newer = newer
    if (newer !== null) newer.older = older
    const oldest = older === null ? newer : this.#groups.get(group)?.oldest
    const newest = newer === null ? older : this.#groups.get(group)?.newest
    if (oldest == null || newest == null) this.#groups.delete(group)
    else this.#groups.set(group, { oldest, newest })
  }

  /** The death number of `task`, if further tasks died after it. */
  next(task: Task | undefined): number | undefined {
    const node = task === undefined ? undefined : this.#nodes.get(task.id)
    return node === undefined || node.next === null ? undefined : node.death
  }
}

const charsOf = (task: Task): number => sizeOf(task) + (task.lastError?.length ?? 0)
