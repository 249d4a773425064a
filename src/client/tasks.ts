/** @module client/tasks  Submitting tasks, and looking into a queue and its dead letters. @see D9, D29, D38, D48, D49, D50 */
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
   * Queues a task. With a `task_id` or an `idempotency_key` it is sent again when its answer was lost, and a task that
   * had come through then answers as its own duplicate.
   */
  submit(type: string, task: TaskBody, options?: CallOptions): Promise<Reply<SubmitResult>> {
    return this.#transport.call(
      { method: 'POST', path: pathOf(type, ['tasks']), body: task, repeat: repeatOf([task]) },
      options,
    )
  }

  /** Queues 1 to 1,000 tasks; one result each, in order. Sent again like a single one, where each has a name. */
  submitBatch(type: string, tasks: readonly TaskBody[], options?: CallOptions): Promise<Reply<BatchResults>> {
    return this.#transport.call(
      { method: 'POST', path: pathOf(type, ['tasks', 'batch']), body: { tasks }, repeat: repeatOf(tasks) },
      options,
    )
  }

  /** What `submit` would find wrong; queues nothing. */
  validate(type: string, task: TaskBody, options?: CallOptions): Promise<Reply<ValidatedBody>> {
    return this.#transport.call(
      { method: 'POST', path: pathOf(type, ['tasks', 'validate']), body: task, repeat: 'always' },
      options,
    )
  }

  /** Where a task is. NOT_FOUND: it is done, was dropped, or never was. */
  get(type: string, taskId: string, options?: CallOptions): Promise<Reply<TaskPlace>> {
    return this.#transport.call({ method: 'GET', path: pathOf(type, ['tasks', taskId]) }, options)
  }

  queue(type: string, { n, ...options }: Counted = {}): Promise<Reply<QueueBody>> {
    return this.#transport.call({ method: 'GET', path: pathOf(type, ['queue'], { n }) }, options)
  }

  /** Samples of 15 s, oldest first. `since`: unix seconds. */
  queueStats(
    type: string,
    { since, limit, ...options }: CallOptions & { readonly since?: number; readonly limit?: number } = {},
  ): Promise<Reply<QueueSample[]>> {
    return this.#transport.call({ method: 'GET', path: pathOf(type, ['queue', 'stats'], { since, limit }) }, options)
  }

  /** Dead tasks, oldest death first. */
  dead(type: string, { n, ...options }: Counted = {}): Promise<Reply<DeadBody>> {
    return this.#transport.call({ method: 'GET', path: pathOf(type, ['dead'], { n }) }, options)
  }

  /** Never sent twice: it would replay the next `n`. */
  replay(type: string, { n, ...options }: Counted = {}): Promise<Reply<ReplayedBody>> {
    return this.#transport.call({ method: 'POST', path: pathOf(type, ['dead', 'replay']), body: { n } }, options)
  }

  clearDead(type: string, options?: CallOptions): Promise<Reply<ClearedBody>> {
    return this.#transport.call({ method: 'DELETE', path: pathOf(type, ['dead']) }, options)
  }

  /** Acts on 1 to 1,000 dead tasks by name and on no other. */
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

/** Twice is the same as once where the master can tell that it has the task already (D27). */
function repeatOf(tasks: readonly TaskBody[]): NonNullable<Call['repeat']> {
  return tasks.every(
    ({ task_id, idempotency_key }) => typeof task_id === 'string' || typeof idempotency_key === 'string',
  )
    ? 'always'
    : 'when refused'
}
