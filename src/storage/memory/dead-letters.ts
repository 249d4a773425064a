/**
 * @module storage/memory/dead-letters
 * The dead tasks of one type, oldest death first: a map for finding one, a doubly linked list for the order, so that
 * taking any of them is one step. (A Map alone keeps the order too, but walks over what was deleted in front.)
 */
import { sizeOf } from './task.ts'
import type { Task } from './task.ts'

interface Node {
  readonly task: Task
  previous: Node | null
  next: Node | null
}

export class DeadLetters {
  #nodes = new Map<string, Node>()
  #first: Node | null = null
  #last: Node | null = null
  #chars = 0

  get size(): number {
    return this.#nodes.size
  }

  /** What they hold, counted. */
  get chars(): number {
    return this.#chars
  }

  get(id: string): Task | undefined {
    return this.#nodes.get(id)?.task
  }

  first(): Task | undefined {
    return this.#first?.task
  }

  add(task: Task): void {
    const node: Node = { task, previous: this.#last, next: null }
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

  *[Symbol.iterator](): Generator<Task> {
    for (let node = this.#first; node !== null; node = node.next) yield node.task
  }
}

const charsOf = (task: Task): number => sizeOf(task) + (task.lastError?.length ?? 0)
