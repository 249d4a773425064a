/** @module client/tasks  Submits tasks, and reads queues and dead-letter queues. @see D9, D29, D38, D48, D49, D50 */
import type {
  AwaitedBody,
  BatchResults,
  CancelSelectedBody,
  ClearedBody,
  DeadBody,
  FoundTask,
  PauseBody,
  PausedBody,
  QueueBody,
  QueueSample,
  ReplayedBody,
  SelectedBody,
  SubmitResult,
  TaskBody,
  TaskListBody,
  TaskListQuery,
  TaskPlace,
  ValidatedBody,
} from '../protocol/index.ts'
import type { ApiCaller, HttpCall, RequestOptions } from './api-caller.ts'
import { apiPath, type Query } from './address.ts'
import type { MasterResponse } from './response.ts'

type Counted = RequestOptions & { readonly n?: number | undefined }

/** Which tasks a list has, and where it begins. */
export type TaskListOptions = {
  readonly [Field in Exclude<keyof TaskListQuery, 'label'>]?: TaskListQuery[Field] | undefined
} & {
  /** Each `key:value`. */
  readonly labels?: readonly string[] | undefined
}

/** Submits and inspects tasks. Part of the client. */
export class Tasks {
  readonly #caller: ApiCaller

  /** Creates this part of a client. */
  constructor(caller: ApiCaller) {
    this.#caller = caller
  }

