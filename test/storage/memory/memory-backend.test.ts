/** Tests what is specific to the memory backend: its limits, its text budget and its fault switches. */
import { afterEach, describe, expect, it } from '@jest/globals'
import { MemoryBackend } from '../../../src/storage/memory/index.ts'
import { seededRandom } from '../../../src/runtime/index.ts'
import {
  DAY,
  HOUR,
  ManualClock,
  SECOND,
  TYPE,
  ask,
  conn,
  fails,
  ids,
  inFlight,
  item,
  killed,
  leasesOf,
  nack,
  pending,
  ref,
  registration,
  reserve,
  sole,
  submit,
  task,
} from '../contract/fixture.ts'
import type { MemoryBackendOptions } from '../../../src/storage/memory/index.ts'

const open: MemoryBackend[] = []
afterEach(async () => {
  for (const backend of open.splice(0)) await backend.close()
})

async function opened(
  options: Partial<MemoryBackendOptions> = {},
): Promise<{ backend: MemoryBackend; clock: ManualClock }> {
  const clock = new ManualClock()
  const backend = new MemoryBackend({ clock, random: seededRandom(1), ...options })
  open.push(backend)
  await backend.open(new AbortController().signal)
  return { backend, clock }
}

const MANY = 10 * 1024
const text = (chars: number): string => `{"x":"${'x'.repeat(chars)}"}`

