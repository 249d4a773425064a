/**
 * @module client/published/result-queue
 * Waits for the end of tasks of one automation type. All waits share one long poll of up to 1,000 tasks:
 *
 *   wait ─┐                         ┌ finished or unknown ─▶ its waits settle
 *   wait ─┼─▶ waiting ──tasks/await─┤
 *   wait ─┘    ▲                    └ not finished ─▶ back to the end of the line
 *              └ a task that comes while a poll is under way: the poll is sent again with it
 *
 * A poll is sent again only after it had 50 ms to return, and twice as long after each one that was sent again, so that
 * a steady stream of new tasks cannot prevent a response.
 *
 * While more than 1,000 tasks wait, the polls are short and take turns.
 */
import type { AwaitedBody } from '../../protocol/index.ts'
import { MAX_TASKS_PER_BATCH } from '../../protocol/plain.ts'
import { endOfTurn, webTime } from '../../runtime/web/index.ts'
import { MasterError } from '../master-error.ts'
import { TaskFailed } from './task-failed.ts'
import type { TaskRoutes } from '../task-routes.ts'
import { untilAborted } from '../signals.ts'

const LONGEST_WAIT_SECONDS = 20
/** The wait of a poll that takes turns with others. */
const TURN_SECONDS = 1
/** The time that a poll has to return before it is sent again for the sake of a new task. */
const MIN_POLL_MS = 50
const MAX_POLL_MS = 2_000
/** The pause after a poll that ended early without a finished task. */
const PAUSE_MS = 250

/** What the master knows of a task. */
export type AwaitedTask = AwaitedBody['results'][number]

interface Poll {
  readonly sinceMs: number
  /** Aborts when it is to be sent again with new tasks, or when nothing waits. */
  readonly renew: AbortController
  /** Whether a timer will abort it. */
  isEnding: boolean
}
interface Waiting {
  readonly resolve: (task: AwaitedTask) => void
  readonly reject: (error: unknown) => void
}

/** The waits for tasks of one automation type. */
export class ResultQueue {
  readonly #tasks: TaskRoutes
  readonly #type: string
  readonly #waitSeconds: number
  /** By task id, in the order of the next polls. */
  readonly #waiting = new Map<string, Set<Waiting>>()
  /** The poll that is under way. */
  #current: Poll | null = null
  #isPolling = false
  #pollMs = MIN_POLL_MS

  /**
   * Creates an empty queue.
   * @param tasks The route that waits.
   * @param timeoutMs How long a call may take.
   */
  constructor(tasks: TaskRoutes, type: string, timeoutMs: number) {
    this.#tasks = tasks
    this.#type = type
    this.#waitSeconds = Math.min(LONGEST_WAIT_SECONDS, timeoutMs / 2_000)
  }

  /**
   * Waits until a task has finished, or is unknown.
   * @returns what the master knows of it.
   * @throws {MasterError}, or the reason of the signal.
   */
  wait(id: string, signal?: AbortSignal): Promise<AwaitedTask> {
    return untilAborted(signal, (resolve, reject) => {
      const waiting = { resolve, reject }
      this.#waiting.set(id, (this.#waiting.get(id) ?? new Set()).add(waiting))
      this.#renewLater()
      this.#start()
      return () => this.#forget(id, waiting)
    })
  }

  #forget(id: string, waiting: Waiting): void {
    const waits = this.#waiting.get(id)
    waits?.delete(waiting)
    if (waits?.size !== 0) return
    this.#waiting.delete(id)
    if (this.#waiting.size === 0) this.#current?.renew.abort()
  }

  /** Sends the poll that is under way again, once it had its time to return. */
  #renewLater(): void {
    const poll = this.#current
    if (poll === null || poll.isEnding) return
    poll.isEnding = true
    const leftMs = poll.sinceMs + this.#pollMs - webTime.monotonicMs()
    if (leftMs <= 0) poll.renew.abort()
    else webTime.after(leftMs, () => poll.renew.abort())
  }

  #start(): void {
    if (this.#isPolling) return
    this.#isPolling = true
    endOfTurn(() => {
      void this.#poll().finally(() => {
        this.#isPolling = false
        if (this.#waiting.size > 0) this.#start()
      })
    })
  }

  async #poll(): Promise<void> {
    const ids = [...this.#waiting.keys()].slice(0, MAX_TASKS_PER_BATCH)
    if (ids.length === 0) return
    const seconds = ids.length < this.#waiting.size ? Math.min(TURN_SECONDS, this.#waitSeconds) : this.#waitSeconds
    const renew = new AbortController()
    const sinceMs = webTime.monotonicMs()
    this.#current = { sinceMs, renew, isEnding: false }
    try {
      const { body } = await this.#tasks.awaitTasks(this.#type, ids, seconds, { signal: renew.signal })
      this.#pollMs = MIN_POLL_MS
      const isAnyFinished = this.#settle(body.results)
      if (!isAnyFinished && webTime.monotonicMs() - sinceMs < seconds * 500) await pause(PAUSE_MS)
    } catch (error) {
      if (renew.signal.aborted) this.#pollMs = Math.min(2 * this.#pollMs, MAX_POLL_MS)
      else this.#fail(ids, error)
    } finally {
      this.#current = null
    }
  }

  /** @returns whether any of the tasks has finished. */
  #settle(results: readonly AwaitedTask[]): boolean {
    let isAnyFinished = false
    for (const task of results) {
      const waits = this.#waiting.get(task.task_id)
      if (waits === undefined) continue
      this.#waiting.delete(task.task_id)
      if (isFinished(task)) {
        isAnyFinished = true
        for (const { resolve } of waits) resolve(task)
      } else this.#waiting.set(task.task_id, waits)
    }
    return isAnyFinished
  }

  #fail(ids: readonly string[], error: unknown): void {
    const failure = error instanceof Error ? error : new MasterError('FOREIGN', String(error))
    for (const id of ids) {
      const waits = this.#waiting.get(id) ?? []
      this.#waiting.delete(id)
      for (const { reject } of waits) reject(failure)
    }
  }
}

function isFinished({ place }: AwaitedTask): boolean {
  return place !== 'pending' && place !== 'in_flight' && place !== 'scheduled'
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void webTime.after(ms, resolve))
}

const EXPLANATIONS: Readonly<Record<string, string>> = {
  unknown: '; submit it with retainSeconds to keep its result',
  done: ', but its result was too large to keep',
}

/** Returns the result of a finished task. @throws {TaskFailed} if it has none. */
export function resultOf(task: AwaitedTask): unknown {
  const { task_id: taskId, attempt = 0, error = null } = task
  if (task.place === 'done' && task.result_omitted === undefined) return task.result
  const place = (task.place ?? 'unknown') as TaskFailed['place']
  const cause = error === null ? '' : `: ${error}`
  const sentence = `task "${taskId}" is ${place}${EXPLANATIONS[place] ?? ''}${cause}`
  throw new TaskFailed(sentence, { taskId, place, attempts: attempt, lastError: error })
}
