/** Commands on streams, pools, locks, values and counters, on time, and on the store as a whole. */
import { expect } from '@jest/globals'
import fc from 'fast-check'
import type { LeaseRef } from '../../../src/storage/index.ts'
import { HOUR, reopen } from '../contract/fixture.ts'
import { command } from './command.ts'
import type { AnyCommand } from './command.ts'
import { IDS, KEYS, TYPES, pick, same } from './fixture.ts'
import type { Pick, ModelFixture } from './fixture.ts'

const name = fc.constantFrom(...TYPES)
const key = fc.constantFrom(...KEYS)
const holdMs = fc.constantFrom(1_000, 5_000, 60_000)

// ── Streams ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Sends the next push of a producer, or repeats one. */
const push = command(
  'push',
  fc.record({
    name,
    producer: fc.constantFrom('m1/a', '__proto__'),
    isRepeat: fc.constantFrom(false, false, true),
    n: fc.integer({ min: 1, max: 4 }),
  }),
  async (args, fixture, { backend }) => {
    const stream = fixture.store.stream(args.name)
    const seq = Math.max(0, (stream.producers.get(args.producer) ?? -1) + (args.isRepeat ? 0 : 1))
    const entries = Array.from({ length: args.n }, () => `{"slot_id":0,"ts":1,"payload":${fixture.serial()}}`)
    same(await backend.streams.push(args.name, args.producer, seq, entries), stream.push(args.producer, seq, entries))
  },
)

const pop = command(
  'pop',
  fc.record({ name, n: fc.integer({ min: 1, max: 5 }) }),
  async ({ name: of, n }, fixture, { backend }) => {
    const stream = fixture.store.stream(of)
    same(
      await backend.streams.pop(of, n),
      stream.entries.slice(0, n).map(({ id, entry }) => ({ id, entry })),
    )
    stream.entries = stream.entries.slice(n)
  },
)

/** Reads from an id that was shown earlier, whether or not its entry still exists. */
const tail = command(
  'tail and peek',
  fc.record({ name, i: fc.nat(200), n: fc.integer({ min: 1, max: 5 }) }),
  async ({ name: of, i, n }, fixture, { backend }) => {
    const { entries } = fixture.store.stream(of)
    const seen = fixture.seenIds(of)
    const after = seen[i % (seen.length || 1)] ?? null
    const shown = entries.map(({ id, entry }) => ({ id, entry }))
    const rest = after === null ? shown.slice(-n) : shown.filter(({ id }) => id !== null && id > after).slice(0, n)
    const isGone = (id: string): boolean => !entries.some((entry) => entry.id === id)
    const gap = after !== null && seen.some((id) => id > after && isGone(id))
    same(
      [await backend.streams.tail(of, after, n), await backend.streams.peek(of, n)],
      [{ entries: rest, gap }, shown.slice(0, n)],
    )
  },
)

// ── Pools ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const fenceOf = (kind: 'pool' | 'lock', of: string): string => `${kind} ${of}`
function claimsOf(fixture: ModelFixture, pool: string, wanted: readonly Pick[]): LeaseRef[] {
  const live = fixture.store.pool(pool).items.filter(({ until }) => until > fixture.time.now)
  return wanted.map((each) => fixture.leaseOf(fenceOf('pool', pool), live, each))
}

const item = fc.record({
  id: fc.constantFrom(...IDS),
  tags: fc.constantFrom('{}', '{"os":"a"}', '{"os":"b","n":1}', '{"__proto__":true}'),
  expiresIn: fc.option(fc.constantFrom(0, 1_000, 60_000), { freq: 2 }),
})
const put = command(
  'pool put',
  fc.record({ name, items: fc.array(item, { minLength: 1, maxLength: 4 }) }),
  async ({ name: pool, items: wanted }, fixture, { backend }) => {
    const items = wanted.map(({ id, tags, expiresIn }) => ({
      id,
      tags,
      payload: `{"n":${fixture.serial()}}`,
      expiresAtMs: expiresIn === null ? null : fixture.time.now + expiresIn,
    }))
    same(await backend.pools.put(pool, items), fixture.store.pool(pool).put(items))
  },
)

