/**
 * @module storage/memory/dead-letters
 * Keeps the dead tasks of one type, oldest death first. A map finds one by id and a doubly linked list keeps the order,
 * so removing any of them takes constant time. (A Map alone keeps the order too, but iterating skips over deleted
 * entries.)
 */
import { sizeOf } from './task.ts'
import type { Task } from './task.ts'

interface Node {
  readonly task: Task
  readonly death: number
  previous: Node | null
  next: Node | null
}

export class DeadLetters {
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
    const node: Node = { task, death: this.#deaths, previous: this.#last, next: null }
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
    this.#nodes.delete(task.id)
    this.#chars -= charsOf(task)
  }

  clear(): void {
    this.#nodes = new Map()
    this.#first = null
    this.#last = null
    this.#chars = 0
  }

  /** Those that died after death number `death`, oldest first. */
  *after(death: number): Generator<Task> {
    for (let node = this.#first; node !== null; node = node.next) if (node.death > death) yield node.task
  }

  /** The death number of a dead task; 0 for another one. */
  numberOf(task: Task): number {
    return this.#nodes.get(task.id)?.death ?? 0
  }

  /** The death number of `task`, if further tasks died after it. */
  next(task: Task | undefined): number | undefined {
    const node = task === undefined ? undefined : this.#nodes.get(task.id)
    return node === undefined || node.next === null ? undefined : node.death
  }
}

const charsOf = (task: Task): number => sizeOf(task) + (task.lastError?.length ?? 0)
