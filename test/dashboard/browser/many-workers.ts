/**
 * @module test/dashboard/browser/many-workers
 * A master in this process whose store has thousands of workers in every state. They are written through the storage
 * contract, and their changes are published to the event log, as another master would do.
 */
import { buildCatalog, defineBatch, defineContinuous, Type } from '../../../src/automation/index.ts'
import type { RunningMaster } from '../../../src/master/index.ts'
import { MasterReleases } from '../../../src/master/master-releases.ts'
import type { EnvironmentBody } from '../../../src/protocol/index.ts'
import { systemRandom, systemTime } from '../../../src/runtime/index.ts'
import type { WorkerReport, Ref } from '../../../src/storage/index.ts'
import { MemoryBackend } from '../../../src/storage/memory/index.ts'
import { startPageMaster } from './page-master.ts'

export const MAILER_TOKEN = 'scoped-mailer-of-the-browser-test'

const run = async (): Promise<void> => {}
/** A type whose tasks have groups. */
const courier = () =>
  defineBatch({
    type: 'courier',
    payload: Type.Object({ to: Type.String() }),
    groups: { maxInFlight: 2, rate: { tasks: 4, perSeconds: 3_600, burst: 2 } },
    run,
  })

const catalog = (hasGroups: boolean) =>
  buildCatalog([
    ...(hasGroups ? [courier()] : []),
    defineBatch({
      type: 'mailer',
      output: Type.Object({ sent: Type.Boolean() }),
      payload: Type.Object({
        to: Type.String({ title: 'Recipient', format: 'email' }),
        subject: Type.Optional(Type.String({ maxLength: 200 })),
      }),
      config: Type.Object({
        host: Type.String({ default: 'smtp.example.net' }),
        port: Type.Integer({ default: 465, minimum: 1, maximum: 65_535 }),
        password: Type.Optional(Type.String({ writeOnly: true })),
      }),
      pools: {
        senders: {
          payload: Type.Object({ user: Type.String() }),
          tags: Type.Object({ region: Type.Optional(Type.String()) }),
        },
      },
      run,
    }),
    defineBatch({
      type: 'thumbnail',
      payload: Type.Object({ url: Type.String() }),
      output: Type.Object({ url: Type.String(), bytes: Type.Integer() }),
      run,
    }),
    defineContinuous({ type: 'probe', output: Type.Object({ ok: Type.Boolean() }), run }),
  ])

/** Master that owns the connections without a socket. Its ID sorts last, so it never becomes the leader. */
const OTHER_MASTER = 'zzzz'
const BATCH = 500
const ERRORS = ['ECONNREFUSED smtp.old.example.net:465', 'ETIMEDOUT after 5,000 ms', '535 5.7.8 authentication failed']

export interface ManyOptions {
  /** Whether there is no other master, so this one leads immediately. For a fleet without workers. */
  readonly isAlone?: boolean
  /** Whether the type `courier` is installed, whose tasks have groups. */
  readonly hasGroups?: boolean
  /** Whether the other master is of this release, so that calls are accepted that all live masters must know. */
  readonly isUpgraded?: boolean
  readonly environment?: EnvironmentBody
  /** After how long alerts fire; never within a test if omitted. */
  readonly alertAfterSeconds?: number
}

export class ManyWorkers {
  readonly backend = new MemoryBackend({ clock: systemTime, random: systemRandom })
  #master: RunningMaster | undefined
  #beating: ReturnType<typeof setInterval> | undefined
  #conn = 0

  get url(): string {
    return this.#master?.url ?? ''
  }

  async start(options: ManyOptions = {}): Promise<void> {
    const { isAlone = false, hasGroups = false, isUpgraded = false, environment, alertAfterSeconds } = options
    const scopes = new Map([[MAILER_TOKEN, ['mailer']]])
    this.#master = await startPageMaster(this.backend, catalog(hasGroups), scopes, environment, alertAfterSeconds)
    if (isAlone) return
    await this.backend.meta.beat(OTHER_MASTER)
    if (isUpgraded) {
      const { schema } = await this.backend.meta.info()
      await this.backend.meta.declare(OTHER_MASTER, new MasterReleases('0.1.0', schema).text)
    }
    this.#beating = setInterval(() => void this.backend.meta.beat(OTHER_MASTER), 5_000)
  }

