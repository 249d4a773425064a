/** A master on virtual time, whose workers are rows of its store: the test reports what they do. */
import { buildCatalog, defineBatch, defineContinuous, Type } from '../../../src/automation/index.ts'
import { RESERVED_METRICS, type DeadGroupsBody, type OperationShown } from '../../../src/protocol/index.ts'
import { seededRandom, VirtualTime } from '../../../src/runtime/index.ts'
import type { Backend } from '../../../src/storage/index.ts'
import { MemoryBackend } from '../../../src/storage/memory/index.ts'
import { runMaster, type TestMaster } from '../../kit/running-master.ts'
import { ask, leasesOf, RETRY } from '../../storage/contract/fixture.ts'

export const TYPE = 'mailer'
export const PATH = `/api/v1/automations/${TYPE}/operations`
const DEFAULTS = { enabled: false, slots: 1, max_attempts: 3, recycle_seconds: 0 }
const HARDWARE = '{"cores":2,"ram_gb":4,"hostname":"node-7","kernel":"6.1"}'
/** Longer than the heartbeat of a master is valid. */
const EXPIRED_MS = 20_000

const operationCatalog = () =>
  buildCatalog([
    defineBatch({
      type: TYPE,
      payload: Type.Object({ to: Type.String() }),
      config: Type.Object({
        host: Type.Optional(Type.String({ maxLength: 20 })),
        region: Type.Optional(Type.String({ default: 'eu' })),
        url: Type.Optional(Type.String()),
        key: Type.Optional(Type.String({ writeOnly: true, minLength: 4 })),
      }),
      run: async () => undefined,
    }),
    defineContinuous({ type: 'probe', output: Type.Object({ ok: Type.Boolean() }), run: async () => undefined }),
  ])

export interface Reported {
  readonly state?: 'RUNNING' | 'ERROR' | 'IDLE'
  readonly gen?: number
  readonly lastError?: string
  readonly refusedGen?: number
}

export class OperationFixture {
  readonly master: TestMaster
  readonly backend: Backend
  readonly time: VirtualTime
  masterId = ''

  private constructor(master: TestMaster, backend: Backend, time: VirtualTime) {
    this.master = master
    this.backend = backend
    this.time = time
  }

  /** @param shared A stopped master, whose store and time the new one has. */
  static async open(shared?: OperationFixture): Promise<OperationFixture> {
    const time = shared?.time ?? new VirtualTime()
    const backend = shared?.backend ?? new MemoryBackend({ clock: time, random: seededRandom(1) })
    const master = await runMaster({ backend, clock: time, timers: time, catalog: operationCatalog() })
    const fixture = new OperationFixture(master, backend, time)
    const [first = ''] = (await backend.meta.beat('zzz')).filter((id) => id !== 'zzz' && id !== shared?.masterId)
    fixture.masterId = first
    await fixture.advance(EXPIRED_MS)
    return fixture
  }

  /** Advances the time by steps of a second, and lets the master complete each step. */
  async advance(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 1_000) {
      await this.time.advance(Math.min(1_000, left))
      for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve))
    }
  }

  async connect(...ids: string[]): Promise<void> {
    const conn = `${this.masterId}/1`
    await this.backend.workers.register(
      ids.map((id) => ({
        type: TYPE,
        id,
        conn,
        instance: 'i',
        hardware: HARDWARE,
        defaults: JSON.stringify(DEFAULTS),
      })),
    )
    for (const id of ids) await this.report(id, { gen: 0 })
  }

  async disconnect(...ids: string[]): Promise<void> {
    await this.backend.workers.disconnect(ids.map((id) => ({ type: TYPE, id, conn: `${this.masterId}/1` })))
  }

  async report(id: string, { state = 'RUNNING', gen = 0, lastError, refusedGen }: Reported): Promise<void> {
    const metrics = refusedGen === undefined ? {} : { [RESERVED_METRICS.refusedConfigGen]: refusedGen }
    const stats = JSON.stringify({ slots: 1, cpu_pct: 0, rss_mb: 1, ts: 1, per_slot: [], metrics })
    await this.backend.workers.beat([
      {
        type: TYPE,
        id,
        conn: `${this.masterId}/1`,
        state: { state, gen, lastError: lastError ?? null },
        ...(refusedGen !== undefined && { stats: [stats] }),
      },
    ])
  }

  /** Every worker applies its stored config. */
  async applyAll(): Promise<void> {
    const rows = await this.backend.workers.page(TYPE, null, 1_000)
    for (const { id, config, connected } of rows) if (connected) await this.report(id, { gen: config.gen })
  }

  async gens(): Promise<Record<string, number>> {
    const rows = await this.backend.workers.page(TYPE, null, 1_000)
    return Object.fromEntries(rows.map(({ id, config }) => [id, config.gen]))
  }

  async slots(): Promise<Record<string, unknown>> {
    const rows = await this.backend.workers.page(TYPE, null, 1_000)
    return Object.fromEntries(
      rows.map(({ id, config }) => [id, (JSON.parse(config.config) as { slots: unknown }).slots]),
    )
  }

  /** Submits tasks that die with the error, unless tasks wait already: these die instead. */
  async kill(count: number, error = 'boom'): Promise<void> {
    const tasks = Array.from({ length: count }, () => ({ payload: { to: 'a' } }))
    for (let from = 0; from < count; from += 500)
      await this.call('POST', `/api/v1/automations/${TYPE}/tasks/batch`, { tasks: tasks.slice(from, from + 500) })
    const how = { error, retryInMs: null, permanent: true, jitter: 0 }
    for (let left = count; left > 0; left -= 500) {
      const request = { worker: 'w', limit: Math.min(left, 500), defaultMaxAttempts: 3 }
      const { results } = await ask(this.backend, [request], { type: TYPE })
      const nacks = results.flatMap(leasesOf).map(({ id, token }) => ({ id, token, ...how }))
      await this.backend.tasks.nack(TYPE, RETRY, nacks)
    }
  }

  async deadGroups(): Promise<DeadGroupsBody> {
    return (await this.call('GET', `/api/v1/automations/${TYPE}/dead/groups`)).json as DeadGroupsBody
  }

  async deadByError(): Promise<Record<string, number>> {
    return Object.fromEntries((await this.deadGroups()).groups.map(({ pattern, count }) => [pattern ?? '', count]))
  }

  call(method: string, path: string, body?: unknown, token?: string) {
    return this.master.call(method, path, { token, ...(body !== undefined && { body }) })
  }

  async create(body: object): Promise<OperationShown> {
    const { status, json } = await this.call('POST', PATH, body)
    if (status !== 200) throw new Error(`${status} ${JSON.stringify(json)}`)
    return json as OperationShown
  }

  async get({ operation }: Pick<OperationShown, 'operation'>): Promise<OperationShown> {
    return (await this.call('GET', `${PATH}/${operation}`)).json as OperationShown
  }
}