const match = fc.oneof(
  fc.constant({}),
  fc.constant({}),
  fc.constantFrom<Record<string, string | number | boolean>>(
    { os: 'a' },
    { os: 'b', n: 1 },
    { n: '1' },
    JSON.parse('{"__proto__":true}') as Record<string, boolean>,
    { toString: true },
  ),
)
const claim = command(
  'claim',
  fc.record({
    name,
    requests: fc.array(
      fc.record({
        owner: fc.constantFrom('w1', '__proto__'),
        holder: fc.constantFrom(
          null,
          { type: 'mailer', slotId: 2, taskId: null },
          { type: '"', slotId: null, taskId: 't;1' },
        ),
        n: fc.integer({ min: 1, max: 3 }),
        holdMs,
        match,
      }),
      { minLength: 1, maxLength: 2 },
    ),
  }),
  async ({ name: pool, requests }, fixture, { backend }) => {
    const claims = await backend.pools.claim(pool, requests)
    same(claims, fixture.store.pool(pool).claim(requests, fixture.handOut(fenceOf('pool', pool), claims.flat())))
  },
)

const picks = fc.array(pick, { minLength: 1, maxLength: 3 })
const extend = command(
  'pool extend',
  fc.record({ name, picks, holdMs }),
  async ({ name: pool, picks: wanted, holdMs: ms }, fixture, { backend }) => {
    const items = claimsOf(fixture, pool, wanted).map((lease) => ({ ...lease, holdMs: ms }))
    same(await backend.pools.extend(pool, items), fixture.store.pool(pool).extend(items))
  },
)
const release = command(
  'pool release',
  fc.record({ name, picks }),
  async ({ name: pool, picks: wanted }, fixture, { backend }) => {
    const leases = claimsOf(fixture, pool, wanted)
    same(await backend.pools.release(pool, leases), fixture.store.pool(pool).release(leases))
  },
)
const remove = command(
  'pool remove',
  fc.record({ name, pick, id: fc.option(fc.constantFrom(...IDS)) }),
  async ({ name: pool, pick: wanted, id }, fixture, { backend }) => {
    const items = id === null ? claimsOf(fixture, pool, [wanted]) : [{ id, token: null }]
    same(await backend.pools.remove(pool, items), fixture.store.pool(pool).remove(items))
  },
)

// ── Locks, values, counters ─────────────────────────────────────────────────────────────────────────────────────────

function locksOf(fixture: ModelFixture, of: string, wanted: Pick): { name: string; token: number } {
  const live = KEYS.flatMap((each) => ({ id: each, token: fixture.store.locks(of).held(each)?.token ?? 0 })).filter(
    ({ token }) => token > 0,
  )
  const { id, token } = fixture.leaseOf(fenceOf('lock', of), live, wanted)
  return { name: id, token }
}
const acquire = command(
  'acquire',
  fc.record({ name, names: fc.array(key, { minLength: 1, maxLength: 2 }), holdMs }),
  async ({ name: of, names, holdMs: ms }, fixture, { backend }) => {
    const items = names.map((each) => ({ name: each, owner: 'w1', holdMs: ms }))
    const results = await backend.locks.acquire(of, items)
    const got = results.flatMap((answer, i) =>
      answer.kind === 'acquired' ? [{ id: names[i] ?? '', token: answer.token }] : [],
    )
    same(results, fixture.store.locks(of).acquire(items, fixture.handOut(fenceOf('lock', of), got)))
  },
)
const prolong = command(
  'lock extend',
  fc.record({ name, pick, holdMs }),
  async ({ name: of, pick: wanted, holdMs: ms }, fixture, { backend }) => {
    const items = [{ ...locksOf(fixture, of, wanted), holdMs: ms }]
    same(await backend.locks.extend(of, items), fixture.store.locks(of).extend(items))
  },
)
const unlock = command(
  'lock release',
  fc.record({ name, pick }),
  async ({ name: of, pick: wanted }, fixture, { backend }) => {
    const items = [locksOf(fixture, of, wanted)]
    same(await backend.locks.release(of, items), fixture.store.locks(of).release(items))
  },
)

