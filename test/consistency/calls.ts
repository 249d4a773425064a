/** StoreCalls makes calls on single keys of a store, and records each of them in a history. */
import { FleetError } from '../../src/protocol/index.ts'
import type { Backend, LeaseRef, NewTask } from '../../src/storage/index.ts'
import type { ArgsOf, History, LeaseOf, Operation, ResultOf } from '../kit/history.ts'
import type { RecoveredKeys } from './protocol.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const VISIBILITY_MS = 12 * HOUR_MS
/** Longer than the clock of a server is stepped. */
const DELAY_MS = 30 * DAY_MS
/** The worker of each type that reserves. Its config never changes. */
const RESERVING = 'reserving'
const DEFAULTS = '{}'
const RETRY = { baseMs: 0, factor: 1, capMs: 0 }
const NEW_TASK = { ownId: true, key: null, tier: 1, ttlMs: null, maxAttempts: 1_000, submittedAtMs: 1 } as const

/** Codes that a call may be rejected with while its store is unavailable. */
const EXPECTED_CODES: readonly string[] = ['STORAGE_UNAVAILABLE', 'STORAGE_OVERLOADED']

export interface Tally {
  readonly done: number
  /** Calls that were rejected and had no effect. */
  readonly refused: number
  /** Calls without a result. */
  readonly unknown: number
}

export interface Settle {
  readonly type: string
  readonly lease: LeaseRef
}

/** Splits `group/name`: a namespace and a key, or a type and an id. */
export function partsOf(key: string): readonly [group: string, name: string] {
  const slash = key.indexOf('/')
  return [key.slice(0, slash), key.slice(slash + 1)]
}

export class StoreCalls {
  readonly #backend: Backend
  readonly #history: History
  readonly #process: string
  readonly #before: () => Promise<() => void>
  /** Errors that no outage explains. */
  readonly unexpected: string[] = []
  #recoveries = 0
  #tally: Tally = { done: 0, refused: 0, unknown: 0 }

  /**
   * @param process The name of this process in the history.
   * @param before Called before each call. Resolves to a function that is called after it.
   */
  constructor(backend: Backend, history: History, process: string, before: () => Promise<() => void>) {
    this.#backend = backend
    this.#history = history
    this.#process = process
    this.#before = before
  }

  get tally(): Tally {
    return this.#tally
  }

  // ── Key-value pairs, locks and counters ───────────────────────────────────────────────────────────────────────────

  set(key: string, value: string, ttlMs: number | null): Promise<null | undefined> {
    return this.call('kv_set', { key, value, ttlMs }, async () => {
      const [namespace, name] = partsOf(key)
      await this.#backend.kv.set(namespace, [{ key: name, value: JSON.stringify(value), ttlMs }])
      return null
    })
  }

