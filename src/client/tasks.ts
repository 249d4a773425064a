/**
 * @module client/tasks
 * Submits tasks from objects, and pauses queues, beside the calls that all clients use.
 * @see D9, D29, D38, D48, D49, D50, D166
 */
import type {
  BatchResults,
  QueueHistoryBody,
  PauseBody,
  PausedBody,
  QueueSample,
  SubmitResult,
  TaskBody,
  ValidatedBody,
} from '../protocol/index.ts'
import type { HttpCall, RequestOptions } from './api-caller.ts'
import type { MasterResponse } from './response.ts'
import { pathOf, TaskRoutes } from './task-routes.ts'

/** The range of a history. */
export interface HistoryRange {
  /** The start, in unix seconds. */
  readonly from?: number | undefined
  /** The end, in unix seconds. */
  readonly to?: number | undefined
  /** Length of the range in seconds, for one without `from` or `to`. */
  readonly seconds?: number | undefined
  /** Length of a step in seconds. */
  readonly step?: number | undefined
}

/** Submits and inspects tasks. Part of the client. */
export class Tasks extends TaskRoutes {
  /**
   * Submits a task. With a `task_id` or an `idempotency_key` the request is repeated when its response was lost; if the
   * first request was executed, the result is then that of a duplicate.
   * @param task Its payload has to match the schema of the type.
   * @returns the ID of the task, and whether it was queued.
   * @throws {MasterError} INVALID when the task does not match; UNAVAILABLE when the queue is full.
   */
  submit(type: string, task: TaskBody, options?: RequestOptions): Promise<MasterResponse<SubmitResult>> {
    return this.caller.call(
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
    return this.caller.call(
      { method: 'POST', path: pathOf(type, ['tasks', 'batch']), body: { tasks }, repeat: repeatOf(tasks) },
      options,
    )
  }

  /**
   * Returns the faults that `submit` would report; queues nothing.
   * @param task The task to check.
   */
  validate(type: string, task: TaskBody, options?: RequestOptions): Promise<MasterResponse<ValidatedBody>> {
    return this.caller.call(
      { method: 'POST', path: pathOf(type, ['tasks', 'validate']), body: task, repeat: 'always' },
      options,
    )
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
    return this.caller.call(
      { method: 'PUT', path: pathOf(type, ['queue', 'pause']), body: pause, repeat: 'always' },
      options,
    )
  }

  /**
   * Resumes a queue. Does nothing if it is not paused.
   * @returns `paused` is null.
   */
  resume(type: string, options?: RequestOptions): Promise<MasterResponse<PausedBody>> {
    return this.caller.call({ method: 'DELETE', path: pathOf(type, ['queue', 'pause']), repeat: 'always' }, options)
  }

  /**
   * Returns statistics of a queue, one sample per 15 s, oldest first; empty if there are none.
   * @param options `since`: unix seconds, 0 or more. `limit`: the newest samples of them, 1 to 10,000; 240 if omitted.
   */
  queueStats(
    type: string,
    { since, limit, ...options }: RequestOptions & { readonly since?: number; readonly limit?: number } = {},
  ): Promise<MasterResponse<QueueSample[]>> {
    return this.caller.call({ method: 'GET', path: pathOf(type, ['queue', 'stats'], { since, limit }) }, options)
  }

  /**
   * Returns counts, gauges and wait and run times of a queue by steps of time, oldest first. Steps of 15 s are kept for
   * 2 hours, of 1 minute for 2 days, of 15 minutes for 30 days.
   * @param options `from`, `to`: unix seconds. `seconds`: length of the range if one of them is omitted; the last hour
   *   if all are. `step`: seconds, a multiple of 15 up to 86,400;
   *   chosen by the range if omitted. At most 1,000 steps.
   * @throws {MasterError} INVALID when the range has too many steps, or steps that are not kept so long.
   */
  history(
    type: string,
    { from, to, seconds, step, ...options }: RequestOptions & HistoryRange = {},
  ): Promise<MasterResponse<QueueHistoryBody>> {
    return this.caller.call({ method: 'GET', path: pathOf(type, ['history'], { from, to, seconds, step }) }, options)
  }
}

/** A submission may be repeated if the master can recognise each task by its ID or key (D27). */
function repeatOf(tasks: readonly TaskBody[]): NonNullable<HttpCall['repeat']> {
  return tasks.every(
    ({ task_id, idempotency_key }) => typeof task_id === 'string' || typeof idempotency_key === 'string',
  )
    ? 'always'
    : 'when refused'
}
