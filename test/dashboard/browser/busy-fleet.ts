/**
 * @module test/dashboard/browser/busy-fleet
 * The fleet of many-workers with data for every page: waiting, retrying and dead tasks, entries in a stream and a pool
 * with claims. Everything is written through the storage contract, as a master does.
 */
import type { OverviewBody, QueueCountsBody, RolloutBody, WorkerBody } from '../../../src/protocol/index.ts'
import type { Lease, NewTask, Tier } from '../../../src/storage/index.ts'
import { ADMIN_TOKEN } from '../../e2e/fleet.ts'
import { ManyWorkers } from './many-workers.ts'

const DAY_MS = 86_400_000
const wordOf = (n: number): string => String(n).replace(/\d/g, (digit) => 'abcdefghij'.charAt(Number(digit)))
const RETRY = { baseMs: 600_000, factor: 2, capMs: 600_000 } as const

export class BusyFleet extends ManyWorkers {
  #seq = 0

  /** Queues the tasks `prefix-1`, `prefix-2`, … in the tier. */
  async queueTasks(
    type: string,
    prefix: string,
    count: number,
    tier: Tier = 1,
    payload: object = { to: 'a@example.net' },
  ): Promise<void> {
    const submitted = Date.now() - 400_000
    const priority = 1 - tier
    for (let first = 1; first <= count; first += 500) {
      const tasks = Array.from({ length: Math.min(500, count - first + 1) }, (_, n): NewTask => ({
        id: `${prefix}-${first + n}`,
        ownId: true,
        key: null,
        tier,
        ttlMs: null,
        maxAttempts: 3,
        submittedAtMs: submitted,
        body: JSON.stringify({ payload, priority, submitted_at: submitted / 1_000 }),
      }))
      await this.backend.tasks.submit(type, DAY_MS, tasks)
    }
  }

  /** Submits the tasks `prefix-1`, `prefix-2`, … through the API, with further fields. */
  async submit(type: string, prefix: string, count: number, fields: object): Promise<void> {
    const tasks = Array.from({ length: count }, (_, n) => ({
      task_id: `${prefix}-${n + 1}`,
      payload: { to: 'a@example.net' },
      ...fields,
    }))
    await this.#call('POST', `automations/${type}/tasks/batch`, { tasks })
  }

  /** Leases tasks for an hour, at most `limit`. */
  async leaseTasks(type: string, limit: number): Promise<readonly Lease[]> {
    const worker = await this.#reserver(type)
    const { results } = await this.backend.tasks.reserve(type, 3_600_000, [
      { worker, limit, gen: 0, defaultMaxAttempts: 3 },
    ])
    return results[0]?.kind === 'leased' ? results[0].leases : []
  }

  async ackTasks(type: string, leases: readonly Lease[]): Promise<void> {
    await this.backend.tasks.ack(type, leases)
  }

  async cancel(type: string, ids: readonly string[]): Promise<void> {
    await this.#call('POST', `automations/${type}/tasks/select`, { action: 'cancel', task_ids: ids })
  }

