/**
 * @module client/published/automation
 * Implements the tasks, dead letters and outputs of one automation type for the published client. The wire's snake_case
 * and unix seconds become the client's names and `Date` here and in task-shapes.ts.
 */
import type { TaskListBody } from '../../protocol/index.ts'
import type { ApiCaller } from '../api-caller.ts'
import { deadGroupsOf, operationsOf, readLogs } from './fleet.ts'
import type { DeadGroups, LogPage, LogsOptions, Operations } from './fleet-api.ts'
import { bodyOf, published, publishing } from './muster-error.ts'
import type { Output as OutputRoutes } from '../output.ts'
import type {
  AutomationClient,
  CallOptions,
  CancelledTask,
  DeadLetters,
  ListedTask,
  ListOptions,
  NewTask,
  OutputEntry,
  OutputGap,
  OutputsOptions,
  PageOptions,
  QueuePage,
  SelectedTask,
  SubmitOutcome,
  SubmittedTask,
  TaskOptions,
  TaskState,
} from './api.ts'
import { resultOf, type ResultQueue } from './result-queue.ts'
import type { SubmitQueue } from './submit-queue.ts'
import { deadTask, listedTask, outputEntry, pauseOf, queuedTask, taskState } from './task-shapes.ts'
import { submittedTask, taskText, type Repetition } from './task-text.ts'
import type { TaskRoutes } from '../task-routes.ts'

/** Number of tasks that one request of `listTasks` reads: the most that a master returns. */
const PAGE = 1_000

/** What a {@link PublishedAutomation} shares with its client. */
export interface AutomationDeps {
  readonly caller: ApiCaller
  readonly tasks: TaskRoutes
  readonly output: OutputRoutes
  readonly submits: SubmitQueue
  readonly results: ResultQueue
  readonly repetition: Repetition
}

/** The tasks and outputs of one automation type. */
export class PublishedAutomation<Payload, Output, Result> implements AutomationClient<Payload, Output, Result> {
  readonly type: string
  readonly deadLetters: DeadLetters<Payload>
  readonly operations: Operations
  readonly #deps: AutomationDeps

  /**
   * Sends nothing yet.
   * @param deps What it shares with its client.
   */
  constructor(type: string, deps: AutomationDeps) {
    this.type = type
    this.#deps = deps
    this.deadLetters = { ...deadLettersOf(type, deps.tasks), ...deadGroupsOf(type, deps.caller) }
    this.operations = operationsOf(type, deps.caller)
  }

  /**
   * Returns what the interface says, from the next batch of submits.
   * @param payload The payload of the task.
   * @param options What is special about the task. `signal` aborts the submit.
   */
  submit(payload: Payload, { signal, ...options }: TaskOptions & CallOptions = {}): Promise<SubmittedTask<Result>> {
    return this.#submit({ ...options, payload }, { signal, isPart: false })
  }

