/**
 * No wake-up is lost. Under any interleaving of submits, reserves, releases, nacks, pauses, config changes, disconnects
 * and slow store calls, an idle worker gets its task as soon as everything has settled. The check of each second never
 * runs here, so that it cannot hide a lost wake-up.
 */
import fc from 'fast-check'
import { describe, expect, it } from '@jest/globals'
import type { CatalogEntry } from '../../../src/automation/index.ts'
import type { Lease } from '../../../src/storage/index.ts'
import { entryOf, settled, QueueFixture } from './fixture.ts'
import { Watched } from './watched.ts'

const PAUSE = '/automations/mailer/queue/pause'
const WORKERS = ['a', 'b', 'c'] as const

type Step =
  | { readonly do: 'submit'; readonly count: number; readonly group?: string }
  | { readonly do: 'reserve'; readonly worker: string; readonly limit: number }
  | { readonly do: 'nack'; readonly retryInMs: number }
  | { readonly do: 'reconfigure'; readonly worker: string }
  | { readonly do: 'pause'; readonly endsInMs: number | null }
  | { readonly do: 'resume' | 'ack' | 'release' | 'leave' | 'hold' | 'free' | 'settle' | 'pass' }

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('submit' as const), count: fc.integer({ min: 1, max: 3 }) }),
  fc.record({
    do: fc.constant('reserve' as const),
    worker: fc.constantFrom(...WORKERS),
    limit: fc.integer({ min: 1, max: 3 }),
  }),
  fc.record({ do: fc.constant('nack' as const), retryInMs: fc.constantFrom(0, 2, 7) }),
  fc.record({ do: fc.constant('reconfigure' as const), worker: fc.constantFrom(...WORKERS) }),
  fc.record({ do: fc.constantFrom('release' as const, 'leave' as const) }),
  fc.record({ do: fc.constantFrom('hold' as const, 'free' as const, 'settle' as const, 'pass' as const) }),
)

/** One run: the open leases and the waiting reserves. */
class Run {
  readonly #fixture: QueueFixture
  readonly #store: Watched
  readonly leases: Lease[] = []
  readonly waiting = new Map<AbortController, { worker: string }>()
  #free = (): void => {}
  #generation = 0

  constructor(fixture: QueueFixture, store: Watched) {
    this.#fixture = fixture
    this.#store = store
  }

  async take(step: Step): Promise<void> {
    switch (step.do) {
      case 'submit':
        return void Promise.all(
          Array.from({ length: step.count }, () => this.#fixture.submit('a@b', { group_key: step.group ?? null })),
        )
      case 'reserve':
        return this.#reserve(step.worker, step.limit)
      case 'reconfigure':
        return this.#reconfigure(step.worker)
      case 'pause':
        return this.#pause(step.endsInMs)
      case 'resume':
        return this.#resume()
      case 'ack':
        return this.#give((ref) => this.#fixture.queue.ack('mailer', [ref]))
      case 'release':
        return this.#give((ref) => this.#fixture.queue.release('mailer', [ref]))
      case 'nack':
        return this.#give((ref) =>
          this.#fixture.queue.nack('mailer', [{ ...ref, error: '', retryInMs: step.retryInMs, permanent: false }]),
        )
      case 'leave':
        return [...this.waiting.keys()].at(0)?.abort()
      case 'hold':
        return this.#hold()
      case 'free':
        return this.#free()
      case 'settle':
        return settled(this.#fixture)
      case 'pass':
        return this.#fixture.time.advance(3)
    }
  }

  #reserve(worker: string, limit: number): void {
    const client = new AbortController()
    this.waiting.set(client, { worker })
    void this.#fixture.queue
      .reserve('mailer', { worker, limit, waitMs: 30_000, signal: client.signal })
      .then((leases) => {
        this.waiting.delete(client)
        this.leases.push(...leases)
      })
  }

  /** Changes a config on another master: this master notices it with the next reserve. */
  #reconfigure(id: string): void {
    const { configs } = this.#fixture.deps.backend
    this.#generation += 1
    void configs.raise([{ type: 'mailer', id, above: this.#generation }])
  }

  #pause(endsInMs: number | null): void {
    const until = endsInMs === null ? null : (this.#fixture.time.wallMs() + endsInMs) / 1_000
    void this.#fixture.call('PUT', PAUSE, { body: { until } })
  }

  #resume(): void {
    void this.#fixture.call('DELETE', PAUSE)
  }

  #give(settle: (lease: Lease) => Promise<unknown>): void {
    const lease = this.leases.shift()
    if (lease !== undefined) void settle(lease)
  }