  async stop(): Promise<void> {
    clearInterval(this.#beating)
    await this.#master?.stop()
  }

  /** Adds workers `m-1`, `m-2`, … Of 100, one each is in ERROR, offline, draining and behind, and five are managed. */
  async add(type: string, count: number): Promise<void> {
    for (let first = 1; first <= count; first += BATCH) {
      const numbers = Array.from({ length: Math.min(BATCH, count - first + 1) }, (_, index) => first + index)
      await this.#addBatch(type, numbers)
    }
  }

  async #addBatch(type: string, numbers: readonly number[]): Promise<void> {
    const { workers, configs } = this.backend
    const conns = numbers.map((n) => ({
      type,
      id: `${type.charAt(0)}-${n}`,
      conn: `${OTHER_MASTER}/${this.#conn++}`,
      n,
    }))
    const config = (n: number): string =>
      JSON.stringify({
        enabled: n % 50 !== 0,
        slots: 1 + (n % 8),
        max_attempts: 3,
        drain: false,
        host: 'smtp.example.net',
        port: 465,
      })
    await workers.register(
      conns.map(({ n, ...conn }) => ({
        ...conn,
        instance: '',
        hardware: JSON.stringify({
          cores: 4,
          ram_gb: 16,
          hostname: `node-${n % 40}.fleet.example.net`,
          kernel: '6.8.0',
        }),
        defaults: config(n),
      })),
    )
    await workers.beat(conns.map(({ n, ...conn }) => beatOf(conn, n)))
    const refs = (rest: number): Ref[] => conns.filter(({ n }) => n % 100 === rest).map(({ id }) => ({ type, id }))
    await workers.manage(
      conns.filter(({ n }) => n % 20 === 5).map(({ id }) => ({ type, id, managedBy: `kubernetes:mail/${id}#uid` })),
    )
    await Promise.all(
      refs(8).map((ref) =>
        configs.put({ ...ref, expectGen: 0, config: config(8), changed: ['port'], actor: 'admin dashboard:ana' }),
      ),
    )
    await workers.drain(refs(9))
    await workers.disconnect(
      conns.filter(({ n }) => n % 100 === 10).map(({ type: each, id, conn }) => ({ type: each, id, conn })),
    )
  }

  /** While `act` runs, each of the workers reports every 15 s, and 200 per second change their state. */
  async whileBusy(type: string, count: number, act: () => Promise<void>): Promise<void> {
    const any = (some: number): readonly number[] =>
      Array.from({ length: some }, () => 1 + Math.floor(Math.random() * count))
    const changing = setInterval(() => void this.change(type, any(20), Math.random() < 0.5 ? 'RUNNING' : 'IDLE'), 100)
    const reporting = setInterval(() => void this.report(type, any(count / 150)), 100)
    try {
      await act()
    } finally {
      clearInterval(changing)
      clearInterval(reporting)
    }
  }

  /** Changes the state of workers and publishes the events. */
  async change(
    type: string,
    ids: readonly number[],
    state: 'IDLE' | 'RUNNING' | 'ERROR',
    lastError: string | null = null,
  ): Promise<void> {
    const rows = await this.backend.workers.get(ids.map((n) => ({ type, id: `${type.charAt(0)}-${n}` })))
    const found = rows
      .filter((row) => row !== null && row.conn !== null)
      .map((row) => ({ type, id: row?.id ?? '', conn: row?.conn ?? '' }))
    await this.backend.workers.beat(found.map((conn) => ({ ...conn, state: { state, gen: 0, lastError } })))
    const ts = Date.now() / 1_000
    await this.backend.events.append(
      found.map(({ id }) => ({
        name: 'worker.state',
        scope: type,
        data: JSON.stringify({ type, worker_id: id, ts, state, last_error: lastError }),
      })),
    )
  }

  /** The connected workers of a type apply their configs. @param fails Whether a worker is in ERROR with its config. */
  async applyConfigs(type: string, fails: (id: string, config: string) => boolean): Promise<void> {
    const rows = await this.backend.workers.page(type, null, 1_000)
    await this.backend.workers.beat(
      rows.flatMap(({ id, conn, config: { gen, config } }): WorkerReport[] => {
        const state = fails(id, config)
          ? ({ state: 'ERROR', gen, lastError: 'ECONNREFUSED' } as const)
          : ({ state: 'RUNNING', gen, lastError: null } as const)
        return conn === null ? [] : [{ type, id, conn, state }]
      }),
    )
  }

  /** Stores a stats frame for workers. Statistics have no events. */
  async report(type: string, ids: readonly number[]): Promise<void> {
    const rows = await this.backend.workers.get(ids.map((n) => ({ type, id: `${type.charAt(0)}-${n}` })))
    const beats = rows.flatMap((row, at): WorkerReport[] => {
      const n = ids[at] ?? 0
      return row === null || row.conn === null
        ? []
        : [
            {
              type,
              id: row.id,
              conn: row.conn,
              stats: [frameOf(n, Math.floor(Math.random() * 1_000), Date.now() / 1_000)],
            },
          ]
    })
    await this.backend.workers.beat(beats)
  }
}

function frameOf(n: number, frame: number, ts: number): string {
  return JSON.stringify({
    slots: 1 + (n % 8),
    cpu_pct: Math.round((20 + (n % 60) + 15 * Math.sin((frame + n) / 3)) * 10) / 10,
    rss_mb: 120 + (n % 300) + (frame % 20),
    ts,
    metrics: { 'counter.sent': frame * 12 },
    per_slot: [{ slot_id: 0, age_seconds: frame * 15, counters: {} }],
  })
}

function stateOf(n: number): 'ERROR' | 'IDLE' | 'RUNNING' {
  if (n % 100 === 7) return 'ERROR'
  return n % 10 === 3 ? 'IDLE' : 'RUNNING'
}

function beatOf(conn: Ref & { readonly conn: string }, n: number): WorkerReport {
  const state = stateOf(n)
  const stats = Array.from({ length: 20 }, (_, frame) =>
    frameOf(n, frame, Math.round(Date.now() / 1_000 - (20 - frame) * 15)),
  )
  return { ...conn, state: { state, gen: 0, lastError: state === 'ERROR' ? (ERRORS[n % 3] ?? '') : null }, stats }
}
