/**
 * Compares the SQLite backend with the memory backend as the reference: the same random calls must return the same
 * results.
 */
import { afterEach, describe, expect, it } from '@jest/globals'
import { seededRandom, type Random } from '../../../src/runtime/index.ts'
import type { Backend, LeaseRef } from '../../../src/storage/index.ts'
import { MemoryBackend } from '../../../src/storage/memory/index.ts'
import { ask, ManualClock, SECOND, start } from '../contract/fixture.ts'
import { backendOn, folders } from './fixture.ts'

const CALLS = 4_000
const TYPES = ['a', 'b']
const RETRY = { baseMs: 500, factor: 2, capMs: 20_000 }

/** Ids and tokens from earlier results, to be used again, including ended leases. */
class Seen {
  readonly leases: LeaseRef[] = []
  readonly claims: LeaseRef[] = []
  readonly locks: { name: string; token: number }[] = []
  readonly ids: string[] = ['']
}

type Step = (backend: Backend) => Promise<unknown>

/** Generates one call. Its arguments are fixed here, so both backends get the same. */
function draw(random: Random, seen: Seen, n: number): Step {
  const int = (below: number): number => Math.floor(random.unit() * below)
  const of = <T>(items: readonly T[]): T => items[int(items.length)] as T
  const some = <T>(items: readonly T[], make: (item: T) => T = (item) => item): T[] =>
    Array.from({ length: items.length === 0 ? 0 : 1 + int(4) }, () => make(of(items.slice(-30))))
  const type = of(TYPES)
  const id = (): string => `t${int(60)}`
  const holdMs = of([1_000, 5_000, 20_000])
  const tasks = Array.from({ length: 1 + int(5) }, () => ({
    id: of([id(), `${n}-${int(1e9)}`]),
    ownId: true,
    key: of([null, null, `k${int(20)}`]),
    tier: of([0, 1, 2] as const),
    ttlMs: of([null, null, 10_000]),
    maxAttempts: of([null, 1, 2]),
    submittedAtMs: n,
    ...(int(3) > 0 && { group: of(['g', 'h', 'i']) }),
    body: `{"payload":${int(100)}}`,
  }))
  const requests = Array.from({ length: 1 + int(2) }, () => ({
    worker: of(['w', 'w', 'w', `w${int(4)}`]),
    limit: 1 + int(4),
    gen: int(8) === 0 ? 1 : 0,
    defaultMaxAttempts: 1 + int(3),
  }))
  const leases = some(seen.leases)
  const nacks = leases.map((lease) => ({
    ...lease,
    error: 'e',
    retryInMs: of([null, 0, 3_000]),
    permanent: int(5) === 0,
    jitter: random.unit(),
  }))
  const ids = Array.from({ length: 3 }, id)
  const worker = { type, id: `w${int(4)}`, conn: `m1/${int(5)}` }
  const stats = of([[], [`{"ts":${n}}`], [`{"ts":${n}}`, `{"ts":${n + 1}}`]])
  const poolItems = Array.from({ length: 1 + int(3) }, () => ({
    id: `i${int(12)}`,
    tags: `{"x":${int(2)}}`,
    payload: String(n),
    expiresAtMs: of([null, null, 1_700_000_000_000 + int(400) * SECOND]),
  }))
  const match = of([{}, { x: int(2) }])
  const [amount, count, after] = [of([1, 2, 100]), 1 + int(5), of([null, of(seen.ids)])]
  const texts = Array.from({ length: count }, (_, i) => `"${n}-${i}"`)
  const lock = { name: `l${int(3)}`, owner: 'o', holdMs }
  const key = `k${int(5)}`
  const gen = int(6)
  const [bound, ttlMs] = [of([undefined, 40]), of([null, 5_000])]
  const policy = of([
    null,
    { maxInFlight: 2, rate: null },
    { maxInFlight: null, rate: { intervalMs: 3_000, burst: 2 } },
  ])
  const claims = some(seen.claims)
  const locks = some(seen.locks)
  const state = { state: of(['IDLE', 'RUNNING', 'ERROR'] as const), gen, lastError: of([null, 'e']) }
  return of<Step>([
    (b) => b.tasks.submit(type, 30_000, tasks, bound),
    (b) => b.tasks.submit(type, 30_000, tasks),
    (b) => b.tasks.submit(type, 30_000, tasks),
    (b) => b.tasks.reserve(type, holdMs, requests),
    (b) => b.tasks.reserve(type, holdMs, requests),
    (b) => b.tasks.reserve(type, holdMs, requests),
    (b) => b.tasks.ack(type, leases.length === 0 ? [{ id: 'x', token: 1 }] : leases),
    (b) => b.tasks.release(type, leases.length === 0 ? [{ id: 'x', token: 1 }] : leases),
    (b) =>
      b.tasks.nack(
        type,
        RETRY,
        nacks.length === 0 ? [{ id: 'x', token: 1, error: '', retryInMs: 0, permanent: false, jitter: 0 }] : nacks,
      ),
    // A unique deadline, because the order of equal deadlines is undefined.
    (b) => b.tasks.extend(type, [{ ...(leases[0] ?? { id: 'x', token: 1 }), visibilityMs: 30_000 + n }]),
    // Without forgottenKeys: a reused key may be counted twice.
    (b) => b.tasks.sweep(type, gen, amount).then(({ requeued, promoted, dead }) => ({ requeued, promoted, dead })),
    (b) => b.tasks.cancel(type, [...new Set(ids)], 'admin'),
    (b) => b.tasks.setGroupPolicy(type, policy),
    (b) => b.tasks.replay(type, count),
    (b) => b.tasks.applyToDead(type, n % 2 === 0 ? 'replay' : 'remove', ids),
    (b) => (n % 7 === 0 ? b.tasks.clearDead(type) : b.tasks.locate(type, ids)),
    (b) => b.streams.push(type, `p${gen}`, Math.max(0, n - gen), texts),
    (b) => b.streams.push(type, 'p', n, texts),
    (b) => b.streams.pop(type, count),
    (b) => b.streams.peek(type, count),
    (b) => b.streams.tail(type, after, count),
    (b) =>
      b.workers.register([
        {
          ...worker,
          conn: `m1/${n}`,
          instance: n % 3 === 0 ? '' : `i${gen}`,
          hardware: '{}',
          labels: n % 2 === 0 ? undefined : '{"n":"1"}',
          defaults: '{"d":1}',
        },
      ]),
    (b) => b.workers.beat([{ ...worker, state, stats }]),
    (b) => b.workers.disconnect([worker]),
    (b) => b.workers.drain([worker]),
    (b) => (n % 5 === 0 ? b.workers.forget([worker]) : b.workers.manage([{ ...worker, managedBy: 'm' }])),
    (b) => b.meta.beat('m1'),
    (b) => b.configs.put({ ...worker, expectGen: gen, config: `{"n":${n}}`, changed: ['n'], actor: 'admin' }),
    (b) => b.configs.raise([{ ...worker, above: gen }]),
    (b) => b.pools.put('p', poolItems),
    (b) => b.pools.claim('p', [{ owner: 'o', n: count, holdMs, match }]),
    (b) =>
      b.pools.extend(
        'p',
        claims.map((claim) => ({ ...claim, holdMs })),
      ),
    (b) => b.pools.release('p', claims),
    (b) => b.pools.remove('p', [...claims, { id: `i${gen}`, token: null }]),
    (b) => b.kv.set('n', [{ key, value: String(n), ttlMs }]),
    (b) => b.kv.get('n', [key]),
    (b) => b.kv.delete('n', [key]),
    (b) => b.locks.acquire('n', [lock]),
    (b) =>
      b.locks.extend(
        'n',
        locks.map((each) => ({ ...each, holdMs })),
      ),
    (b) => b.locks.release('n', locks),
    (b) => b.counters.add('n', [{ name: key, delta: gen - 3 }]),
  ])
}