describe('memory backend: memory budget', () => {
  const limits = { textChars: 64 * 1024 }

  /** Fills the store with tasks, one of them in flight. */
  async function full() {
    const fixture = await opened({ limits })
    const { backend } = fixture
    await backend.workers.register([registration('w1', 'm1/1')])
    await backend.streams.push(TYPE, 'm1', 1, [text(MANY)])
    const [lease] = await inFlight(backend, task('held', { body: text(MANY) }))
    if (lease === undefined) throw new Error('a lease was expected')
    await killed(backend, task('dead', { body: text(MANY) }))
    await submit(backend, task('a', { body: text(MANY) }), task('b', { body: text(MANY) }))
    return { ...fixture, lease }
  }

  it('keeps no outcome in the space that is reserved for tasks, and accepts the ack (D110)', async () => {
    const { backend } = await opened({ limits })
    const leases = await inFlight(backend, task('a', { retainMs: HOUR }), task('b', { retainMs: HOUR }))
    const result = { kind: 'json', text: text(60 * 1024) } as const
    const done = leases.map((lease, at) => ({ ...lease, ...(at === 0 && { result }) }))
    expect(await backend.tasks.ack(TYPE, done)).toEqual(['ok', 'ok'])
    expect(await backend.tasks.describe(TYPE, ['a', 'b'])).toMatchObject([null, { kind: 'done' }])
  })

  it('rejects writes that grow the store, and stores no part of them', async () => {
    const { backend } = await full()
    const big = text(2 * MANY)
    await expect(backend.tasks.submit(TYPE, DAY, [task('c', { key: 'k' }), task('d', { body: big })])).rejects.toEqual(
      fails('STORAGE_FULL'),
    )
    await expect(backend.streams.push(TYPE, 'm1', 2, [big])).rejects.toEqual(fails('STORAGE_FULL'))
    await expect(backend.pools.put('p', [item('a'), item('b', { payload: big })])).rejects.toEqual(
      fails('STORAGE_FULL'),
    )
    await expect(
      backend.kv.set('ns', [
        { key: 'a', value: '1', ttlMs: null },
        { key: 'b', value: big, ttlMs: null },
      ]),
    ).rejects.toEqual(fails('STORAGE_FULL'))
    await expect(
      backend.workers.register([registration('w2', 'm1/2'), registration('w3', 'm1/3', { defaults: big })]),
    ).rejects.toEqual(fails('STORAGE_FULL'))
    await expect(
      backend.configs.put({ ...ref('w1'), expectGen: 0, config: big, changed: [], actor: 'admin' }),
    ).rejects.toEqual(fails('STORAGE_FULL'))
    expect(await pending(backend)).toEqual(['a', 'b'])
    expect(await backend.streams.length([TYPE])).toEqual([1])
    expect(await backend.pools.sizes(['p'])).toEqual([0])
    expect(await backend.kv.get('ns', ['a'])).toEqual([null])
    expect(await backend.workers.get([ref('w2')])).toEqual([null])
    expect(await backend.tasks.submit(TYPE, DAY, [task('e', { key: 'k' })])).toEqual([{ kind: 'queued' }])
    expect(await backend.streams.push(TYPE, 'm1', 2, ['{}'])).toEqual({ length: 2, trimmed: 0 })
  })

  it('keeps a part for tasks, which outputs and values cannot use (D83)', async () => {
    const { backend } = await opened({ limits })
    const entry = text(MANY / 10)
    let pushed = 0
    const push = () => backend.streams.push(TYPE, 'm1', (pushed += 1), [entry])
    await expect(
      (async () => {
        for (;;) await push()
      })(),
    ).rejects.toEqual(fails('STORAGE_FULL'))
    await expect(backend.kv.set('ns', [{ key: 'k', value: entry, ttlMs: null }])).rejects.toEqual(fails('STORAGE_FULL'))
    await submit(backend, task('a', { body: entry }))
    expect(await backend.tasks.locate(TYPE, ['a'])).toEqual(['pending'])
  })

  it('still accepts writes that shrink the store or settle tasks', async () => {
    const { backend, lease } = await full()
    expect(
      await backend.workers.beat([
        {
          ...conn('w1', 'm1/1'),
          state: { state: 'RUNNING', gen: 0, lastError: 'x'.repeat(4_096) },
          stats: [text(MANY), text(MANY)],
        },
      ]),
    ).toEqual([{ status: 'ok', gen: 0 }])
    await expect(submit(backend, 'c')).rejects.toEqual(fails('STORAGE_FULL'))
    await backend.workers.beat([{ ...conn('w1', 'm1/1'), stats: [text(MANY), text(5)] }])
    expect(await backend.stats.read(ref('w1'), 0, 240)).toEqual({ kind: 'frames', frames: [text(5)] })
    expect(await backend.tasks.ack(TYPE, [lease])).toEqual(['ok'])
    expect(await nack(backend, await reserve(backend, 1), { permanent: true })).toEqual(['dead'])
    expect(await backend.streams.pop(TYPE, 10)).toHaveLength(1)
    expect(await backend.tasks.clearDead(TYPE)).toBe(2)
    await submit(backend, 'c')
  })

  it('frees the budget of every removed entry', async () => {
    const { backend, clock } = await opened({ limits })
    const body = text(3 * 1024)
    for (let round = 0; round < 100; round += 1) {
      const name = (id: string): string => `${id}${round}`
      await backend.workers.register([registration('w', `m1/${round}`)])
      await backend.workers.beat([
        {
          ...conn('w', `m1/${round}`),
          state: { state: 'ERROR', gen: 0, lastError: 'e'.repeat(999) },
          stats: [body, body],
        },
      ])
      const { gen } = sole(await backend.configs.get([ref('w')])) ?? { gen: 0 }
      await backend.configs.put({ ...ref('w'), expectGen: gen, config: text(500), changed: [], actor: 'admin' })
      await backend.workers.forget([ref('w')])
      await submit(
        backend,
        task(name('acked'), { body, key: name('k') }),
        task(name('dropped'), { body, ttlMs: SECOND }),
      )
      clock.advance(SECOND)
      await backend.tasks.ack(TYPE, await reserve(backend))
      await killed(backend, ...['cleared', 'removed', 'replayed'].map((id) => task(name(id), { body })))
      await backend.tasks.applyToDead(TYPE, 'replay', [name('replayed')])
      await backend.tasks.ack(TYPE, await reserve(backend))
      await backend.tasks.applyToDead(TYPE, 'remove', [name('removed')])
      expect(await backend.tasks.clearDead(TYPE)).toBe(1)
      await backend.streams.push(TYPE, 'm1', round, [body, body])
      await backend.streams.pop(TYPE, 10)
      await backend.pools.put('p', [
        item('a', { payload: body }),
        item('a', { tags: text(5) }),
        item('b', { payload: body, expiresAtMs: clock.wallMs() + SECOND }),
      ])
      await backend.pools.remove('p', [{ id: 'a', token: null }])
      await backend.kv.set('ns', [
        { key: 'a', value: body, ttlMs: null },
        { key: 'a', value: body, ttlMs: SECOND },
        { key: 'b', value: body, ttlMs: null },
      ])
      await backend.kv.delete('ns', ['b'])
      await backend.locks.acquire(
        'ns',
        Array.from({ length: 20 }, (_, i) => ({ name: `l${i}`, owner: 'w', holdMs: SECOND })),
      )
      clock.advance(DAY)
      await backend.tasks.sweep(TYPE, 10, 500)
    }
  })
})