const set = command(
  'kv set',
  fc.record({
    name,
    keys: fc.array(key, { minLength: 1, maxLength: 3 }),
    ttlMs: fc.option(fc.constantFrom(1_000, 60_000)),
  }),
  async ({ name: of, keys, ttlMs }, fixture, { backend }) => {
    const items = keys.map((each) => ({ key: each, value: `{"n":${fixture.serial()}}`, ttlMs }))
    await backend.kv.set(of, items)
    for (const { key: each, value } of items)
      fixture.store.values.set(JSON.stringify([of, each]), { value, ends: fixture.time.now + (ttlMs ?? Infinity) })
  },
)
const unset = command(
  'kv delete',
  fc.record({ name, keys: fc.array(key, { minLength: 1, maxLength: 2 }) }),
  async ({ name: of, keys }, fixture, { backend }) => {
    const wereThere = keys.map((each) => {
      const known = fixture.store.values.get(JSON.stringify([of, each]))
      fixture.store.values.delete(JSON.stringify([of, each]))
      return known !== undefined && known.ends > fixture.time.now
    })
    same(await backend.kv.delete(of, keys), wereThere)
  },
)
const add = command(
  'counter add',
  fc.record({
    name,
    items: fc.array(
      fc.record({ name: key, delta: fc.constantFrom(1, -3, 1_000, Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER) }),
      { minLength: 1, maxLength: 2 },
    ),
  }),
  async ({ name: of, items }, fixture, { backend }) => {
    const sums = items.map(({ name: each, delta }) => {
      const sum = (fixture.store.sums.get(JSON.stringify([of, each])) ?? 0) + delta
      if (!Number.isSafeInteger(sum)) return 'out_of_range'
      fixture.store.sums.set(JSON.stringify([of, each]), sum)
      return sum
    })
    same(await backend.counters.add(of, items), sums)
  },
)

// ── Time and the store ──────────────────────────────────────────────────────────────────────────────────────────────

const advance = command(
  'advance',
  fc.record({
    ms: fc.constantFrom(1, 500, 1_000, 1_000, 4_000, 15_000, 60_000, 60_000, 300_000, HOUR),
    isQuiet: fc.boolean(),
  }),
  async ({ ms, isQuiet }, fixture, { clock }) => {
    clock.advance(ms)
    fixture.time.now += ms
    return isQuiet ? 'quiet' : undefined
  },
)

/** Changes the wall clock only. Leases and TTLs must not be affected. */
const stepWall = command('step the wall clock', fc.constantFrom(HOUR, -HOUR), async (ms, _world, { clock }) =>
  clock.stepWall(ms),
)
const idle = command('idle', fc.constant(null), async (_none, _world, real) => real.idle())

const close = command('reopen', fc.constant(null), async (_none, fixture, { backend }) => {
  await reopen(backend)
  const { epoch, nowMs } = await backend.meta.info()
  const { durable } = backend.capabilities
  expect(epoch === fixture.epoch).toBe(durable)
  expect(nowMs).toBeGreaterThanOrEqual(fixture.time.now)
  fixture.epoch = epoch
  fixture.time.now = nowMs
  fixture.reopened(durable)
  for (const type of TYPES) {
    const { policy } = fixture.store.tasks(type)
    if (policy === null) continue
    for (const each of [null, policy]) {
      // All groups become ready together, whatever the store knows of their turns.
      await backend.tasks.setGroupPolicy(type, each)
      fixture.store.tasks(type).setGroupPolicy(each)
    }
  }
})

export const thingCommands: AnyCommand[] = [
  push,
  push,
  pop,
  pop,
  tail,
  tail,
  put,
  put,
  claim,
  claim,
  extend,
  release,
  remove,
  acquire,
  acquire,
  prolong,
  unlock,
  set,
  unset,
  add,
]

/**
 * @param share How often time advances. A store that is not durable is rarely reopened, otherwise its queues would stay
 * short.
 */
export const timeCommands = (share: number, isDurable: boolean): AnyCommand[] => [
  ...Array.from({ length: share }, () => advance),
  stepWall,
  idle,
  ...(isDurable ? [close, close] : [close]),
]