/** Records the ids and tokens of a result for later calls. */
function remember(seen: Seen, answer: unknown): void {
  if (Array.isArray(answer)) for (const each of answer) remember(seen, each)
  if (typeof answer !== 'object' || answer === null) return
  const { id, token, body, results, leases, entries, entry, payload } = answer as Record<string, unknown>
  if (typeof id === 'string' && typeof token === 'number')
    (payload === undefined ? seen.leases : seen.claims).push({ id, token })
  else if (typeof token === 'number') for (const name of ['l0', 'l1', 'l2']) seen.locks.push({ name, token })
  if (typeof id === 'string' && typeof entry === 'string') seen.ids.push(id)
  if (body === undefined) for (const each of [results, leases, entries]) if (each !== undefined) remember(seen, each)
}

/** Returns everything that can be read. */
async function view(backend: Backend): Promise<unknown> {
  const refs = TYPES.flatMap((type) => [0, 1, 2, 3].map((n) => ({ type, id: `w${n}` })))
  return Promise.all([
    backend.tasks.counts(TYPES),
    ...TYPES.flatMap((type) => [
      backend.tasks.queue(type, 10_000),
      backend.tasks.dead(type, 10_000),
      backend.tasks.groups(type, 100),
      backend.streams.peek(type, 10_000),
      backend.streams.tail(type, null, 5),
      backend.workers.page(type, null, 100),
    ]),
    backend.workers.get(refs),
    backend.configs.get(refs),
    ...refs.flatMap((ref) => [backend.configs.history(ref, 50), backend.stats.read(ref, 100, 240)]),
    backend.streams.length(TYPES),
    backend.pools.list('p', 100),
    backend.pools.sizes(['p', 'q']),
    backend.kv.get('n', ['k0', 'k1', 'k2', 'k3', 'k4']),
    backend.counters.get('n', ['k0', 'k1', 'k2', 'k3', 'k4']),
  ])
}