  /** Returns the outcome of each task. @param tasks The tasks. @param options `signal` aborts all of them. */
  submitMany(
    tasks: readonly NewTask<Payload>[],
    { signal }: CallOptions = {},
  ): Promise<readonly SubmitOutcome<Result>[]> {
    const outcomeOf = async (task: NewTask<Payload>, at: number): Promise<SubmitOutcome<Result>> => {
      try {
        return { kind: 'submitted', task: await this.#submit(task, { signal, isPart: at > 0 }) }
      } catch (error) {
        return { kind: 'failed', error }
      }
    }
    return Promise.all(tasks.map(outcomeOf))
  }

  /** Returns the result of a task, after its end. @param id Names the task. @param options `signal` ends the wait. */
  async result(id: string, { signal }: CallOptions = {}): Promise<Result> {
    return resultOf(await publishing(this.#deps.results.wait(id, signal))) as Result
  }

  /** Returns where a task is. */
  async getTask(id: string, options?: CallOptions): Promise<TaskState> {
    return taskState(await bodyOf(this.#deps.tasks.get(this.type, id, options)))
  }

  /** Yields the tasks that match. @param options `labels`: a task has them all. `signal` makes it throw the reason. */
  async *listTasks({ labels = {}, ...options }: ListOptions = {}): AsyncGenerator<
    ListedTask<Payload>,
    void,
    undefined
  > {
    const filter = { ...options, labels: Object.entries(labels).map((label) => label.join(':')), limit: PAGE }
    let cursor: string | undefined
    do {
      const body: TaskListBody = await bodyOf(this.#deps.tasks.list(this.type, { ...filter, cursor }))
      for (const item of body.items) yield listedTask<Payload>(item)
      cursor = body.cursor ?? undefined
    } while (cursor !== undefined)
  }

  /** Returns one outcome per ID, in order. @param ids 1 to 1,000 IDs of tasks to cancel. */
  async cancel(ids: readonly string[], options?: CallOptions): Promise<readonly CancelledTask[]> {
    const { results } = await bodyOf(this.#deps.tasks.cancel(this.type, ids, options))
    return results.map(({ task_id: id, outcome }) => ({ id, outcome }))
  }

  /** Returns the first pending tasks. @param options `limit`: how many, 1 to 10,000; 20 if omitted. `signal` aborts. */
  async queue({ limit, signal }: PageOptions = {}): Promise<QueuePage<Payload>> {
    const { length, items, paused } = await bodyOf(this.#deps.tasks.queue(this.type, { n: limit, signal }))
    return { length, items: items.map((item) => queuedTask<Payload>(item)), paused: pauseOf(paused) }
  }

  /** Yields outputs until the signal aborts. */
  async *outputs(options: OutputsOptions = {}): AsyncGenerator<OutputEntry<Output> | OutputGap, void, undefined> {
    const { after, last = 0, signal = new AbortController().signal } = options
    try {
      for await (const { entries, gap } of this.#deps.output.follow(this.type, { n: last, after, signal })) {
        if (gap) yield { gap: true }
        for (const entry of entries) {
          if (signal.aborted) return
          yield outputEntry<Output>(entry)
        }
      }
    } catch (error) {
      throw published(error)
    }
  }

  /** Returns the oldest outputs. @param n At most this many, 1 to 10,000. */
  async peek(n: number, options?: CallOptions): Promise<readonly OutputEntry<Output>[]> {
    const entries = await bodyOf(this.#deps.output.peek(this.type, { n, ...options }))
    return entries.map((entry) => outputEntry<Output>(entry))
  }

  /** Returns the oldest outputs, which it removes. @param n At most this many, 1 to 10,000. */
  async pop(n: number, options?: CallOptions): Promise<readonly OutputEntry<Output>[]> {
    const entries = await bodyOf(this.#deps.output.pop(this.type, { n, ...options }))
    return entries.map((entry) => outputEntry<Output>(entry))
  }

  /** Returns log entries that a worker keeps. @param workerId Names the worker. @param options Which entries. */
  workerLogs(workerId: string, options?: LogsOptions): Promise<LogPage> {
    return readLogs(this.#deps.caller, this.type, workerId, options)
  }

  async #submit(
    task: NewTask<Payload>,
    how: { readonly signal: AbortSignal | undefined; readonly isPart: boolean },
  ): Promise<SubmittedTask<Result>> {
    const text = taskText(task, this.#deps.repetition)
    const stored = await publishing(this.#deps.submits.submit(text, how))
    return this.#withResult(submittedTask(text, task.id !== undefined, stored))
  }

  /** The method is not enumerable, so that a task is shown by its data. */
  #withResult(task: Omit<SubmittedTask, 'result'>): SubmittedTask<Result> {
    const result = (options?: CallOptions): Promise<Result> => this.result(task.id, options)
    return Object.defineProperty(task, 'result', { value: result }) as SubmittedTask<Result>
  }
}

function deadLettersOf<Payload>(
  type: string,
  tasks: TaskRoutes,
): Omit<DeadLetters<Payload>, keyof DeadGroups<Payload>> {
  const select = async (
    action: 'replay' | 'remove',
    ids: readonly string[],
    options?: CallOptions,
  ): Promise<readonly SelectedTask[]> => {
    const { results } = await bodyOf(tasks.selectDead(type, action, ids, options))
    return results.map(({ task_id, outcome }) => ({ id: task_id, outcome }))
  }
  return {
    async list({ limit, signal } = {}) {
      const { length, items } = await bodyOf(tasks.dead(type, { n: limit, signal }))
      return { length, items: items.map((item) => deadTask<Payload>(item)) }
    },
    replay: (ids, options) => select('replay', ids, options),
    replayOldest: async (limit, options) => (await bodyOf(tasks.replay(type, { n: limit, ...options }))).replayed,
    delete: (ids, options) => select('remove', ids, options),
    deleteAll: async (options) => (await bodyOf(tasks.clearDead(type, options))).cleared,
  }
}
