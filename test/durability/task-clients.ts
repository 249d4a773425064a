/**
 * TaskClients calls one task queue as its clients do, and records each call in a history. Of its tasks some have an
 * idempotency key, a unique key, labels or a retained outcome, and in the queue `grouped` most have a group. Some are
 * cancelled, pending ones and leased ones.
 */
import type { Backend, NewTask } from '../../src/storage/index.ts'
import type { ArgsOf, Call, History, HistoryTask, LeaseOf, Operation, ResultOf } from '../kit/history.ts'
import { queueOf } from '../kit/history-checkers.ts'
import { MAX_IN_FLIGHT } from '../kit/task-checkers.ts'

/** The type of each queue. */
const TYPES = { plain: 'render', grouped: 'grouped' } as const
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const NEW_TASK = { ownId: true, tier: 1, ttlMs: null, maxAttempts: null, submittedAtMs: 1 } as const
const FAILURE = { error: 'failed', retryInMs: HOUR_MS, jitter: 0.5 }
const PADDING = 'x'.repeat(300)
const PAGE = 500
const UNIQUE_KEYS = 2
/** Of the leases of earlier calls. */
const MAX_SETTLED = 3
/** Two groups, and tasks without one. */
const GROUPS = ['a', 'b', undefined]

export interface TaskClientsDeps {
  readonly backend: Backend
  readonly history: History
  /** Part of the ids of the tasks that these clients make. */
  readonly name: string
  /** The worker that reserves. Its config never changes. */
  readonly worker: string
  readonly isRetaining: boolean
  /** Whether an error proves that the call had no effect. */
  readonly isRefusal: (error: unknown) => boolean
}

export class TaskClients {
  readonly #deps: TaskClientsDeps
  readonly #queue: keyof typeof TYPES
  #tasks = 0
  #works = 0

  constructor(queue: keyof typeof TYPES, deps: TaskClientsDeps) {
    this.#queue = queue
    this.#deps = deps
  }

  get type(): string {
    return TYPES[this.#queue]
  }

  get #backend(): Backend['tasks'] {
    return this.#deps.backend.tasks
  }

  async setGroupPolicy(): Promise<void> {
    if (this.#queue === 'grouped')
      await this.#backend.setGroupPolicy(this.type, { maxInFlight: MAX_IN_FLIGHT, rate: null })
  }

  /** Submits five tasks: one with an idempotency key, one with a unique key, two with labels, three retained. */
  async submit(): Promise<void> {
    const number = this.#tasks++
    const { name, isRetaining } = this.#deps
    await this.#submit(
      Array.from({ length: 5 }, (_, i): HistoryTask => {
        const group = this.#queue === 'grouped' ? GROUPS[i % GROUPS.length] : undefined
        return {
          id: `${name}-${number}-${i}`,
          key: i === 0 ? `key-${name}-${number}` : null,
          ...(i === 1 && { unique: `unique-${number % UNIQUE_KEYS}` }),
          ...(i > 2 && { labels: JSON.stringify({ tenant: `t"${number}\u2028`, n: String(i) }) }),
          ...(isRetaining && i !== 0 && i !== 2 && { isRetained: true }),
          ...(group !== undefined && { group }),
        }
      }),
    )
  }

  /** Submits other tasks with the idempotency keys of earlier ones. */
  async repeatSubmits(): Promise<void> {
    const keys = this.#calls('submit').flatMap(({ args }) => args.tasks.flatMap(({ key }) => key ?? []))
    for (const page of pagesOf([...new Set(keys)])) await this.#submit(page.map((key) => ({ id: `again-${key}`, key })))
  }

