/** @module client/tasks  Submits tasks, and reads queues and dead-letter queues. @see D9, D29, D38, D48, D49, D50 */
import type {
  BatchResults,
  ClearedBody,
  DeadBody,
  QueueBody,
  QueueSample,
  ReplayedBody,
  SelectedBody,
  SubmitResult,
  TaskBody,
  TaskPlace,
  ValidatedBody,
} from '../protocol/index.ts'
import { apiPath, type Query } from './address.ts'
import type { Reply } from './answer.ts'
import type { Call, CallOptions, Transport } from './transport.ts'

type Counted = CallOptions & { readonly n?: number | undefined }

export class Tasks {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Submits a task. With a `task_id` or an `idempotency_key` the request is repeated when its response was lost; if the
   * first request was executed, the result is then that of a duplicate.
   */
  submit(type: string, task: TaskBody, options?: CallOptions): Promise<Reply<SubmitResult>> {
    return this.#transport.call(
      { method: 'POST', path: pathOf(type, ['tasks']), body: task, repeat: repeatOf([task]) },
      options,
    )
  }

  /**
   * Submits 1 to 1,000 tasks. Returns one result each, in order. Repeated like `submit` if each task has an ID or a
   * key.
   */
  submitBatch(type: string, tasks: readonly TaskBody[], options?: CallOptions): Promise<Reply<BatchResults>> {
    return this.#transport.call(
      { method: 'POST', path: pathOf(type, ['tasks', 'batch']), body: { tasks }, repeat: repeatOf(tasks) },
      options,
    )
  }

  /** Returns the faults that `submit` would report; queues nothing. */
  validate(type: string, task: TaskBody, options?: CallOptions): Promise<Reply<ValidatedBody>> {
    return this.#transport.call(
      { method: 'POST', path: pathOf(type, ['tasks', 'validate']), body: task, repeat: 'always' },
      options,
    )
  }

  /**
   * Returns whether a task is pending, in flight, scheduled or dead.
   * @throws {MasterError} NOT_FOUND when it is done, was dropped, or never existed.
   */
  get(type: string, taskId: string, options?: CallOptions): Promise<Reply<TaskPlace>> {
    return this.#transport.call({ method: 'GET', path: pathOf(type, ['tasks', taskId]) }, options)
  }

  /** Returns the length of a queue and its next `n` tasks. */
  queue(type: string, { n, ...options }: Counted = {}): Promise<Reply<QueueBody>> {
    return this.#transport.call({ method: 'GET', path: pathOf(type, ['queue'], { n }) }, options)
  }

  /** Returns statistics of a queue, one sample per 15 s, oldest first. `since` is in unix seconds. */
  queueStats(
    type: string,
    { since, limit, ...options }: CallOptions & { readonly since?: number; readonly limit?: number } = {},
  ): Promise<Reply<QueueSample[]>> {
    return this.#transport.call({ method: 'GET', path: pathOf(type, ['queue', 'stats'], { since, limit }) }, options)
  }

  /** Returns the number of dead tasks and the `n` oldest. */
  dead(type: string, { n, ...options }: Counted = {}): Promise<Reply<DeadBody>> {
    return this.#transport.call({ method: 'GET', path: pathOf(type, ['dead'], { n }) }, options)
  }

  /** Puts the `n` oldest dead tasks back into the queue. Never repeated: a second request would replay the next `n`. */
  replay(type: string, { n, ...options }: Counted = {}): Promise<Reply<ReplayedBody>> {
    return this.#transport.call({ method: 'POST', path: pathOf(type, ['dead', 'replay']), body: { n } }, options)
  }

  /** Removes all dead tasks permanently. */
  clearDead(type: string, options?: CallOptions): Promise<Reply<ClearedBody>> {
    return this.#transport.call({ method: 'DELETE', path: pathOf(type, ['dead']) }, options)
  }

  /** Replays or removes 1 to 1,000 dead tasks by ID. */
  selectDead(
    type: string,
    action: 'replay' | 'remove',
    taskIds: readonly string[],
    options?: CallOptions,
  ): Promise<Reply<SelectedBody>> {
    return this.#transport.call(
      { method: 'POST', path: pathOf(type, ['dead', 'select']), body: { action, task_ids: taskIds } },
      options,
    )
  }
}

const pathOf = (type: string, below: readonly string[], query: Query = {}): string =>
  apiPath(['automations', type, ...below], query)

/** A submission may be repeated if the master can recognise each task by its ID or key (D27). */
function repeatOf(tasks: readonly TaskBody[]): NonNullable<Call['repeat']> {
  return tasks.every(
    ({ task_id, idempotency_key }) => typeof task_id === 'string' || typeof idempotency_key === 'string',
  )
    ? 'always'
    : 'when refused'
}