  /** The overview may be some seconds old. */
  async counts(type: string): Promise<Partial<QueueCountsBody>> {
    const { automations } = (await this.#call('GET', 'overview')) as OverviewBody
    return automations[type]?.queue ?? {}
  }

  /** Stores the report of a rollout, as an operator does. */
  async putRollout(type: string, name: string, report: RolloutBody): Promise<void> {
    await this.#call('PUT', `automations/${type}/rollouts/${name}`, report)
  }

  async removeRollout(type: string, name: string): Promise<void> {
    await this.#call('DELETE', `automations/${type}/rollouts/${name}`)
  }

  /** Stores a revision, and gives it to workers on behalf of a manager. */
  async apply(type: string, revision: string, managedBy: string, ids: readonly string[]): Promise<void> {
    await this.#call('PUT', `automations/${type}/revisions/${revision}`, { config: { enabled: true } })
    const { epoch } = await this.backend.meta.info()
    const workers = await Promise.all(
      ids.map(async (id) => {
        const path = `automations/${type}/workers/${id}`
        const { config_gen: gen, managed_by: by } = (await this.#call('GET', path)) as WorkerBody
        return { worker_id: id, if_match: `${epoch}.${gen}`, if_managed_by: by }
      }),
    )
    await this.#call('POST', `automations/${type}/configs`, { revision, managed_by: managedBy, workers })
  }

  async #call(method: string, path: string, body?: object): Promise<unknown> {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' }
    const response = await fetch(`${this.url}/api/v1/${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    return response.json()
  }

  /** Makes tasks die. In the error, `{n}` becomes their number, `{word}` a unique word. The queue must be empty. */
  async killTasks(type: string, prefix: string, count: number, error: string, payload?: object): Promise<void> {
    await this.queueTasks(type, prefix, count, 0, payload)
    await this.#settle(type, count, (n) => ({
      error: error.replace('{n}', String(n)).replace('{word}', wordOf(n)),
      retryInMs: null,
      permanent: true,
    }))
  }

  /** Makes tasks fail once and wait for their retry. */
  async delayTasks(type: string, prefix: string, count: number): Promise<void> {
    await this.queueTasks(type, prefix, count, 0)
    await this.#settle(type, count, () => ({ error: 'later', retryInMs: DAY_MS / 2, permanent: false }))
  }

  async #settle(
    type: string,
    count: number,
    how: (n: number) => { readonly error: string; readonly retryInMs: number | null; readonly permanent: boolean },
  ): Promise<void> {
    const worker = await this.#reserver(type)
    let done = 0
    while (done < count) {
      const {
        results: [reservation],
      } = await this.backend.tasks.reserve(type, 60_000, [
        { worker, limit: Math.min(500, count - done), gen: 0, defaultMaxAttempts: 3 },
      ])
      if (reservation?.kind !== 'leased' || reservation.leases.length === 0)
        throw new Error(`no task of ${type} to settle: ${JSON.stringify(reservation)}`)
      const { leases } = reservation
      await this.backend.tasks.nack(
        type,
        RETRY,
        leases.map(({ id, token }, n) => ({
          id,
          token,
          ...how(done + n + 1),
          jitter: 0,
        })),
      )
      done += leases.length
    }
  }

  /** Registers a worker that only reserves tasks. */
  async #reserver(type: string): Promise<string> {
    const id = 'hand-of-the-test'
    await this.backend.workers.register([
      {
        type,
        id,
        conn: `zzzz/hand-${type}`,
        instance: '',
        hardware: JSON.stringify({ cores: 1, ram_gb: 1, hostname: 'h', kernel: 'k' }),
        defaults: JSON.stringify({ enabled: true, slots: 1, max_attempts: 3, recycle_seconds: 0 }),
      },
    ])
    return id
  }

  async emit(type: string, payloads: readonly object[]): Promise<void> {
    for (let at = 0; at < payloads.length; at += 1_000) {
      const entries = payloads
        .slice(at, at + 1_000)
        .map((payload, n) => JSON.stringify({ slot_id: n % 4, ts: Date.now() / 1_000, payload }))
      await this.backend.streams.push(type, 'test', (this.#seq += 1), entries)
    }
  }

  async fillPool(pool: string, count: number, claimed: number): Promise<void> {
    const items = Array.from({ length: count }, (_, n) => ({
      id: `item-${n + 1}`,
      tags: JSON.stringify({ region: n % 2 === 0 ? 'eu' : 'us' }),
      payload: JSON.stringify({ user: `sender-${n + 1}` }),
      expiresAtMs: n % 3 === 0 ? Date.now() + 3_600_000 : null,
    }))
    await this.backend.pools.put(pool, items)
    await this.backend.pools.claim(pool, [{ owner: 'test', n: claimed, holdMs: 90_000, match: {} }])
  }
}
