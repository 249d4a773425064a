/** StoreClients calls a store as its clients do, and records each call in a history. */
import { FleetError } from '../../src/protocol/index.ts'
import type { Backend } from '../../src/storage/index.ts'
import type { ArgsOf, Call, History, Operation, ResultOf } from '../kit/history.ts'
import { TaskClients } from './task-clients.ts'

const TYPE = 'render'
/** Its config changes. */
const CONFIGURED = { type: TYPE, id: 'w1' }
/** Its config never changes, so it may always reserve with generation 0. */
const RESERVING = { type: TYPE, id: 'w2' }
const NAMESPACE = 'n'
const HOUR_MS = 3_600_000
const PADDING = 'x'.repeat(300)

export class StoreClients {
  readonly #backend: Backend
  readonly #history: History
  readonly #name: string
  readonly #queues: readonly [TaskClients, TaskClients]
  #submits = 0
  #works = 0
  #beats = 0
  #refusals = 0

  /**
   * @param name Part of the ids of the tasks and items that these clients make.
   * @param isRetaining False: no outcome is retained. A full store may skip outcomes.
   */
  constructor(backend: Backend, history: History, name: string, { isRetaining = true } = {}) {
    this.#backend = backend
    this.#history = history
    this.#name = name
    const deps = { backend, history, name, worker: RESERVING.id, isRetaining, isRefusal: this.#isRefusal }
    this.#queues = [new TaskClients('plain', deps), new TaskClients('grouped', deps)]
  }

  /** How many calls were refused without an effect. */
  get refusals(): number {
    return this.#refusals
  }

  async register(): Promise<void> {
    const common = { conn: `${this.#name}/1`, instance: '', hardware: '{}', defaults: '{}' }
    const reserving = this.#queues.map(({ type }) => ({ type, id: RESERVING.id }))
    await this.#backend.workers.register([CONFIGURED, ...reserving].map((worker) => ({ ...worker, ...common })))
    await this.setGroupPolicies()
  }

  /** Stores have no policies, so each start sets them. */
  async setGroupPolicies(): Promise<void> {
    for (const queue of this.#queues) await queue.setGroupPolicy()
  }

  /** Sends a report of a worker. It is not in the history: the store writes it without an fsync, and may lose it. */
  async beat(): Promise<void> {
    const stats = [JSON.stringify({ ts: ++this.#beats, text: PADDING.repeat(20) })]
    await this.#backend.workers.beat([{ ...RESERVING, conn: `${this.#name}/1`, stats }])
  }

  /** The queues take turns. */
  submit(): Promise<void> {
    return this.#queueOf(this.#submits++).submit()
  }

  /** Reserves tasks of one queue, and ends leases. The queues take turns. */
  work(): Promise<void> {
    return this.#queueOf(this.#works++).work()
  }

  /** Submits other tasks with the keys of earlier ones. */
  async repeatSubmits(): Promise<void> {
    for (const queue of this.#queues) await queue.repeatSubmits()
  }

  /** Repeats every acknowledged ack, and tries to settle every lease of a cancelled task. */
  async repeatAcks(): Promise<void> {
    for (const queue of this.#queues) {
      await queue.repeatAcks()
      await queue.settleCancelled()
    }
  }

  /** Reads where every task is that was ever submitted, and what is retained of it. */
  async locate(): Promise<void> {
    for (const queue of this.#queues) await queue.locate()
  }

  #queueOf(turn: number): TaskClients {
    return this.#queues[turn % 2 === 0 ? 0 : 1]
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

  readonly #isRefusal = (error: unknown): boolean => {
    const isRefusal = error instanceof FleetError && error.outcome === 'not_sent'
    if (isRefusal) this.#refusals += 1
    return isRefusal
  }

  #call<O extends Operation>(
    operation: O,
    args: ArgsOf<O>,
    run: () => Promise<ResultOf<O>>,
  ): Promise<ResultOf<O> | undefined> {
    return this.#history.call(this.#name, operation, args, run, this.#isRefusal)
  }

  #calls<O extends Operation>(operation: O): readonly Call<O>[] {
    return this.#history.calls.filter((call): call is Call<O> => call.operation === operation)
  }
}
