/** StoreClients calls a store as its clients do, and records each call in a history. */
import { FleetError } from '../../src/protocol/index.ts'
import type { Backend, NewTask } from '../../src/storage/index.ts'
import type { ArgsOf, Call, History, LeaseOf, Operation, ResultOf } from '../kit/history.ts'

const TYPE = 'render'
/** Its config changes. */
const CONFIGURED = { type: TYPE, id: 'w1' }
/** Its config never changes, so it may always reserve with generation 0. */
const RESERVING = { type: TYPE, id: 'w2' }
const NAMESPACE = 'n'
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const NEW_TASK = { ownId: true, tier: 1, ttlMs: null, maxAttempts: null, submittedAtMs: 1 } as const
const FAILURE = { error: 'failed', retryInMs: HOUR_MS, jitter: 0.5 }
const PADDING = 'x'.repeat(300)
const PAGE = 500

export class StoreClients {
  readonly #backend: Backend
  readonly #history: History
  readonly #name: string
  #tasks = 0
  #beats = 0
  #refusals = 0

  /** @param name Part of the ids of the tasks and items that these clients make. */
  constructor(backend: Backend, history: History, name: string) {
    this.#backend = backend
    this.#history = history
    this.#name = name
  }

  /** How many calls were refused without an effect. */
  get refusals(): number {
    return this.#refusals
  }

  async register(): Promise<void> {
    const common = { conn: `${this.#name}/1`, instance: '', hardware: '{}', defaults: '{}' }
    await this.#backend.workers.register([CONFIGURED, RESERVING].map((worker) => ({ ...worker, ...common })))
  }

