/**
 * @module client/task-routes
 * The calls for tasks that all clients use: the published client, the operator and the command line. Those of the
 * published client alone are in its bundle for browsers, so a call that it does not use belongs to {@link Tasks}.
 */
import type {
  AwaitedBody,
  BatchResults,
  CancelSelectedBody,
  ClearedBody,
  DeadBody,
  FoundTask,
  QueueBody,
  ReplayedBody,
  SelectedBody,
  TaskListBody,
  TaskListQuery,
  TaskPlace,
} from '../protocol/index.ts'
import type { ApiCaller, HttpCall, RequestOptions } from './api-caller.ts'
import { apiPath, type Query } from './address.ts'
import type { MasterResponse } from './response.ts'

type Counted = RequestOptions & { readonly n?: number | undefined }

/** Which tasks a list has, and where it begins. */
export type TaskListOptions = {
  readonly [Field in Exclude<keyof TaskListQuery, 'label' | 'worker_id'>]?: TaskListQuery[Field] | undefined
} & {
  /** Each `key:value`. */
  readonly labels?: readonly string[] | undefined
  /** Only tasks that this worker has in flight. */
  readonly workerId?: string | undefined
}

/** Submits, finds, awaits and cancels tasks, and reads queues and dead-letter queues. */
export class TaskRoutes {
  protected readonly caller: ApiCaller

  /** Creates this part of a client. */
  constructor(caller: ApiCaller) {
    this.caller = caller
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
    return this.caller.call(
      { method: 'POST', path: pathOf(type, ['tasks', 'batch']), bodyText: `{"tasks":[${texts.join()}]}`, repeat },
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
    return this.#get(type, ['tasks', taskId], { wait_seconds: waitSeconds }, options)
  }

  /**
   * Finds a task by its ID in all types that the token covers.
   * @param taskId The ID of the task.
   * @returns the state of each task with this ID, ordered by type; empty if it is unknown.
   */
  find(taskId: string, options?: RequestOptions): Promise<MasterResponse<FoundTask[]>> {
    return this.caller.call({ method: 'GET', path: apiPath(['tasks', taskId]) }, options)
  }

  /**
   * Lists tasks of a type, one page at a time.
   * @param options `place`: only this one. `labels`: texts `key:value`, which a task has to have all. `text`: has to
   *   occur in the ID or the JSON of the task, ignoring case. `workerId`: only tasks that this worker has in flight.
   *   `limit`: 1 to 1,000 tasks; 100 if omitted. `cursor`: that of the page before.
   * @returns the tasks that match among at most 5,000. `cursor` is null behind the last page; a page may have no tasks
   *   while it is not.
   * @throws {MasterError} INVALID when a label or the cursor has a wrong form.
   */
  list(
    type: string,
    { place, labels, text, workerId, limit, cursor, ...options }: RequestOptions & TaskListOptions = {},
  ): Promise<MasterResponse<TaskListBody>> {
    const query = { place, label: labels, text, worker_id: workerId, limit, cursor }
    return this.#get(type, ['tasks'], query, options)
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
    return this.caller.call({ method: 'POST', path: pathOf(type, ['tasks', 'await']), body, repeat: 'always' }, options)
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
    return this.#post(type, ['tasks', 'select'], { action: 'cancel', task_ids: taskIds }, options)
  }

  /**
   * Returns the length of a queue and its first tasks.
   * @param options `n`: at most this many tasks, 1 to 10,000; 20 if omitted.
   */
  queue(type: string, { n, ...options }: Counted = {}): Promise<MasterResponse<QueueBody>> {
    return this.#get(type, ['queue'], { n }, options)
  }

  /**
   * Returns the number of dead tasks and the oldest of them.
   * @param options `n`: at most this many tasks, 1 to 10,000; 50 if omitted.
   */
  dead(type: string, { n, ...options }: Counted = {}): Promise<MasterResponse<DeadBody>> {
    return this.#get(type, ['dead'], { n }, options)
  }

  /**
   * Replays the oldest dead tasks. Never repeated: a second request would replay the tasks after them.
   * @param options `n`: at most this many tasks, 1 to 10,000; 50 if omitted.
   * @returns how many were replayed; 0 if no task is dead.
   */
  replay(type: string, { n, ...options }: Counted = {}): Promise<MasterResponse<ReplayedBody>> {
    return this.#post(type, ['dead', 'replay'], { n }, options)
  }

  /**
   * Removes all dead tasks permanently. Never repeated: a second request would remove tasks that died meanwhile.
   * @returns how many were removed; 0 if no task was dead.
   */
  clearDead(type: string, options?: RequestOptions): Promise<MasterResponse<ClearedBody>> {
    return this.caller.call({ method: 'DELETE', path: pathOf(type, ['dead']) }, options)
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
    return this.#post(type, ['dead', 'select'], { action, task_ids: taskIds }, options)
  }

  #get<T>(type: string, below: readonly string[], query: Query, options?: RequestOptions): Promise<MasterResponse<T>> {
    return this.caller.call({ method: 'GET', path: pathOf(type, below, query) }, options)
  }

  #post<T>(type: string, below: readonly string[], body: object, options?: RequestOptions): Promise<MasterResponse<T>> {
    return this.caller.call({ method: 'POST', path: pathOf(type, below), body }, options)
  }
}

/**
 * Returns a path below that of an automation type.
 * @param below The segments after the type, not encoded.
 * @param query Values that are undefined are left out; none if omitted.
 */
export const pathOf = (type: string, below: readonly string[], query: Query = {}): string =>
  apiPath(['automations', type, ...below], query)
