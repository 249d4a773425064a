/**
 * @module worker-test/reserves
 * Holds the queue of a {@link Peer}, and the reserves of its worker that wait for tasks: long polls, which end with
 * their first tasks, and streams, which end when their limit is used (D125).
 */
import type { Socket } from 'node:net'
import { systemTime } from '../runtime/index.ts'
import type { WireTask } from './records.ts'

/** A stream gets its tasks in several lines. */
const TASKS_PER_LINE = 2

interface LeasedTask {
  readonly token: number
}
interface Waiter {
  /** A later reserve with the same id ends this one; undefined: none does. */
  readonly pollId: unknown
  /** How many tasks it may still get. */
  left: number
  readonly isStream: boolean
  readonly give: (tasks: readonly LeasedTask[]) => void
  readonly end: () => void
}

export class Reserves {
  /** Tasks that no reserve has got, in order. */
  readonly pending: WireTask[] = []
  readonly #waiting = new Set<Waiter>()
  readonly #lease: (task: WireTask) => LeasedTask
  #isStopped = false

  constructor(lease: (task: WireTask) => LeasedTask) {
    this.#lease = lease
  }

  /** Adds tasks, which waiting reserves get immediately. */
  queue(...tasks: readonly WireTask[]): void {
    this.pending.push(...tasks)
    this.#serveWaiting()
  }

  /** Ends all reserves, and each later one when it arrives. */
  stop(): void {
    this.#isStopped = true
    for (const { end } of this.#waiting) end()
  }

  /**
   * Serves a reserve until it has ended, or its connection has. @param onTasks Receives the tasks of a stream as they
   * are leased. @returns the tasks of a long poll.
   */
  async serve(
    params: Readonly<Record<string, unknown>>,
    socket: Socket,
    onTasks?: (tasks: readonly LeasedTask[]) => void,
  ): Promise<readonly LeasedTask[]> {
    const { limit, poll_id: pollId, stream, wait_ms: waitMs } = params
    const tasks: LeasedTask[] = []
    if (this.#isStopped) return tasks
    for (const each of this.#waiting) if (pollId !== undefined && each.pollId === pollId) each.end()
    await new Promise<void>((resolve) => {
      const end = (): void => {
        cancel()
        this.#waiting.delete(waiter)
        socket.off('close', end)
        resolve()
      }
      const isStream = stream === true && onTasks !== undefined
      const give = isStream ? onTasks : (given: readonly LeasedTask[]): void => void tasks.push(...given)
      const waiter: Waiter = { pollId, left: limit as number, isStream, give, end }
      const cancel = systemTime.after((waitMs as number | undefined) ?? 0, end)
      socket.setMaxListeners(0).once('close', end)
      this.#waiting.add(waiter)
      this.#serveWaiting()
    })
    return tasks
  }

  #serveWaiting(): void {
    while (this.pending.length > 0) {
      const [waiter] = this.#waiting
      if (waiter === undefined) return
      const count = waiter.isStream ? Math.min(TASKS_PER_LINE, waiter.left) : waiter.left
      const tasks = this.pending.splice(0, count).map((task) => this.#lease(task))
      waiter.left -= tasks.length
      waiter.give(tasks)
      if (!waiter.isStream || waiter.left === 0) waiter.end()
    }
  }
}
