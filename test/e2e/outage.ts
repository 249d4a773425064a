/**
 * @module test/e2e/outage
 * Runs a fleet on a Redis that becomes unavailable: one master, workers, submitters that record every id and response,
 * one long task, and a waiting reserve of the test. The guarantees of every outage are checked in one place.
 *
 *   work ──▶ begin() ─ rejected, not ready, alive ─▶ end() ──▶ served within 10 s ──▶ every confirmed task is done
 */
import { expect } from '@jest/globals'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { eventually, SLACK } from '../kit/index.ts'
import { startRedis, type RedisOptions, type RedisServer } from '../kit/redis-server.ts'
import { Fleet, WORKER_TOKEN, type ApiResponse, type Proc } from './fleet.ts'

const AUTOMATIONS = { SVC_AUTOMATIONS: join(process.cwd(), 'test/e2e/automations/outage.mjs') }

/** Time limits of G18. */
const REFUSED_WITHIN_MS = 2_000 * SLACK
const NOT_READY_WITHIN_MS = 5_000 * SLACK
const BACK_WITHIN_MS = 10_000 * SLACK
export const WAITERS_SERVED_WITHIN_MS = 2_000 * SLACK

const SUBMITTERS = 8
/** Pause between two submits of each submitter. It bounds the number of tasks that are looked up at the end. */
const SUBMIT_EVERY_MS = 5
const ASKED_TOGETHER = 100
/** Requests that are repeated beside the submits: reads, a change, a pop. */
const PATROL: readonly (readonly [method: string, path: string, body?: object])[] = [
  ['GET', '/automations/quick/workers'],
  ['GET', '/automations/quick/workers/w'],
  ['PATCH', '/automations/quick/workers/w/config', { slots: 8 }],
  ['GET', '/automations/quick/queue'],
  ['GET', '/automations/quick/dead'],
  ['POST', '/automations/quick/output/pop', { n: 10 }],
  ['GET', '/automations/quick/workers/w/config/history'],
]
const PATROL_EVERY_MS = 100

interface Submitted {
  readonly task_id: string
}
interface Leased {
  readonly task_id: string
  readonly token: number
}
interface RpcResponse {
  readonly result?: { readonly tasks?: readonly Leased[]; readonly results?: readonly { readonly ok: boolean }[] }
}
interface RejectedCall {
  readonly what: string
  readonly status: number
  readonly retryAfter: string | null
  readonly detail: string
}

export interface OutageOptions {
  readonly redis?: RedisOptions
  /** URL of the store for the master, if it is not the server itself. */
  readonly url?: (redis: RedisServer) => Promise<string> | string
  readonly settings?: Readonly<Record<string, string>>
}

export class OutageFixture {
  readonly fleet: Fleet
  readonly redis: RedisServer
  readonly master: Proc
  readonly workers: readonly Proc[]
  readonly acknowledged: string[] = []
  readonly refused: RejectedCall[] = []
  /** When each id was first missing in the store. */
  readonly #goneAtMs = new Map<string, number>()
  readonly #ended = new AbortController()
  #load: Promise<unknown> = Promise.resolve()
  #serial = 0
  /** The slowest request that got a response. */
  longest = { ms: 0, what: '' }

  private constructor(redis: RedisServer, fleet: Fleet, master: Proc, workers: readonly Proc[]) {
    this.redis = redis
    this.fleet = fleet
    this.master = master
    this.workers = workers
  }

  static async start({
    redis: options = { appendfsync: 'always' },
    url = (redis) => redis.url,
    settings = {},
  }: OutageOptions = {}): Promise<OutageFixture> {
    const redis = await startRedis(options)
    const fleet = new Fleet(await url(redis))
    try {
      const master = await fleet.startMaster({ ...AUTOMATIONS, ...settings })
      const workers = ['quick', 'steady', 'still'].map((type) =>
        fleet.startWorker(type, 'w', { ...AUTOMATIONS, NOTES: join(fleet.directory, 'notes') }),
      )
      await Promise.all([
        fleet.configure('quick', 'w', { enabled: true, slots: 8 }),
        fleet.configure('steady', 'w', { enabled: true, slots: 1 }),
      ])
      await eventually(
        'all workers are registered',
        async () => (await fleet.call('GET', '/automations/still/workers/w')).status === 200,
      )
      return new OutageFixture(redis, fleet, master, workers)
    } catch (error) {
      await Promise.all([fleet.stop(), redis.close()])
      throw error
    }
  }

  async close(): Promise<void> {
    this.#ended.abort()
    await this.fleet.stop()
    await this.#load
    await this.redis.close()
  }

