/**
 * @module storage/memory/tiers
 * Keeps the pending tasks of one type: one ring per tier, first in, first out. A task that is removed from the middle
 * leaves a gap in its ring, because moving the others takes time in proportion to the queue. Once most of a ring is
 * gaps, they are removed together, so a cancel, or a lease in the order of groups, takes constant time on average.
 */
import { Ring } from './ring.ts'
import type { Task } from './task.ts'
import type { Tier } from '../index.ts'

/** Gaps up to which a ring is left as it is. */
const MIN_GAPS = 64

/** A pending task and its position in the ring of its tier. */
interface PlacedTask {
  readonly task: Task
  readonly at: number
}
interface Line {
  readonly ring: Ring<Task>
  /** The number `Task.at` of the front. */
  front: number
  /** Gaps in the ring. None of them is at its front. */
  gaps: number
}

const createLine = (): Line => ({ ring: new Ring(), front: 0, gaps: 0 })
const lengthOf = ({ ring, gaps }: Line): number => ring.length - gaps

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
  shift({ line: tier }: Task): void {
    const line = this.#lines[tier]
    line.ring.shift()
    line.front += 1
    clearFront(line)
  }

  push(task: Task, tier: Tier): void {
    const line = this.#lines[tier]
    task.line = tier
    task.at = line.front + line.ring.length
    line.ring.push(task)
  }

  unshift(task: Task, tier: Tier): void {
    const line = this.#lines[tier]
    line.front -= 1
    task.line = tier
    task.at = line.front
    line.ring.unshift(task)
  }

  /** Removes any pending task. */
  remove({ line: tier, at }: Task): void {
    const line = this.#lines[tier]
    line.ring.clear(at - line.front)
    line.gaps += 1
    clearFront(line)
    if (line.gaps > MIN_GAPS && line.gaps * 2 >= line.ring.length) closeGaps(line)
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
        if (task !== undefined) yield task
      }
    }
  }

  /**
   * Lists pending tasks of one tier.
   *
   * @param tier Any number: a cursor comes from a client.
   * @param from A position in the ring of the tier; gaps have positions too.
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
      if (task !== undefined) found.push({ task, at })
    }
    return { found, more: end < ring.length }
  }
}

/** Removes the gaps at the front. */
function clearFront(line: Line): void {
  while (line.gaps > 0 && line.ring.at(0) === undefined) {
    line.ring.shift()
    line.front += 1
    line.gaps -= 1
  }
}

function closeGaps(line: Line): void {
  line.ring.compact()
  line.gaps = 0
  line.front = 0
  for (let at = 0; at < line.ring.length; at += 1) {
    const task = line.ring.at(at)
    if (task !== undefined) task.at = at
  }
}
