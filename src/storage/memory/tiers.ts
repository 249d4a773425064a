/**
 * @module storage/memory/tiers
 * Keeps the pending tasks of one type: one ring per tier, first in, first out. A cancelled task stays in its ring,
 * because removing it takes time in proportion to the queue. It is skipped when it reaches the front; once most of a
 * ring is skipped tasks, they are removed together, so a cancel takes constant time on average.
 */
import { Ring } from './ring.ts'
import type { Task } from './task.ts'
import type { Tier } from '../index.ts'

/** Skipped tasks up to which a ring is left as it is. */
const MIN_SKIPPED = 64

/** A pending task and its position in the ring of its tier. */
interface PlacedTask {
  readonly task: Task
  readonly at: number
}
interface Line {
  readonly ring: Ring<Task>
  /** Cancelled tasks in the ring. None of them is at its front. */
  skipped: number
}

const createLine = (): Line => ({ ring: new Ring(), skipped: 0 })
const lengthOf = ({ ring, skipped }: Line): number => ring.length - skipped

export class Tiers {
  readonly #lines: readonly [Line, Line, Line] = [createLine(), createLine(), createLine()]

  /** Pending tasks by tier. */
  get lengths(): [number, number, number] {
    const [high, normal, low] = this.#lines
    return [lengthOf(high), lengthOf(normal), lengthOf(low)]
  }

  /** The task next in line. */
  first(): Task | undefined {
    const [high, normal, low] = this.#lines
    return high.ring.at(0) ?? normal.ring.at(0) ?? low.ring.at(0)
  }

  /** Removes the task that `first` returned. */
  shift({ line }: Task): void {
    this.#lines[line].ring.shift()
    this.#clearFront(this.#lines[line])
  }

  push(task: Task, tier: Tier): void {
    task.line = tier
    this.#lines[tier].ring.push(task)
  }

  unshift(task: Task, tier: Tier): void {
    task.line = tier
    this.#lines[tier].ring.unshift(task)
  }

  /** Skips a task that is cancelled now. */
  skip({ line: tier }: Task): void {
    const line = this.#lines[tier]
    line.skipped += 1
    this.#clearFront(line)
    if (line.skipped <= MIN_SKIPPED || line.skipped * 2 < line.ring.length) return
    line.ring.retain(isPending)
    line.skipped = 0
  }

  /** The first task of each tier that has one. */
  heads(): readonly Task[] {
    return this.#lines.flatMap(({ ring }) => ring.at(0) ?? [])
  }

  /** All pending tasks, next in line first. */
  *tasks(): Generator<Task> {
    for (const { ring } of this.#lines) {
      for (let i = 0; i < ring.length; i += 1) {
        const task = ring.at(i)
        if (task !== undefined && isPending(task)) yield task
      }
    }
  }

  /**
   * Lists pending tasks of one tier.
   *
   * @param tier Any number: a cursor comes from a client.
   * @param from A position in the ring of the tier; cancelled tasks have positions too.
   * @returns the tasks at this and the next positions, `limit` in all, each with its position; and whether positions
   *   are left.
   */
  page(tier: number, from: number, limit: number): { readonly found: readonly PlacedTask[]; readonly more: boolean } {
    const ring = this.#lines[tier]?.ring
    const found: PlacedTask[] = []
    if (ring === undefined || from < 0) return { found, more: false }
    const end = Math.min(from + limit, ring.length)
    for (let at = from; at < end; at += 1) {
      const task = ring.at(at)
      if (task !== undefined && isPending(task)) found.push({ task, at })
    }
    return { found, more: end < ring.length }
  }

  #clearFront(line: Line): void {
    for (let task = line.ring.at(0); task !== undefined && !isPending(task); task = line.ring.at(0)) {
      line.ring.shift()
      line.skipped -= 1
    }
  }
}

const isPending = ({ place }: Task): boolean => place !== 'cancelled'
