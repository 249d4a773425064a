/** Work that one master does for all of them: queue totals, and events for the workers of a dead master. */
import { afterEach, describe, expect, it } from '@jest/globals'
import { Registry as MetricsRegistry } from 'prom-client'
import type { MasterDeps, Part } from '../../../src/master/deps.ts'
import { StoreEpoch } from '../../../src/master/epoch.ts'
import { createEvents } from '../../../src/master/events/index.ts'
import { Inspections } from '../../../src/master/inspections/index.ts'
import { createMasterMembership } from '../../../src/master/master-membership.ts'
import { createRegistry } from '../../../src/master/registry/index.ts'
import { seededRandom, systemRandom, VirtualTime } from '../../../src/runtime/index.ts'
import { MemoryBackend } from '../../../src/storage/memory/index.ts'
import { itemsOf, type Backend } from '../../../src/storage/index.ts'
import { recordingLog } from '../../kit/index.ts'
import { testCatalog } from '../../kit/running-master.ts'
import { replaced } from './fixture.ts'

class Store {
  readonly time = new VirtualTime()
  /** A memory store that declares itself as shared, so that several masters may use it. */
  readonly backend: Backend
  readonly received: { name: string; data: Record<string, unknown> }[] = []
  readonly #parts = new Map<string, Part[]>()

  private constructor() {
    const real = new MemoryBackend({ clock: this.time, random: systemRandom })
    this.backend = replaced(real, { capabilities: { durable: false, shared: true, pubsub: false } })
    real.events.onAppend((events) =>
      this.received.push(
        ...events.flatMap((entry) =>
          itemsOf(entry).map((data) => ({ name: entry.name, data: JSON.parse(data) as Record<string, unknown> })),
        ),
      ),
    )
  }

  static async open(): Promise<Store> {
    const store = new Store()
    await store.backend.open(AbortSignal.timeout(5_000))
    return store
  }

  /** Starts the parts of a master that this test needs. */
  async master(masterId: string): Promise<void> {
    const { time, backend } = this
    const metrics = new MetricsRegistry()
    const deps: MasterDeps = {
      inspections: new Inspections({ clock: time, timers: time, metrics }),
      clock: time,
      timers: time,
      random: seededRandom(1),
      backend,
      masterId,
      log: recordingLog(),
      metrics,
      epoch: new StoreEpoch(backend),
      catalog: testCatalog(),
      settings: {
        submitRpsPerToken: 0,
        idempotencyTtlSeconds: 60,
        maxBodyBytes: 1_024,
        maxLostLeases: 10,
        maxQueueLength: 1_000,
        maxSockets: 1_000,
      },
    }
    const masters = createMasterMembership(deps)
    const registry = createRegistry(deps, {
      onDrain: () => {},
      mayBatch: () => true,
      worstWorkers: async () => new Map(),
    })
    const parts = [masters, registry, createEvents({ ...deps, masters, announce: registry.announce })]
    this.#parts.set(masterId, parts)
    for (const part of parts) await part.start?.()
  }