  // ── Load ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Submits tasks under ids of the test one after the other, and records the responses. */
  startLoad(submitEveryMs = SUBMIT_EVERY_MS): void {
    this.#load = Promise.all([
      ...Array.from({ length: SUBMITTERS }, () => this.#submitting(submitEveryMs)),
      this.#patrolling(),
    ])
  }

  async endLoad(): Promise<void> {
    this.#ended.abort()
    await this.#load
  }

  async submit(
    type: string,
    ms: number,
    id = `t${(this.#serial += 1)}`,
  ): Promise<ApiResponse<Submitted & { detail: string }>> {
    return this.fleet.call('POST', `/automations/${type}/tasks`, { task_id: id, payload: { ms } })
  }

  /** Submits until the task is acknowledged. Submitting a known id again is a duplicate, not another task (D27). */
  async submitted(type: string, ms: number, id = `t${(this.#serial += 1)}`): Promise<string> {
    await eventually(`${id} is acknowledged`, async () => (await this.submit(type, ms, id)).status === 200, {
      context: () => this.#seen(),
    })
    return id
  }

  async moreAcknowledged(count: number, withinMs = 30_000): Promise<void> {
    const wanted = this.acknowledged.length + count
    await eventually(`${count} more tasks are acknowledged`, async () => this.acknowledged.length >= wanted, {
      context: () => this.#seen(),
      withinMs,
    })
  }

  /** Ids of all task runs so far with their start time. A task that ran twice is listed twice. */
  begun(): readonly (readonly [id: string, atMs: number])[] {
    const file = join(this.fleet.directory, 'notes')
    const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
    return lines.map((line) => line.split(' ')).map(([id = '', atMs]) => [id, Number(atMs)])
  }

  async #submitting(everyMs: number): Promise<void> {
    while (!this.#ended.signal.aborted) {
      const answer = await this.#timed('a submit', () => this.submit('quick', 1))
      if (answer === null) return
      if (answer.status === 200) this.acknowledged.push(answer.body.task_id)
      await pause(everyMs)
      if (this.acknowledged.length % 50 === 0) await this.#look(this.acknowledged.at(-25) ?? '')
    }
  }

  async #patrolling(): Promise<void> {
    while (!this.#ended.signal.aborted) {
      const responses = await Promise.all(
        PATROL.map(([method, path, body]) =>
          this.#timed(`${method} ${path}`, () => this.fleet.call<{ detail: string }>(method, path, body)),
        ),
      )
      if (responses.includes(null)) return
      await pause(PATROL_EVERY_MS)
    }
  }

  /** Records the duration and a rejection. Returns null if the master has stopped. */
  async #timed<T extends { detail: string }>(
    what: string,
    call: () => Promise<ApiResponse<T>>,
  ): Promise<ApiResponse<T> | null> {
    const startedMs = performance.now()
    const answer = await call().catch(() => null)
    if (answer === null) return null
    const ms = Math.round(performance.now() - startedMs)
    if (ms > this.longest.ms) this.longest = { ms, what: `${what}, status ${answer.status}` }
    if (answer.status !== 200)
      this.refused.push({
        what,
        status: answer.status,
        retryAfter: answer.headers.get('retry-after'),
        detail: answer.body.detail,
      })
    return answer
  }

  // ── A reserve made by the test ───────────────────────────────────────────────────────────────────────────────────

  async #rpc(method: string, params: object): Promise<RpcResponse> {
    const response = await fetch(`${this.fleet.url}/api/v1/automations/still/workers/w/rpc`, {
      method: 'POST',
      headers: { authorization: `Bearer ${WORKER_TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    return (await response.json()) as RpcResponse
  }

  /** Waits for the next task of `still` through every outage, acks it and returns its id. */
  waitForTask(): Promise<string> {
    const served = this.#reserved()
    served.catch(() => undefined) // A test that failed earlier does not await it.
    return served
  }

  async #reserved(): Promise<string> {
    for (;;) {
      const { result } = await this.#rpc('tasks.reserve', { limit: 1, wait_ms: 30_000 })
      const [task] = result?.tasks ?? []
      if (task === undefined) continue // The deadline passed, or the store is unavailable.
      await eventually(
        'the ack is accepted',
        async () =>
          (await this.#rpc('tasks.ack', { tasks: [{ task_id: task.task_id, token: task.token }] })).result?.results?.[0]
            ?.ok === true,
      )
      return task.task_id
    }
  }

  // ── The checks ────────────────────────────────────────────────────────────────────────────────────────────────────

  get epoch(): Promise<string | null> {
    return this.fleet.call('GET', '/me').then(({ headers }) => headers.get('muster-epoch'))
  }

  async status(path: '/healthz' | '/readyz'): Promise<number> {
    return (await fetch(this.fleet.url + path)).status
  }

  /**
   * Call when the store became unavailable. Checks that calls are rejected and that the master is not ready but alive.
   */
  async isRefused(): Promise<void> {
    const goneMs = performance.now()
    const before = this.refused.length
    await eventually('the master is not ready', async () => (await this.status('/readyz')) === 503, {
      context: () => this.#seen(),
      withinMs: NOT_READY_WITHIN_MS,
    })
    await eventually(
      'every submitter was refused',
      async () => this.refused.length >= before + SUBMITTERS + PATROL.length,
      { context: () => this.#seen(), withinMs: NOT_READY_WITHIN_MS },
    )
    expect(performance.now() - goneMs).toBeLessThan(NOT_READY_WITHIN_MS)
    expect(await this.status('/healthz')).toBe(200)
  }

  /** Call when the store is available again. Checks that calls are served in time. `waiting`: the waiting reserve. */
  async isServed(waiting: Promise<string>): Promise<void> {
    const returnedMs = performance.now()
    const left = (): number => BACK_WITHIN_MS - (performance.now() - returnedMs)
    await this.moreAcknowledged(1, left())
    await eventually('the master is ready', async () => (await this.status('/readyz')) === 200, {
      context: () => this.#seen(),
      withinMs: left(),
    })
    const submittedMs = performance.now()
    const id = await this.submitted('still', 0)
    expect(await waiting).toBe(id)
    expect(performance.now() - submittedMs).toBeLessThan(WAITERS_SERVED_WITHIN_MS)
    const fresh = this.acknowledged.at(-1) ?? ''
    await eventually('a new task has started', async () => this.begun().some(([begun]) => begun === fresh), {
      context: () => this.#seen(),
      withinMs: left(),
    })
    expect(performance.now() - returnedMs).toBeLessThan(BACK_WITHIN_MS)
  }

  /**
   * Ends the load. Checks that every acknowledged task ran and is done, that no finished task ran again, and that
   * rejections were in time and with Retry-After.
   */
  async allDone(withinMs = 60_000): Promise<void> {
    await this.endLoad()
    await eventually(
      'every acknowledged task is done',
      async () => {
        const left = this.acknowledged.filter((id) => !this.#goneAtMs.has(id))
        return (
          (await Promise.all(left.slice(0, ASKED_TOGETHER).map((id) => this.#look(id)))).every(Boolean) &&
          left.length <= ASKED_TOGETHER
        )
      },
      { context: () => this.#seen(), withinMs },
    )
    const begun = this.begun()
    const ids = new Set(begun.map(([id]) => id))
    expect(this.acknowledged.filter((id) => !ids.has(id))).toEqual([])
    expect(begun.filter(([id, atMs]) => atMs > (this.#goneAtMs.get(id) ?? Infinity))).toEqual([])
    expect((await this.fleet.ok<{ length: number }>('GET', '/automations/quick/dead')).length).toBe(0)
    expect(this.refused.find(({ status, retryAfter }) => status !== 503 || retryAfter === null)).toBeUndefined()
    expect([this.longest.what, this.longest.ms < REFUSED_WITHIN_MS]).toEqual([this.longest.what, true])
  }

  /** Checks that the long task ran once through the whole outage, with one output. */
  async ranOnce(id: string): Promise<void> {
    await eventually(
      'the long task is done',
      async () => (await this.fleet.call('GET', `/automations/steady/tasks/${id}`)).status === 404,
      { context: () => this.#seen() },
    )
    expect(this.begun().filter(([begun]) => begun === id)).toHaveLength(1)
    await eventually(
      'its output is stored',
      async () => (await this.fleet.ok<{ length: number }>('GET', '/automations/steady/output/length')).length > 0,
      { context: () => this.#seen(), withinMs: 5_000 },
    )
    const outputs = await this.fleet.ok<{ payload: Submitted }[]>('POST', '/automations/steady/output/pop', { n: 100 })
    expect(outputs.map(({ payload }) => payload.task_id)).toEqual([id])
  }

  async #look(id: string): Promise<boolean> {
    const answer = await this.fleet.call('GET', `/automations/quick/tasks/${id}`).catch(() => null)
    if (answer?.status === 404) this.#goneAtMs.set(id, Date.now())
    return answer?.status === 404
  }

  #seen(): string {
    return (
      `${this.acknowledged.length} acknowledged, ${this.refused.length} rejected, ` +
      `the last with ${JSON.stringify(this.refused.at(-1))}\n` +
      this.master.output().slice(-4_000)
    )
  }
}

/** How a store becomes unavailable and returns. */
export interface Outage {
  readonly begin: (fixture: OutageFixture) => Promise<unknown>
  readonly end: (fixture: OutageFixture) => Promise<unknown>
  readonly lastsMs?: number
}

/** Runs one outage from beginning to end with all checks. */
export async function throughOutage(fixture: OutageFixture, { begin, end, lastsMs = 3_000 }: Outage): Promise<void> {
  const epoch = await fixture.epoch
  const long = await fixture.submitted('steady', lastsMs + 2_500)
  const waiting = fixture.waitForTask()
  fixture.startLoad()
  await fixture.moreAcknowledged(300)
  await eventually('the long task has started', async () => fixture.begun().some(([id]) => id === long))
  const gone = performance.now()
  await begin(fixture)
  await fixture.isRefused()
  await pause(Math.max(0, lastsMs - (performance.now() - gone)))
  expect(await fixture.status('/healthz')).toBe(200)
  await end(fixture)
  await fixture.isServed(waiting)
  await fixture.moreAcknowledged(300)
  await fixture.allDone()
  await fixture.ranOnce(long)
  expect(await fixture.epoch).toBe(epoch)
  for (const worker of fixture.workers) expect(worker.child.exitCode).toBeNull()
}