  /** Blocks every call of the store until `free`. */
  #hold(): void {
    this.#free()
    const held = new Promise<void>((resolve) => (this.#free = resolve))
    this.#store.gate = () => held
  }

  async finish(isPaused: boolean): Promise<void> {
    this.#store.gate = () => undefined
    this.#free()
    if (isPaused) this.#resume()
    for (let turn = 0; turn < 5; turn += 1) await settled(this.#fixture)
    await this.#fixture.time.advance(30) // Due times are checked at most every 10 ms.
  }
}

/** Few kinds of steps, so that most runs submit tasks during a pause while a reserve waits. */
const pausingStep: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('submit' as const), count: fc.constant(1) }),
  fc.record({ do: fc.constant('reserve' as const), worker: fc.constantFrom(...WORKERS), limit: fc.constant(1) }),
  fc.record({ do: fc.constant('pause' as const), endsInMs: fc.constantFrom(null, 2, 20) }),
  fc.record({ do: fc.constantFrom('resume' as const, 'hold' as const, 'free' as const) }),
  fc.record({ do: fc.constantFrom('settle' as const, 'settle' as const, 'pass' as const) }),
)

/** Groups that are often full, or may not start for a moment. */
const groupStep: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant('submit' as const),
    count: fc.integer({ min: 1, max: 2 }),
    group: fc.constantFrom('a', 'b'),
  }),
  fc.record({
    do: fc.constant('reserve' as const),
    worker: fc.constantFrom(...WORKERS),
    limit: fc.integer({ min: 1, max: 2 }),
  }),
  fc.record({ do: fc.constant('nack' as const), retryInMs: fc.constantFrom(0, 2, 7) }),
  fc.record({ do: fc.constantFrom('ack' as const, 'ack' as const, 'release' as const, 'leave' as const) }),
  fc.record({ do: fc.constantFrom('hold' as const, 'free' as const, 'settle' as const, 'pass' as const) }),
)
const GROUPS = { maxInFlight: 1, rate: { tasks: 1, perSeconds: 0.002, burst: 2 } }

/** A pause without an end gets one while a reserve waits. */
const LIMITED_PAUSE: readonly Step[] = [
  { do: 'pause', endsInMs: null },
  { do: 'submit', count: 1 },
  { do: 'reserve', worker: 'a', limit: 1 },
  { do: 'settle' },
  { do: 'pause', endsInMs: 2 },
  { do: 'pass' },
]

interface Checked {
  readonly groups?: CatalogEntry['groups']
  /** Checked before random steps. */
  readonly examples?: readonly (readonly Step[])[]
}

async function isNeverStuck(step: fc.Arbitrary<Step>, { groups = null, examples = [] }: Checked = {}): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const store = new Watched()
      const fixture = await QueueFixture.open({
        backend: store.wrap,
        settings: { maxLostLeases: 0 },
        entries: [entryOf('mailer', { groups })],
      })
      await fixture.workers(WORKERS, { max_attempts: 1_000 })
      const run = new Run(fixture, store)
      for (const each of steps) await run.take(each)
      await run.finish(steps.some((each) => each.do === 'pause'))
      const stuck = run.waiting.size > 0 && (await isTaskReady(fixture))
      await fixture.close()
      expect(stuck).toBe(false)
    }),
    { numRuns: 300, interruptAfterTimeLimit: 20_000, examples: examples.map((steps) => [[...steps]]) },
  )
}

/** Whether a pending task may start: its group, if any, is not full. Its rate has permitted it after a pause. */
async function isTaskReady({ deps: { backend, catalog } }: QueueFixture): Promise<boolean> {
  const { groups } = catalog.get('mailer') ?? {}
  if (groups === null || groups === undefined) return (await backend.tasks.queue('mailer', 1)).length > 0
  const rows = await backend.tasks.groups('mailer', 10)
  return rows.some(({ pending, inFlight }) => pending > 0 && inFlight < (groups.maxInFlight ?? Infinity))
}

describe('an idle worker', () => {
  it('is woken whenever a task is ready, in any order of submit, release, promotion and reserve (G3)', async () => {
    await isNeverStuck(anyStep)
  }, 40_000)

  it('is woken by a resume and by the end of a pause, in any order with submits and reserves (D106)', async () => {
    await isNeverStuck(pausingStep, { examples: [LIMITED_PAUSE] })
  }, 40_000)

  it('is woken when a group may start a task, in any order of submit, settle and reserve (D119, G30)', async () => {
    await isNeverStuck(groupStep, { groups: GROUPS })
  }, 40_000)
})