  /** Sends a report of a worker. It is not in the history: the store writes it without an fsync, and may lose it. */
  async beat(): Promise<void> {
    const stats = [JSON.stringify({ ts: ++this.#beats, text: PADDING.repeat(20) })]
    await this.#backend.workers.beat([{ ...RESERVING, conn: `${this.#name}/1`, stats }])
  }

  /** Submits five tasks, the first one with an idempotency key. */
  async submit(): Promise<void> {
    const number = this.#tasks++
    await this.#submit(
      Array.from({ length: 5 }, (_, i) => ({
        id: `${this.#name}-${number}-${i}`,
        key: i === 0 ? `key-${this.#name}-${number}` : null,
      })),
    )
  }

  /** Submits other tasks with the keys of earlier ones. */
  async repeatSubmits(): Promise<void> {
    const keys = this.#calls('submit').flatMap(({ args }) => args.tasks.flatMap(({ key }) => key ?? []))
    for (const page of pagesOf([...new Set(keys)])) await this.#submit(page.map((key) => ({ id: `again-${key}`, key })))
  }

  async #submit(tasks: readonly { id: string; key: string | null }[]): Promise<void> {
    const rows: readonly NewTask[] = tasks.map((task) => ({
      ...task,
      ...NEW_TASK,
      body: JSON.stringify({ payload: PADDING }),
    }))
    await this.#call('submit', { tasks }, async () => {
      const results = await this.#backend.tasks.submit(TYPE, DAY_MS, rows)
      return results.map((each, i) => {
        if (each.kind === 'queue_full') throw new Error('the queue is full')
        return each.kind === 'duplicate' ? each.duplicateOf : (tasks[i]?.id ?? '')
      })
    })
  }

  /** Reserves tasks, and acks, nacks or releases each of them. */
  async work(): Promise<void> {
    const limit = 6
    const leases = await this.#call('reserve', { limit }, async () => {
      const request = { worker: RESERVING.id, limit, gen: 0, defaultMaxAttempts: 3 }
      const { results } = await this.#backend.tasks.reserve(TYPE, HOUR_MS, [request])
      const [reservation] = results
      if (reservation?.kind !== 'leased') throw new Error(`the worker may not reserve: ${reservation?.reason}`)
      return reservation.leases.map(({ id, token }) => ({ id, token }))
    })
    const [acked = [], nacked = [], released = []] = [leases?.slice(0, 3), leases?.slice(3, 4), leases?.slice(4)]
    await Promise.all([this.#ack(acked), this.#nack(nacked), this.#release(released)])
  }

  /** Repeats every acknowledged ack. */
  async repeatAcks(): Promise<void> {
    const acked = this.#calls('ack').flatMap(({ args, result = [] }) =>
      args.leases.filter((_, i) => result[i] === 'ok'),
    )
    for (const page of pagesOf(acked)) await this.#ack(page)
  }

  async #ack(leases: readonly LeaseOf[]): Promise<void> {
    if (leases.length === 0) return
    await this.#call('ack', { leases }, () => this.#backend.tasks.ack(TYPE, leases))
  }

  async #nack(leases: readonly LeaseOf[]): Promise<void> {
    if (leases.length === 0) return
    const retry = { baseMs: 1_000, factor: 2, capMs: 60_000 }
    const items = leases.map((lease) => ({
      ...lease,
      ...FAILURE,
      permanent: lease.token % 2 === 0,
    }))
    await this.#call('nack', { leases }, () => this.#backend.tasks.nack(TYPE, retry, items))
  }

  async #release(leases: readonly LeaseOf[]): Promise<void> {
    if (leases.length === 0) return
    await this.#call('release', { leases }, () => this.#backend.tasks.release(TYPE, leases))
  }

  /** Reads where every task is that was ever submitted. */
  async locate(): Promise<void> {
    const all = this.#calls('submit').flatMap(({ args }) => args.tasks.map(({ id }) => id))
    for (const ids of pagesOf(all)) await this.#call('locate', { ids }, () => this.#backend.tasks.locate(TYPE, ids))
  }

  async push(): Promise<void> {
    const last = Math.max(0, ...this.#calls('push').flatMap(({ args }) => args.entries))
    const entries = [1, 2, 3, 4].map((i) => last + i)
    await this.#call('push', { entries }, async () => {
      await this.#backend.streams.push(TYPE, this.#name, last + 1, entries.map(String))
      return null
    })
  }

  /** @returns how many entries were popped. */
  async pop(limit: number): Promise<number> {
    const popped = await this.#call('pop', { limit }, async () =>
      (await this.#backend.streams.pop(TYPE, limit)).map(({ entry }) => Number(entry)),
    )
    return popped?.length ?? 0
  }

  async set(): Promise<void> {
    const value = 1 + Math.max(0, ...this.#calls('set').map(({ args }) => args.value))
    await this.#call('set', { value }, async () => {
      await this.#backend.kv.set(NAMESPACE, [{ key: 'k', value: String(value), ttlMs: null }])
      return null
    })
  }

  async get(): Promise<void> {
    await this.#call('get', null, async () => Number((await this.#backend.kv.get(NAMESPACE, ['k']))[0] ?? 0))
  }

  async add(): Promise<void> {
    await this.#call('add', { delta: 2 }, async () =>
      Number((await this.#backend.counters.add(NAMESPACE, [{ name: 'c', delta: 2 }]))[0]),
    )
  }

  async count(): Promise<void> {
    await this.#call('count', null, async () => Number((await this.#backend.counters.get(NAMESPACE, ['c']))[0]))
  }

  async putConfig(): Promise<void> {
    const expectGen = (await this.getConfig())?.gen ?? 0
    const config = JSON.stringify({ n: this.#calls('put_config').length })
    await this.#call('put_config', { config }, async () => {
      const put = await this.#backend.configs.put({
        ...CONFIGURED,
        expectGen,
        config,
        changed: ['n'],
        actor: 'admin',
      })
      return put.kind === 'stored' ? put.gen : null
    })
  }

  getConfig(): Promise<ResultOf<'get_config'> | undefined> {
    return this.#call('get_config', null, async () => {
      const row = (await this.#backend.configs.get([CONFIGURED]))[0] ?? null
      return row === null ? null : { gen: row.gen, config: row.config }
    })
  }

  /** Puts three items into the pool, claims up to two, releases the first one and removes the second. */
  async usePool(): Promise<void> {
    const number = this.#calls('put_items').length
    const ids = [0, 1, 2].map((i) => `${this.#name}-${number}-${i}`)
    await this.#call('put_items', { ids }, async () => {
      const items = ids.map((id) => ({ id, tags: '{}', payload: JSON.stringify(PADDING), expiresAtMs: null }))
      await this.#backend.pools.put(TYPE, items)
      return null
    })
    const claimed = await this.#call('claim', { limit: 2 }, async () => {
      const request = { owner: RESERVING.id, n: 2, holdMs: HOUR_MS, match: {} }
      return ((await this.#backend.pools.claim(TYPE, [request]))[0] ?? []).map(({ id, token }) => ({ id, token }))
    })
    const [first, second] = claimed ?? []
    if (first !== undefined)
      await this.#call('release_items', { leases: [first] }, () => this.#backend.pools.release(TYPE, [first]))
    if (second !== undefined)
      await this.#call('remove_items', { ids: [second.id] }, async () =>
        (await this.#backend.pools.remove(TYPE, [second])).map((result) => result === true),
      )
  }

  async listItems(): Promise<void> {
    await this.#call('list_items', null, async () =>
      (await this.#backend.pools.list(TYPE, 10_000)).items.map(({ id }) => id),
    )
  }

  /** Writes a value of this size, without a record of it. SQLite writes only pages that changed. */
  async fill(characters: number, letter: string): Promise<void> {
    await this.#backend.kv.set(NAMESPACE, [{ key: 'large', value: `"${letter.repeat(characters)}"`, ttlMs: null }])
  }

  #call<O extends Operation>(
    operation: O,
    args: ArgsOf<O>,
    run: () => Promise<ResultOf<O>>,
  ): Promise<ResultOf<O> | undefined> {
    return this.#history.call(this.#name, operation, args, run, (error) => {
      const isRefusal = error instanceof FleetError && error.outcome === 'not_sent'
      if (isRefusal) this.#refusals += 1
      return isRefusal
    })
  }

  #calls<O extends Operation>(operation: O): readonly Call<O>[] {
    return this.#history.calls.filter((call): call is Call<O> => call.operation === operation)
  }
}

function pagesOf<T>(items: readonly T[]): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(items.length / PAGE) }, (_, i) => items.slice(i * PAGE, (i + 1) * PAGE))
}