describe('memory backend: limits', () => {
  it('rejects new workers above the limit of a type, but accepts known ones', async () => {
    const { backend } = await opened({ limits: { workersPerType: 2 } })
    expect(
      await backend.workers.register(['a', 'b', 'c', 'a'].map((id, i) => registration(id, `m1/${i}`))),
    ).toMatchObject([{ previous: null }, { previous: null }, { kind: 'full' }, { previous: { state: 'IDLE' } }])
    expect(await backend.workers.register([{ ...registration('c', 'm1/9'), type: 'other' }])).toMatchObject([
      { previous: null },
    ])
    await backend.workers.forget([ref('a')])
    expect(await backend.workers.register([registration('c', 'm1/10')])).toMatchObject([{ previous: null }])
  })

  it('drops the lowest generations of forgotten workers first', async () => {
    const { backend } = await opened({ limits: { forgottenPerType: 2 } })
    const workers = ['a', 'b', 'c']
    await backend.workers.register(workers.map((id) => registration(id, 'm1/1')))
    await backend.configs.raise([
      { ...ref('a'), above: 8 },
      { ...ref('b'), above: 4 },
      { ...ref('c'), above: 6 },
    ])
    await backend.workers.forget(workers.map(ref))
    expect(await backend.workers.register(workers.map((id) => registration(id, 'm1/2')))).toMatchObject([
      { gen: 10 },
      { gen: 0 },
      { gen: 8 },
    ])
  })

  it('promotes and sweeps thousands of due tasks in parts', async () => {
    const { backend, clock } = await opened()
    for (let i = 0; i < 5; i += 1) {
      await submit(backend, ...Array.from({ length: 500 }, (_, k) => `${i}-${k}`))
      await nack(backend, await reserve(backend), { retryInMs: SECOND })
    }
    clock.advance(SECOND)
    const { results, nextDueAtMs } = await ask(backend, [{ worker: 'w1', limit: 500, defaultMaxAttempts: 3 }])
    expect(ids(leasesOf(sole(results)))).toEqual(Array.from({ length: 500 }, (_, k) => `0-${k}`))
    expect(nextDueAtMs).toBe(clock.wallMs())
    expect(await backend.tasks.counts([TYPE])).toMatchObject([{ tiers: [0, 500, 0], scheduled: 1_500, inFlight: 500 }])
    expect(await backend.tasks.sweep(TYPE, 10, 500)).toMatchObject({ promoted: 500, more: true })
  })

  it('does not open with an aborted signal', async () => {
    const backend = new MemoryBackend({ clock: new ManualClock(), random: seededRandom(1) })
    await expect(backend.open(AbortSignal.abort(new Error('stopped')))).rejects.toThrow('stopped')
    expect(backend.health()).toMatchObject({ ok: false, detail: 'not open' })
  })

  it('copies the lists it receives', async () => {
    const { backend } = await opened()
    await backend.workers.register([registration('w', 'm1/1')])
    const changed = ['slots']
    await backend.configs.put({ ...ref('w'), expectGen: 0, config: '{}', changed, actor: 'admin' })
    changed.push('enabled')
    expect(sole(await backend.configs.history(ref('w'), 1)).changed).toEqual(['slots'])
  })
})

describe('memory backend: fault switches', () => {
  it('accepts a stale token when the token comparison is off (G5)', async () => {
    const { backend, clock } = await opened({ controls: { tokenCompare: false } })
    const stale = sole(await inFlight(backend, 'a'))
    clock.advance(HOUR)
    await backend.tasks.sweep(TYPE, 10, 500)
    await reserve(backend)
    expect(await backend.tasks.ack(TYPE, [stale])).toEqual(['ok'])
  })

  it('queues a known id again when the presence check is off (D27)', async () => {
    const { backend } = await opened({ controls: { presenceCheck: false } })
    await submit(backend, task('a', { ownId: true }))
    expect(await backend.tasks.submit(TYPE, DAY, [task('a', { ownId: true })])).toEqual([{ kind: 'queued' }])
  })

  it('appends a released task when the front of the tier is off', async () => {
    const { backend } = await opened({ controls: { frontOfTier: false } })
    const [first] = await inFlight(backend, 'a')
    await submit(backend, 'b')
    await backend.tasks.release(TYPE, first === undefined ? [] : [first])
    expect(await pending(backend)).toEqual(['b', 'a'])
  })
})