/** Issues the first token of each name at the same time in both backends, so that all later tokens are equal. */
async function prime(backend: Backend): Promise<void> {
  for (const type of TYPES) {
    await backend.tasks.submit(type, SECOND, [
      { id: 'first', ownId: false, key: null, tier: 1, ttlMs: null, maxAttempts: null, submittedAtMs: 1, body: '{}' },
    ])
    await ask(backend, [{ worker: 'w', limit: 1, defaultMaxAttempts: 1 }], { type, visibilityMs: SECOND })
  }
  await backend.pools.put('p', [{ id: 'first', tags: '{}', payload: '1', expiresAtMs: null }])
  await backend.pools.claim('p', [{ owner: 'o', n: 1, holdMs: SECOND, match: {} }])
  await backend.locks.acquire('n', [{ name: 'first', owner: 'o', holdMs: SECOND }])
}

describe('the SQLite backend compared with the memory backend', () => {
  const folder = folders()
  const opened: Backend[] = []
  afterEach(async () => {
    for (const backend of opened.splice(0)) await backend.close()
  })

  for (const seed of [1, 2, 3]) {
    it(`returns the same results for ${CALLS} random calls (seed ${seed})`, async () => {
      const [clock, random, seen] = [new ManualClock(), seededRandom(seed), new Seen()]
      const [memory, sqlite] = [new MemoryBackend({ clock, random: seededRandom(1) }), backendOn(folder().file, clock)]
      for (const backend of [memory, sqlite]) {
        opened.push(backend)
        await start(backend)
        await prime(backend)
      }
      for (let n = 1; n <= CALLS; n += 1) {
        const step = draw(random, seen, n)
        const expected = await step(memory)
        const got = await step(sqlite)
        expect({ n, call: String(step), got }).toEqual({ n, call: String(step), got: expected })
        remember(seen, expected)
        if (n % 3 === 0) clock.advance(Math.floor(random.unit() * 1_500))
        if (n % 50 === 0) expect(await view(sqlite)).toEqual(await view(memory))
      }
    }, 60_000)
  }
})