  /** Stops a master, so that its heartbeats end. */
  async end(masterId: string): Promise<void> {
    for (const part of this.#parts.get(masterId)?.toReversed() ?? []) await part.stop?.()
  }

  async worker(id: string, conn: string): Promise<void> {
    await this.backend.workers.register([{ type: 'mailer', id, conn, instance: '', hardware: '{}', defaults: '{}' }])
  }

  async submit(...ids: string[]): Promise<void> {
    await this.backend.tasks.submit(
      'mailer',
      60_000,
      ids.map((id) => ({
        id,
        ownId: false,
        key: null,
        tier: 1,
        ttlMs: null,
        maxAttempts: null,
        submittedAtMs: 5_000,
        body: '{"payload":{},"priority":0,"submitted_at":5}',
      })),
    )
  }

  takePublished(): unknown[] {
    return this.received.splice(0).map(({ name, data }) => [name, data['worker_id'] ?? data['queue'] ?? data['type']])
  }

  async close(): Promise<void> {
    for (const id of this.#parts.keys()) await this.end(id)
    await this.backend.close()
  }
}

let store: Store
afterEach(() => store.close())

const SECOND = 1_000
const queue = (more: object) => ({
  high: 0,
  normal: 0,
  low: 0,
  in_flight: 0,
  scheduled: 0,
  dead: 0,
  oldest_submitted_at: null,
  ...more,
})

describe('the totals of a queue', () => {
  it('are published once per second, and only when they changed (D31, D51)', async () => {
    store = await Store.open()
    await store.submit('before')
    await store.master('m1')
    await store.time.advance(5 * SECOND)
    expect(store.takePublished()).toEqual([])
    for (const id of ['a', 'b', 'c']) await store.submit(id)
    await store.time.advance(SECOND)
    expect(store.received).toEqual([
      {
        name: 'queue.totals',
        data: { type: 'mailer', ts: expect.any(Number), queue: queue({ normal: 4, oldest_submitted_at: 5 }) },
      },
    ])
    store.received.length = 0
    await store.time.advance(10 * SECOND)
    expect(store.takePublished()).toEqual([])
    await store.worker('w', 'm1/1')
    const {
      results: [reservation],
    } = await store.backend.tasks.reserve('mailer', 60_000, [{ worker: 'w', limit: 4, gen: 0, defaultMaxAttempts: 1 }])
    await store.time.advance(SECOND)
    const retry = { baseMs: 1_000, factor: 2, capMs: 1_000 }
    await store.backend.tasks.nack(
      'mailer',
      retry,
      reservation?.kind === 'leased'
        ? reservation.leases.map(({ id, token }) => ({
            id,
            token,
            error: 'no',
            retryInMs: null,
            permanent: true,
            jitter: 0,
          }))
        : [],
    )
    await store.time.advance(SECOND)
    expect(store.takePublished()).toEqual([
      ['queue.totals', queue({ in_flight: 4 })],
      ['queue.totals', queue({ dead: 4 })],
    ])
  })

  it('are published once, however many masters there are, also after a master dies or starts', async () => {
    store = await Store.open()
    for (const id of ['m2', 'm3']) await store.master(id)
    await store.time.advance(20 * SECOND)
    const publishedTotals = async (forMs: number): Promise<number[]> => {
      const seen: number[] = []
      for (let ms = 0; ms < forMs; ms += SECOND) {
        await store.submit(`t-${store.time.monotonicMs()}`)
        await store.time.advance(SECOND)
      }
      for (const { data } of store.received.splice(0)) seen.push((data['queue'] as { normal: number }).normal)
      return seen
    }
    expect(await publishedTotals(5 * SECOND)).toEqual([1, 2, 3, 4, 5])
    await store.end('m2')
    const afterDeath = await publishedTotals(30 * SECOND)
    expect(afterDeath).toEqual([...new Set(afterDeath)].toSorted((a, b) => a - b))
    expect(afterDeath.slice(-10)).toEqual([26, 27, 28, 29, 30, 31, 32, 33, 34, 35])
    await store.master('m1')
    const afterBirth = await publishedTotals(30 * SECOND)
    expect(afterBirth).toEqual([...new Set(afterBirth)].toSorted((a, b) => a - b))
    expect(afterBirth.slice(-10)).toEqual([56, 57, 58, 59, 60, 61, 62, 63, 64, 65])
  })

  it('are published once if two masters could read them before either has published', async () => {
    store = await Store.open()
    await store.master('m1')
    await store.master('m2')
    await store.time.advance(20 * SECOND)
    const { events } = store.backend
    const append = events.append.bind(events)
    events.append = (batch) =>
      new Promise((resolve, reject) => store.time.after(10, () => void append(batch).then(resolve, reject)))
    await store.submit('a')
    await store.time.advance(2 * SECOND)
    expect(store.takePublished()).toEqual([['queue.totals', queue({ normal: 1, oldest_submitted_at: 5 })]])
  })
})

describe('a dead master', () => {
  it('has its own workers, and no others, published as disconnected within 20 s, once, by another master', async () => {
    store = await Store.open()
    for (const id of ['m1', 'm2', 'm3']) await store.master(id)
    await store.worker('of-1', 'm1/1')
    for (const id of ['a', 'b']) await store.worker(id, 'm3/1')
    await store.worker('moved', 'm3/2')
    await store.time.advance(10 * SECOND)
    await store.end('m3')
    await store.worker('moved', 'm2/9')
    await store.time.advance(20 * SECOND)
    expect(store.takePublished()).toEqual([
      ['worker.disconnected', 'a'],
      ['worker.disconnected', 'b'],
    ])
    await store.time.advance(60 * SECOND)
    expect(store.takePublished()).toEqual([])
  })

  it('has its workers published as connected when its heartbeats resume', async () => {
    store = await Store.open()
    for (const id of ['m1', 'm2']) await store.master(id)
    await store.worker('w', 'm1/1')
    await store.time.advance(10 * SECOND)
    await store.end('m1')
    await store.time.advance(20 * SECOND)
    expect(store.takePublished()).toEqual([['worker.disconnected', 'w']])
    await store.backend.meta.beat('m1')
    await store.time.advance(5 * SECOND)
    expect(store.takePublished()).toEqual([['worker.connected', 'w']])
  })

  it('has its workers published when the master that should publish them dies as well', async () => {
    store = await Store.open()
    for (const id of ['m1', 'm2', 'm3']) await store.master(id)
    await store.worker('a', 'm3/1')
    await store.worker('b', 'm1/1')
    await store.time.advance(10 * SECOND)
    await store.end('m3')
    await store.time.advance(5 * SECOND)
    await store.end('m1')
    await store.time.advance(30 * SECOND)
    expect(store.takePublished()).toEqual([
      ['worker.disconnected', 'a'],
      ['worker.disconnected', 'b'],
    ])
  })

  it('has its workers published once by the next master that starts, when there was no other', async () => {
    store = await Store.open()
    await store.master('m1')
    await store.worker('w', 'm1/1')
    await store.end('m1')
    await store.time.advance(60 * SECOND)
    for (const id of ['m2', 'm3']) {
      await store.master(id)
      await store.time.advance(5 * SECOND)
      await store.end(id)
      await store.time.advance(60 * SECOND)
    }
    expect(store.takePublished()).toEqual([['worker.disconnected', 'w']])
  })
})
