/**
 * What the contract suites share: a clock the test moves, one isolated backend per test on that clock, and short forms
 * of the calls. One rule of time runs through all suites: a moment has passed as soon as the clock equals it.
 */
import { afterEach, expect } from '@jest/globals'
import type {
  Backend,
  Conn,
  Lease,
  LeaseRef,
  NewTask,
  PoolItem,
  Registration,
  Reservation,
  ReserveResult,
  ReserveRequest,
} from '../../../src/storage/index.ts'
import type { Clock } from '../../../src/runtime/index.ts'

export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR
export const VISIBILITY = 60 * SECOND
export const RETRY = { baseMs: 1_000, factor: 2, capMs: 300_000 }
/** Names no layer may stumble over. */
export const HOSTILE = [
  '{a}',
  '}{',
  '*?[',
  `'"\\`,
  'a\u0000b',
  '__proto__',
  'constructor',
  'a:b',
  ' ',
  '%s',
  'naïve 🦊',
  '🦊'.repeat(256),
]

/** Both hands of the machine's clock, moved by the test alone. */
export class ManualClock implements Clock {
  #wall = 1_700_000_000_000
  #monotonic = 5_000

  wallMs(): number {
    return this.#wall
  }

  monotonicMs(): number {
    return this.#monotonic
  }

  advance(ms: number): void {
    this.#wall += ms
    this.#monotonic += ms
  }

  /** Somebody sets the machine's clock: durations do not notice. */
  stepWall(ms: number): void {
    this.#wall += ms
  }
}

/** Answers an isolated, unopened backend that lives on `clock`. Closed and opened again it is the same store. */
export type Create = (clock: ManualClock) => Promise<Backend>
export interface World {
  readonly backend: Backend
  readonly clock: ManualClock
}

/** For one describe: opens a world per call, and closes what it opened after each test. */
export function worlds(create: Create): () => Promise<World> {
  const open: Backend[] = []
  afterEach(async () => {
    for (const backend of open.splice(0)) await backend.close()
  })
  return async () => {
    const clock = new ManualClock()
    const backend = await create(clock)
    open.push(backend)
    await start(backend)
    return { backend, clock }
  }
}

export const start = (backend: Backend): Promise<void> => backend.open(AbortSignal.timeout(30_000))

export async function reopen(backend: Backend): Promise<void> {
  await backend.close()
  await start(backend)
}

/** `{ code }` of the FleetError that a call must reject with. */
export const fails = (code: string): ReturnType<typeof expect.objectContaining> =>
  expect.objectContaining({ name: 'FleetError', code })

/** The only item of a list. */
export function sole<T>(items: readonly T[]): T {
  expect(items).toHaveLength(1)
  return items[0] as T
}

// ── Tasks, all of type `render` ─────────────────────────────────────────────────────────────────────────────────────

export const TYPE = 'render'

/** A task of the normal tier whose id was drawn by the master. */
export function task(id: string, more: Partial<NewTask> = {}): NewTask {
  return {
    id,
    ownId: false,
    key: null,
    tier: 1,
    ttlMs: null,
    maxAttempts: null,
    submittedAtMs: 1_699_999_999_000,
    body: `{"payload":{"of":${JSON.stringify(id)}},"priority":0,"submitted_at":1}`,
    ...more,
  }
}

export async function submit(backend: Backend, ...tasks: readonly (string | NewTask)[]): Promise<void> {
  const items = tasks.map((each) => (typeof each === 'string' ? task(each) : each))
  const results = await backend.tasks.submit(TYPE, DAY, items)
  expect(results).toEqual(items.map(() => ({ queued: true })))
}

export async function reserve(
  backend: Backend,
  limit = 500,
  visibilityMs = VISIBILITY,
  defaultMaxAttempts = 3,
): Promise<readonly Lease[]> {
  return leasesOf(sole((await ask(backend, [{ worker: 'w1', limit, defaultMaxAttempts }], { visibilityMs })).results))
}

/** A reserve as a master makes it: who is not registered registers first, and each request brings its config's generation. */
export async function ask(
  backend: Backend,
  requests: readonly Omit<ReserveRequest, 'gen'>[],
  { type = TYPE, visibilityMs = VISIBILITY } = {},
): Promise<ReserveResult> {
  const refs = requests.map(({ worker }) => ({ type, id: worker }))
  const rows = await backend.configs.get(refs)
  const missing = refs.filter((_, i) => rows[i] === null)
  if (missing.length > 0) await backend.workers.register(missing.map((of) => registration(of.id, 'm1/0', of)))
  return backend.tasks.reserve(
    type,
    visibilityMs,
    requests.map((request, i) => ({ ...request, gen: rows[i]?.gen ?? 0 })),
  )
}

/** The leases of an answer, which must not be a refusal. */
export function leasesOf(answer: Reservation): readonly Lease[] {
  if (typeof answer === 'string') throw new Error(`the reserve was refused: ${answer}`)
  return answer
}

export const ids = (items: readonly { readonly id: string }[]): string[] => items.map(({ id }) => id)
export const refOf = ({ id, token }: LeaseRef): LeaseRef => ({ id, token })

/** Puts the tasks in flight and answers their leases. */
export async function inFlight(backend: Backend, ...tasks: readonly (string | NewTask)[]): Promise<readonly Lease[]> {
  await submit(backend, ...tasks)
  const leases = await reserve(backend)
  expect(leases).toHaveLength(tasks.length)
  return leases
}

export function nack(
  backend: Backend,
  leases: readonly LeaseRef[],
  more: { error?: string; retryInMs?: number | null; permanent?: boolean; u?: number } = {},
): ReturnType<Backend['tasks']['nack']> {
  return backend.tasks.nack(
    TYPE,
    RETRY,
    leases.map((lease) => ({
      ...refOf(lease),
      error: 'boom',
      retryInMs: null,
      permanent: false,
      jitter: 0.5,
      ...more,
    })),
  )
}

/** Sends the tasks to the dead-letter queue, in this order. */
export async function killed(backend: Backend, ...tasks: readonly (string | NewTask)[]): Promise<void> {
  const leases = await inFlight(backend, ...tasks)
  expect(await nack(backend, leases, { permanent: true })).toEqual(leases.map(() => 'dead'))
}

export const pending = async (backend: Backend): Promise<string[]> =>
  ids((await backend.tasks.queue(TYPE, 10_000)).items)
export const dead = async (backend: Backend): Promise<string[]> => ids((await backend.tasks.dead(TYPE, 10_000)).items)

// ── Workers and pools ───────────────────────────────────────────────────────────────────────────────────────────────

export const HARDWARE = '{"cores":4,"ram_gb":8,"hostname":"h","kernel":"k"}'
export const DEFAULTS = '{"enabled":false,"slots":1}'

/** Worker `render/<id>` on a connection of master m1. */
export function registration(id: string, conn: string, more: Partial<Registration> = {}): Registration {
  return { type: TYPE, id, conn, instance: '', hardware: HARDWARE, defaults: DEFAULTS, ...more }
}
export const conn = (id: string, name: string): Conn => ({ type: TYPE, id, conn: name })
export const ref = (id: string): { type: string; id: string } => ({ type: TYPE, id })

export const item = (id: string, more: Partial<PoolItem> = {}): PoolItem => ({
  id,
  tags: '{}',
  payload: `{"of":${JSON.stringify(id)}}`,
  expiresAtMs: null,
  ...more,
})