  /**
   * Submits a task. With a `task_id` or an `idempotency_key` the request is repeated when its response was lost; if the
   * first request was executed, the result is then that of a duplicate.
   * @param task Its payload has to match the schema of the type.
   * @returns the ID of the task, and whether it was queued.
   * @throws {MasterError} INVALID when the task does not match; UNAVAILABLE when the queue is full.
   */
  submit(type: string, task: TaskBody, options?: RequestOptions): Promise<MasterResponse<SubmitResult>> {
    return this.#caller.call(
      { method: 'POST', path: pathOf(type, ['tasks']), body: task, repeat: repeatOf([task]) },
      options,
    )
  }

  /**
   * Submits tasks in one request. Repeated like `submit` if each task has an ID or a key.
   * @param tasks 1 to 1,000 tasks.
   * @returns one result per task, in order; an invalid task fails alone.
   */
  submitBatch(
    type: string,
    tasks: readonly TaskBody[],
    options?: RequestOptions,
  ): Promise<MasterResponse<BatchResults>> {
    return this.#caller.call(
      { method: 'POST', path: pathOf(type, ['tasks', 'batch']), body: { tasks }, repeat: repeatOf(tasks) },
      options,
    )
  }

  /**
   * Submits tasks in one request, from their JSON texts.
   * @param texts 1 to 1,000 tasks.
   * @param repeat When the request may be repeated.
   * @returns one result per task, in order; an invalid task fails alone.
   */
  submitTexts(
    type: string,
    texts: readonly string[],
    repeat: NonNullable<HttpCall['repeat']>,
    options?: RequestOptions,
  ): Promise<MasterResponse<BatchResults>> {
    return this.#caller.call(
      { method: 'POST', path: pathOf(type, ['tasks', 'batch']), bodyText: `{"tasks":[${texts.join()}]}`, repeat },
      options,
    )
  }

  /**
   * Returns the faults that `submit` would report; queues nothing.
   * @param task The task to check.
   */
  validate(type: string, task: TaskBody, options?: RequestOptions): Promise<MasterResponse<ValidatedBody>> {
    return this.#caller.call(
      { method: 'POST', path: pathOf(type, ['tasks', 'validate']), body: task, repeat: 'always' },
      options,
    )
  }

  /**
   * Returns whether a task is pending, in flight, scheduled or dead; done, expired or cancelled if its outcome is
   * retained.
   * @param taskId The ID of the task.
   * @param options `waitSeconds`: waits so long for its end, 0 to 30; 0 if omitted.
   * @throws {MasterError} NOT_FOUND when it has finished without a retained outcome, was cancelled, or never existed.
   */
  get(
    type: string,
    taskId: string,
    { waitSeconds, ...options }: RequestOptions & { readonly waitSeconds?: number | undefined } = {},
  ): Promise<MasterResponse<TaskPlace>> {
    const path = pathOf(type, ['tasks', taskId], { wait_seconds: waitSeconds })
    return this.#caller.call({ method: 'GET', path }, options)
  }

  /**
   * Finds a task by its ID in all types that the token covers.
   * @param taskId The ID of the task.
   * @returns the state of each task with this ID, ordered by type; empty if it is unknown.
   */
  find(taskId: string, options?: RequestOptions): Promise<MasterResponse<FoundTask[]>> {
    return this.#caller.call({ method: 'GET', path: apiPath(['tasks', taskId]) }, options)
  }

  /**
   * Lists tasks of a type, one page at a time.
   * @param options `place`: only this one. `labels`: texts `key:value`, which a task has to have all. `text`: has to
   *   occur in the ID or the JSON of the task, ignoring case. `limit`: 1 to 1,000 tasks; 100 if omitted. `cursor`: that
   *   of the page before.
   * @returns the tasks that match among at most 5,000. `cursor` is null behind the last page; a page may have no tasks
   *   while it is not.
   * @throws {MasterError} INVALID when a label or the cursor has a wrong form.
   */
  list(
    type: string,
    { place, labels, text, limit, cursor, ...options }: RequestOptions & TaskListOptions = {},
  ): Promise<MasterResponse<TaskListBody>> {
    const query = { place, label: labels, text, limit, cursor }
    return this.#caller.call({ method: 'GET', path: pathOf(type, ['tasks'], query) }, options)
  }

  /**
   * Waits until one of the tasks has finished or is unknown. The request is repeated when its response was lost.
   * @param ids 1 to 1,000 IDs.
   * @param waitSeconds At most this long, 0 to 30.
   * @returns the states of the tasks, in order; `place` is null for an unknown one.
   */
  awaitTasks(
    type: string,
    ids: readonly string[],
    waitSeconds: number,
    options?: RequestOptions,
  ): Promise<MasterResponse<AwaitedBody>> {
    const body = { task_ids: ids, wait_seconds: waitSeconds }
    return this.#caller.call(
      { method: 'POST', path: pathOf(type, ['tasks', 'await']), body, repeat: 'always' },
      options,
    )
  }

  /**
   * Cancels tasks that are pending, scheduled or in flight. Never repeated: the response to a second request would
   * report the tasks that the first one cancelled as `not_found`.
   * @param taskIds 1 to 1,000 IDs.
   * @returns one outcome per ID, in order; `dead` for a task in the dead-letter queue, where it stays.
   */
  cancel(
    type: string,
    taskIds: readonly string[],
    options?: RequestOptions,
  ): Promise<MasterResponse<CancelSelectedBody>> {
    return this.#caller.call(
      { method: 'POST', path: pathOf(type, ['tasks', 'select']), body: { action: 'cancel', task_ids: taskIds } },
      options,
    )
  }

  /**
   * Returns the length of a queue and its first tasks.
   * @param options `n`: at most this many tasks, 1 to 10,000; 20 if omitted.
   */
  queue(type: string, { n, ...options }: Counted = {}): Promise<MasterResponse<QueueBody>> {
    return this.#caller.call({ method: 'GET', path: pathOf(type, ['queue'], { n }) }, options)
  }

  /**
   * Pauses a queue, or replaces its pause: no task is leased until it is resumed, or until the given time. The request
   * is repeated when its response was lost.
   * @param pause `note`: why. At most one of `until` in unix seconds and `seconds`; without both the pause does not end
   *   by time.
   * @returns the pause.
   * @throws {MasterError} INVALID when the time is not in the future or more than a year ahead.
   */
  pause(type: string, pause: PauseBody = {}, options?: RequestOptions): Promise<MasterResponse<PausedBody>> {
    return this.#caller.call(
      { method: 'PUT', path: pathOf(type, ['queue', 'pause']), body: pause, repeat: 'always' },
      options,
    )
  }

  /**
   * Resumes a queue. Does nothing if it is not paused.
   * @returns `paused` is null.
   */
  resume(type: string, options?: RequestOptions): Promise<MasterResponse<PausedBody>> {
    return this.#caller.call({ method: 'DELETE', path: pathOf(type, ['queue', 'pause']), repeat: 'always' }, options)
  }

  /**
   * Returns statistics of a queue, one sample per 15 s, oldest first; empty if there are none.
   * @param options `since`: unix seconds, 0 or more. `limit`: the newest samples of them, 1 to 10,000; 240 if omitted.
   */
  queueStats(
    type: string,
    { since, limit, ...options }: RequestOptions & { readonly since?: number; readonly limit?: number } = {},
  ): Promise<MasterResponse<QueueSample[]>> {
    return this.#caller.call({ method: 'GET', path: pathOf(type, ['queue', 'stats'], { since, limit }) }, options)
  }

  /**
   * Returns the number of dead tasks and the oldest of them.
   * @param options `n`: at most this many tasks, 1 to 10,000; 50 if omitted.
   */
  dead(type: string, { n, ...options }: Counted = {}): Promise<MasterResponse<DeadBody>> {
    return this.#caller.call({ method: 'GET', path: pathOf(type, ['dead'], { n }) }, options)
  }

  /**
   * Replays the oldest dead tasks. Never repeated: a second request would replay the tasks after them.
   * @param options `n`: at most this many tasks, 1 to 10,000; 50 if omitted.
   * @returns how many were replayed; 0 if no task is dead.
   */
  replay(type: string, { n, ...options }: Counted = {}): Promise<MasterResponse<ReplayedBody>> {
    return this.#caller.call({ method: 'POST', path: pathOf(type, ['dead', 'replay']), body: { n } }, options)
  }

  /**
   * Removes all dead tasks permanently. Never repeated: a second request would remove tasks that died meanwhile.
   * @returns how many were removed; 0 if no task was dead.
   */
  clearDead(type: string, options?: RequestOptions): Promise<MasterResponse<ClearedBody>> {
    return this.#caller.call({ method: 'DELETE', path: pathOf(type, ['dead']) }, options)
  }

  /**
   * Replays or removes dead tasks by ID.
   * @param action What to do with each task.
   * @param taskIds 1 to 1,000 IDs.
   * @returns one outcome per ID, in order; `not_dead` for a task that is not dead.
   */
  selectDead(
    type: string,
    action: 'replay' | 'remove',
    taskIds: readonly string[],
    options?: RequestOptions,
  ): Promise<MasterResponse<SelectedBody>> {
    return this.#caller.call(
      { method: 'POST', path: pathOf(type, ['dead', 'select']), body: { action, task_ids: taskIds } },
      options,
    )
  }
}

const pathOf = (type: string, below: readonly string[], query: Query = {}): string =>
  apiPath(['automations', type, ...below], query)

/** A submission may be repeated if the master can recognise each task by its ID or key (D27). */
function repeatOf(tasks: readonly TaskBody[]): NonNullable<HttpCall['repeat']> {
  return tasks.every(
    ({ task_id, idempotency_key }) => typeof task_id === 'string' || typeof idempotency_key === 'string',
  )
    ? 'always'
    : 'when refused'
}