  get(key: string): Promise<string | null | undefined> {
    return this.call('kv_get', { key }, async () => (await this.#values(partsOf(key)[0], [partsOf(key)[1]]))[0] ?? null)
  }

  delete(key: string): Promise<boolean | undefined> {
    return this.call('kv_delete', { key }, async () => {
      const [namespace, name] = partsOf(key)
      return (await this.#backend.kv.delete(namespace, [name]))[0] === true
    })
  }

  /** @returns the token, `null` if the lock is held. */
  acquire(key: string, holdMs: number): Promise<number | null | undefined> {
    return this.call('lock_acquire', { key, holdMs }, async () => {
      const [namespace, name] = partsOf(key)
      return (await this.#tokens(namespace, [name], holdMs))[0] ?? null
    })
  }

  extend(key: string, token: number, holdMs: number): Promise<boolean | undefined> {
    return this.call('lock_extend', { key, token, holdMs }, async () => {
      const [namespace, name] = partsOf(key)
      return (await this.#backend.locks.extend(namespace, [{ name, token, holdMs }]))[0]?.kind === 'extended'
    })
  }

  release(key: string, token: number): Promise<boolean | undefined> {
    return this.call('lock_release', { key, token }, async () => {
      const [namespace, name] = partsOf(key)
      return (await this.#backend.locks.release(namespace, [{ name, token }]))[0] === 'ok'
    })
  }

  add(key: string, delta: number): Promise<number | undefined> {
    return this.call('counter_add', { key, delta }, async () => {
      const [namespace, name] = partsOf(key)
      return Number((await this.#backend.counters.add(namespace, [{ name, delta }]))[0])
    })
  }

  count(key: string): Promise<number | undefined> {
    return this.call('counter_get', { key }, async () => {
      const [namespace, name] = partsOf(key)
      return Number((await this.#backend.counters.get(namespace, [name]))[0])
    })
  }

  // ── Configs ───────────────────────────────────────────────────────────────────────────────────────────────────────

  registerWorker(key: string): Promise<null | undefined> {
    return this.call('config_register', { key, config: DEFAULTS }, async () => {
      const [type, id] = partsOf(key)
      await this.#register(type, id)
      return null
    })
  }

  /** @returns the new generation, `null` for a conflict. */
  putConfig(key: string, expectGen: number, config: string): Promise<number | null | undefined> {
    return this.call('config_put', { key, expectGen, config }, async () => {
      const [type, id] = partsOf(key)
      const put = await this.#backend.configs.put({ type, id, expectGen, config, changed: ['n'], actor: 'admin' })
      return put.kind === 'stored' ? put.gen : null
    })
  }

  getConfig(key: string): Promise<ResultOf<'config_get'> | undefined> {
    return this.call('config_get', { key }, async () => {
      const [type, id] = partsOf(key)
      return (await this.#configs(type, [id]))[0] ?? null
    })
  }

  /** Raises a generation above that of a worker, as a poll does which finds that the store went back (G26). */
  raise(key: string, above: number): Promise<number | null | undefined> {
    return this.call('config_raise', { key, above }, async () => {
      const [type, id] = partsOf(key)
      const [raised] = await this.#backend.configs.raise([{ type, id, above }])
      return raised?.kind === 'raised' ? raised.gen : null
    })
  }

  // ── Tasks ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Registers the worker that reserves the tasks of a type. It is not in the history. */
  async prepare(type: string): Promise<void> {
    await this.#register(type, RESERVING)
  }

  submit(key: string): Promise<null | undefined> {
    return this.call('task_submit', { key }, async () => {
      const [type, id] = partsOf(key)
      const task: NewTask = { ...NEW_TASK, id, body: '{"payload":null,"priority":0,"submitted_at":1}' }
      const [result] = await this.#backend.tasks.submit(type, DAY_MS, [task])
      if (result?.kind !== 'queued') throw new Error(`a new task was ${result?.kind}`)
      return null
    })
  }

  reserve(type: string, limit: number): Promise<readonly LeaseOf[] | undefined> {
    return this.call('task_reserve', { type, limit }, async () => {
      const request = { worker: RESERVING, limit, gen: 0, defaultMaxAttempts: 3 }
      const [reservation] = (await this.#backend.tasks.reserve(type, VISIBILITY_MS, [request])).results
      // A failover may have lost the record of the worker: its master registers it again.
      if (reservation?.kind === 'refused' && reservation.reason === 'unknown') await this.prepare(type)
      return reservation?.kind === 'leased' ? reservation.leases.map(({ id, token }) => ({ id, token })) : []
    })
  }

  ack({ type, lease }: Settle): Promise<ResultOf<'task_ack'> | undefined> {
    return this.call('task_ack', { key: `${type}/${lease.id}`, token: lease.token }, async () =>
      soleOf(await this.#backend.tasks.ack(type, [lease])),
    )
  }

  releaseTask({ type, lease }: Settle): Promise<ResultOf<'task_release'> | undefined> {
    return this.call('task_release', { key: `${type}/${lease.id}`, token: lease.token }, async () =>
      soleOf(await this.#backend.tasks.release(type, [lease])),
    )
  }

  nack({ type, lease }: Settle, permanent: boolean): Promise<ResultOf<'task_nack'> | undefined> {
    const args = { key: `${type}/${lease.id}`, token: lease.token, value: permanent ? 'permanent' : 'retry' } as const
    return this.call('task_nack', args, async () => {
      const item = { ...lease, error: 'failed', retryInMs: 0, permanent, jitter: 0 }
      return soleOf(await this.#backend.tasks.nack(type, RETRY, [item]))
    })
  }

  cancel(key: string): Promise<ResultOf<'task_cancel'> | undefined> {
    return this.call('task_cancel', { key }, async () => {
      const [type, id] = partsOf(key)
      return soleOf(await this.#backend.tasks.cancel(type, [id], 'admin')).kind
    })
  }

  locate(key: string): Promise<string | null | undefined> {
    return this.call('task_locate', { key }, async () => {
      const [type, id] = partsOf(key)
      return (await this.#backend.tasks.locate(type, [id]))[0] ?? null
    })
  }

  // ── Unique keys of tasks ──────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Submits a task with a unique key. It is delayed, so no reserve leases it.
   *
   * @returns the task that has the key, or that was replaced; `null` if there was none.
   */
  submitUnique(key: string, id: string, onConflict: 'keep' | 'replace'): Promise<string | null | undefined> {
    return this.call(`unique_${onConflict}`, { key, value: id }, async () => {
      const [type, name] = partsOf(key)
      return soleOf(await this.#submitUnique(type, [name], [id], onConflict))
    })
  }

  cancelUnique(key: string, id: string): Promise<ResultOf<'unique_cancel'> | undefined> {
    return this.call('unique_cancel', { key, value: id }, async () => {
      const [type] = partsOf(key)
      return soleOf(await this.#backend.tasks.cancel(type, [id], 'admin')).kind
    })
  }

  // ── After a loss ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** Reads keys of one kind and one group. They are read together, and recorded one by one. */
  async recover(kind: keyof RecoveredKeys, keys: readonly string[]): Promise<void> {
    const [group] = partsOf(keys[0] ?? '')
    const names = keys.map((key) => partsOf(key)[1])
    const together = <T>(read: () => Promise<readonly T[]>): ((i: number) => Promise<T>) => {
      // The start of each call is recorded first.
      const all = new Promise<void>((resolve) => setImmediate(resolve)).then(read)
      return async (i) => soleOf((await all).slice(i, i + 1))
    }
    const recorded = <O extends Operation>(operation: O, args: object, at: (i: number) => Promise<ResultOf<O>>) =>
      Promise.all(keys.map((key, i) => this.call(operation, { ...args, key } as ArgsOf<O>, () => at(i))))
    switch (kind) {
      case 'kv':
        return void (await recorded(
          'kv_recover',
          {},
          together(() => this.#values(group, names)),
        ))
      case 'lock': {
        const holdMs = VISIBILITY_MS
        return void (await recorded(
          'lock_recover',
          { holdMs },
          together(() => this.#tokens(group, names, holdMs)),
        ))
      }
      case 'counter': {
        const read = (): Promise<readonly number[]> => this.#backend.counters.get(group, names)
        return void (await recorded('counter_recover', {}, together(read)))
      }
      case 'config':
        return void (await recorded(
          'config_recover',
          {},
          together(() => this.#configs(group, names)),
        ))
      case 'task': {
        const read = (): Promise<readonly (string | null)[]> => this.#backend.tasks.locate(group, names)
        return void (await recorded('task_recover', {}, together(read)))
      }
      case 'unique': {
        const ids = names.map((name) => `${this.#process}-${name}-${this.#recoveries++}`)
        const submitted = together(() => this.#submitUnique(group, names, ids, 'keep'))
        return void (await Promise.all(
          keys.map((key, i) => this.call('unique_recover', { key, value: ids[i] ?? '' }, () => submitted(i))),
        ))
      }
    }
  }

  async #submitUnique(
    type: string,
    names: readonly string[],
    ids: readonly string[],
    onConflict: 'keep' | 'replace',
  ): Promise<readonly (string | null)[]> {
    const notBeforeMs = Date.now() + DELAY_MS
    const fields = { payload: null, priority: 0, not_before: notBeforeMs / 1_000, submitted_at: 1 }
    const tasks = names.map((name, i): NewTask => ({
      ...NEW_TASK,
      id: ids[i] ?? '',
      notBeforeMs,
      unique: { key: name, until: 'finished', onConflict },
      body: JSON.stringify({ unique_key: name, ...fields }),
    }))
    const results = await this.#backend.tasks.submit(type, DAY_MS, tasks)
    return results.map((result) => {
      if (result.kind === 'queue_full') throw new Error('the queue is full')
      return result.kind === 'duplicate' ? result.duplicateOf : (result.replaced ?? null)
    })
  }

  async #values(namespace: string, names: readonly string[]): Promise<readonly (string | null)[]> {
    const values = await this.#backend.kv.get(namespace, names)
    return values.map((value) => (value === null ? null : (JSON.parse(value) as string)))
  }

  async #tokens(namespace: string, names: readonly string[], holdMs: number): Promise<readonly (number | null)[]> {
    const items = names.map((name) => ({ name, owner: this.#process, holdMs }))
    const results = await this.#backend.locks.acquire(namespace, items)
    return results.map((result) => (result.kind === 'acquired' ? result.token : null))
  }

  async #configs(type: string, ids: readonly string[]): Promise<readonly ResultOf<'config_get'>[]> {
    const rows = await this.#backend.configs.get(ids.map((id) => ({ type, id })))
    return rows.map((row) => (row === null ? null : { gen: row.gen, config: row.config }))
  }

  async #register(type: string, id: string): Promise<void> {
    const common = { conn: `${this.#process}/1`, instance: '', hardware: '{}', defaults: DEFAULTS }
    await this.#backend.workers.register([{ type, id, ...common }])
  }

  /** @returns `undefined` if the call was rejected. */
  async call<O extends Operation>(
    operation: O,
    args: ArgsOf<O>,
    run: () => Promise<ResultOf<O>>,
  ): Promise<ResultOf<O> | undefined> {
    const after = await this.#before()
    try {
      const result = await this.#history.call(this.#process, operation, args, run, hadNoEffect)
      if (result === undefined) this.#count({ refused: 1 })
      else this.#count({ done: 1 })
      return result
    } catch (error) {
      this.#count({ unknown: 1 })
      if (!(error instanceof FleetError) || !EXPECTED_CODES.includes(error.code))
        this.unexpected.push(`${operation}: ${String(error)}`)
      return undefined
    } finally {
      after()
    }
  }

  #count({ done = 0, refused = 0, unknown = 0 }: Partial<Tally>): void {
    const { done: d, refused: r, unknown: u } = this.#tally
    this.#tally = { done: d + done, refused: r + refused, unknown: u + unknown }
  }
}

function hadNoEffect(error: unknown): boolean {
  return error instanceof FleetError && EXPECTED_CODES.includes(error.code) && error.outcome === 'not_sent'
}

function soleOf<T>(items: readonly T[]): T {
  if (items.length !== 1) throw new Error(`one result was expected, not ${items.length}`)
  return items[0] as T
}