  async #submit(tasks: readonly HistoryTask[]): Promise<void> {
    await this.#call('submit', { tasks }, async () => {
      const results = await this.#backend.submit(this.type, DAY_MS, tasks.map(rowOf))
      return results.map((each, i) => {
        if (each.kind === 'queue_full') throw new Error('the queue is full')
        return each.kind === 'duplicate' ? each.duplicateOf : (tasks[i]?.id ?? '')
      })
    })
  }

  /**
   * Reserves tasks, and acks, nacks, releases or cancels each of them. In the queue `grouped`, those of earlier calls
   * are settled, and not all of them, so that reserves meet groups with leases, also after a restart.
   */
  async work(): Promise<void> {
    const limit = 6
    const held = this.#queue === 'grouped' ? this.#held() : []
    const taken = await this.#call('reserve', { limit }, async () => {
      const request = { worker: this.#deps.worker, limit, gen: 0, defaultMaxAttempts: 3 }
      const { results } = await this.#backend.reserve(this.type, HOUR_MS, [request])
      const [reservation] = results
      if (reservation?.kind !== 'leased') throw new Error(`the worker may not reserve: ${reservation?.reason}`)
      return reservation.leases.map(({ id, token, body }) => ({ id, token, ...labelsOf(body) }))
    })
    const leases = (this.#queue === 'grouped' ? held.slice(0, MAX_SETTLED) : (taken ?? [])).map(({ id, token }) => ({
      id,
      token,
    }))
    const half = Math.ceil(leases.length / 2)
    const [acked, nacked, released] = [leases.slice(0, half), leases.slice(half, half + 1), leases.slice(half + 1)]
    const isCancelling = this.#works++ % 2 === 1
    await Promise.all([
      isCancelling ? this.#cancel([...released.slice(0, 1).map(({ id }) => id), ...this.#newest()]) : null,
      this.#ack(acked),
      this.#nack(nacked),
      this.#release(released),
    ])
    if (isCancelling) await this.#release(released.slice(0, 1)) // Of a cancelled task, this has no effect.
  }

  /** Leases that no call has tried to end. */
  #held(): readonly LeaseOf[] {
    const tried = new Set(
      (['ack', 'nack', 'release'] as const).flatMap((operation) =>
        this.#calls(operation).flatMap(({ args }) => args.leases.map(({ token }) => token)),
      ),
    )
    const leases = this.#calls('reserve').flatMap(({ result = [] }) => result)
    return leases.filter(({ token }) => !tried.has(token))
  }

  /** The last task of the newest submit. */
  #newest(): readonly string[] {
    return (
      this.#calls('submit')
        .at(-1)
        ?.args.tasks.slice(-1)
        .map(({ id }) => id) ?? []
    )
  }

  /** Repeats every acknowledged ack. */
  async repeatAcks(): Promise<void> {
    const acked = this.#calls('ack').flatMap(({ args, result = [] }) =>
      args.leases.filter((_, i) => result[i] === 'ok'),
    )
    for (const page of pagesOf(acked)) await this.#ack(page)
  }

  /** Tries to settle every lease of a cancelled task. */
  async settleCancelled(): Promise<void> {
    const cancelled = new Set(
      this.#calls('cancel').flatMap(({ args, result = [] }) => args.ids.filter((_, i) => result[i] === 'cancelled')),
    )
    const leases = this.#calls('reserve').flatMap(({ result = [] }) => result)
    const late = leases.filter(({ id }) => cancelled.has(id)).map(({ id, token }) => ({ id, token }))
    for (const page of pagesOf(late)) await this.#release(page)
  }

  async #ack(leases: readonly LeaseOf[]): Promise<void> {
    if (leases.length === 0) return
    await this.#call('ack', { leases }, () => this.#backend.ack(this.type, leases))
  }

  async #nack(leases: readonly LeaseOf[]): Promise<void> {
    if (leases.length === 0) return
    const retry = { baseMs: 1_000, factor: 2, capMs: 60_000 }
    const items = leases.map((lease) => ({
      ...lease,
      ...FAILURE,
      permanent: lease.token % 2 === 0,
    }))
    await this.#call('nack', { leases }, () => this.#backend.nack(this.type, retry, items))
  }

  async #release(leases: readonly LeaseOf[]): Promise<void> {
    if (leases.length === 0) return
    await this.#call('release', { leases }, () => this.#backend.release(this.type, leases))
  }

  async #cancel(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    await this.#call('cancel', { ids }, async () =>
      (await this.#backend.cancel(this.type, ids, 'admin')).map(({ kind }) => kind),
    )
  }

  /** Reads where every task is that was ever submitted, and the outcome of each retained one. */
  async locate(): Promise<void> {
    const all = this.#calls('submit').flatMap(({ args }) => args.tasks)
    for (const ids of pagesOf(all.map(({ id }) => id)))
      await this.#call('locate', { ids }, () => this.#backend.locate(this.type, ids))
    for (const ids of pagesOf(all.filter(({ isRetained }) => isRetained).map(({ id }) => id)))
      await this.#call('describe', { ids }, async () =>
        (await this.#backend.describe(this.type, ids)).map((each) =>
          each?.kind === 'stored' ? each.place : (each?.kind ?? null),
        ),
      )
  }

  #call<O extends Operation>(
    operation: O,
    args: ArgsOf<O>,
    run: () => Promise<ResultOf<O>>,
  ): Promise<ResultOf<O> | undefined> {
    const { history, name, isRefusal } = this.#deps
    return history.call(`${name}/${this.#queue}`, operation, args, run, isRefusal)
  }

  #calls<O extends Operation>(operation: O): readonly Call<O>[] {
    const isOwn = ({ client }: Call): boolean => queueOf(client) === this.#queue
    return this.#deps.history.calls.filter((call): call is Call<O> => call.operation === operation && isOwn(call))
  }
}

/** The task as a master stores it. The order of the fields of a body is part of the contract. */
function rowOf({ id, key, group, unique, labels, isRetained }: HistoryTask): NewTask {
  const head = [
    ...(isRetained === true ? [`"retain_seconds":${DAY_MS / 1_000}`] : []),
    ...(unique === undefined ? [] : [`"unique_key":${JSON.stringify(unique)}`]),
    ...(group === undefined ? [] : [`"group_key":${JSON.stringify(group)}`]),
    ...(labels === undefined ? [] : [`"labels":${labels}`]),
  ]
  return {
    ...NEW_TASK,
    id,
    key,
    ...(isRetained === true && { retainMs: DAY_MS }),
    ...(unique !== undefined && { unique: { key: unique, until: 'finished', onConflict: 'keep' } }),
    ...(group !== undefined && { group }),
    body: `{${[...head, `"payload":"${PADDING}"`].join()},"priority":0,"submitted_at":1}`,
  }
}

/** The labels in a body, as JSON. */
function labelsOf(body: string): { readonly labels?: string } {
  const { labels } = JSON.parse(body) as { readonly labels?: object }
  return labels === undefined ? {} : { labels: JSON.stringify(labels) }
}

function pagesOf<T>(items: readonly T[]): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(items.length / PAGE) }, (_, i) => items.slice(i * PAGE, (i + 1) * PAGE))
}
