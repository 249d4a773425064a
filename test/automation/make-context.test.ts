import { afterEach, describe, expect, it } from '@jest/globals'
import { defineContinuous, LeaseLost, runContinuousSlot, Type, type Context } from '../../src/automation/index.ts'
import { RPC_VALIDATORS, RpcError } from '../../src/protocol/index.ts'
import { untilAborted, SlotFixture } from './slot-fixture.ts'

const POOLS = {
  proxies: { payload: Type.Object({ host: Type.String() }), tags: Type.Object({ region: Type.String() }) },
}
let slot: { fixture: SlotFixture; done: Promise<void> } | undefined

afterEach(async () => {
  slot?.fixture.kill()
  await slot?.done
  slot = undefined
})

/** Creates a fixture in which `inside` runs once as a plugin. `result` is its result. */
function during<T>(inside: (context: Context<object, object, typeof POOLS>) => Promise<T>) {
  let settle: (value: Promise<T>) => void = () => {}
  const result = new Promise<T>((resolve) => {
    settle = resolve
  })
  const fixture = new SlotFixture(
    defineContinuous({
      type: 'watcher',
      output: Type.Object({ n: Type.Integer(), items: Type.Optional(Type.Array(Type.String())) }),
      pools: POOLS,
      run: async (context) => {
        const mine = inside(context)
        settle(mine)
        await mine.catch(() => {})
        if (!context.signal.aborted) await untilAborted(context.signal).catch(() => {})
      },
    }),
  )
  const begin = (): void => {
    slot = { fixture, done: runContinuousSlot(fixture.entry, fixture.control, fixture.ports) }
  }
  return { fixture, result, begin }
}

const lockResults = (fixture: SlotFixture): SlotFixture => {
  fixture.results.set('lock.acquire', () => ({ acquired: true, token: 41, expires_at: 0 }))
  fixture.results.set('lock.extend', () => ({ expires_at: 0 }))
  fixture.results.set('lock.release', () => ({}))
  return fixture
}
const methods = (fixture: SlotFixture): string[] => fixture.calls.map(({ method }) => method)
const refuse = (code: 'lease_lost' | 'unavailable') => () => {
  throw new RpcError(code, code)
}

describe('emit', () => {
  it.each<[unknown, string]>([
    [{ n: 'many' }, '/n must be integer'],
    [{}, '/n is required'],
    [{ n: 1, items: ['a', 2] }, '/items/1 must be string'],
    [[1], 'emit takes an object'],
    [null, 'emit takes an object'],
    ['text', 'emit takes an object'],
  ])('throws in the plugin on %j, naming the field', async (output, message) => {
    const { fixture, result, begin } = during(({ emit }) => emit(output as never))
    begin()
    await expect(result).rejects.toThrow(message)
    expect(fixture.outputs).toEqual([])
  })

  it('passes valid outputs on in order', async () => {
    const { fixture, result, begin } = during(async ({ emit }) => {
      await emit({ n: 1 })
      await emit({ n: 2 })
    })
    begin()
    await result
    expect(fixture.outputs).toEqual([{ n: 1 }, { n: 2 }])
  })
})

describe('the primitives', () => {
  it('call RPC methods, with seconds as milliseconds (D60)', async () => {
    const { fixture, result, begin } = during(async ({ kv, counter, bus, pool, lock, sleep, now }) => {
      const before = now()
      await sleep(250)
      await kv.set('k', { a: 1 }, { ttlSeconds: 1.5 })
      await kv.set('k', null)
      await kv.delete('k')
      await pool('proxies').put([
        { id: 'p', payload: { host: 'h' }, tags: { region: 'eu' }, expiresAt: 1_800_000_000 },
        { id: 'q', payload: { host: 'i' }, tags: { region: 'us' } },
      ])
      await bus.publish('topic', { hello: 1 })
      bus.subscribe('topic')
      return [
        await kv.get('k'),
        await counter.add('c', 2),
        await counter.get('c'),
        await lock.acquire('l', { holdSeconds: 2 }),
        await pool('proxies').claim({ holdSeconds: 30, match: { region: 'eu' } }),
        now() - before,
      ]
    })
    const results = {
      'kv.set': {},
      'kv.get': { value: 'v' },
      'kv.delete': { deleted: true },
      'counter.add': { value: 5 },
      'counter.get': { value: 6 },
      'lock.acquire': { acquired: false, held_until: 1 },
      'pool.put': { results: [] },
      'pool.claim': { claims: [] },
      'bus.publish': {},
    }
    for (const [method, answer] of Object.entries(results)) fixture.results.set(method, () => answer)
    begin()
    await fixture.time.advance(250)
    expect(await result).toEqual(['v', 5, 6, null, null, 250])
    expect(fixture.calls.map(({ method, params }) => [method, params])).toEqual([
      ['kv.set', { key: 'k', value: { a: 1 }, ttl_ms: 1_500 }],
      ['kv.set', { key: 'k', value: null }],
      ['kv.delete', { key: 'k' }],
      [
        'pool.put',
        {
          pool: 'proxies',
          items: [
            { id: 'p', payload: { host: 'h' }, tags: { region: 'eu' }, expires_at: 1_800_000_000 },
            { id: 'q', payload: { host: 'i' }, tags: { region: 'us' } },
          ],
        },
      ],
      ['bus.publish', { topic: 'topic', message: { hello: 1 } }],
      ['kv.get', { key: 'k' }],
      ['counter.add', { name: 'c', delta: 2 }],
      ['counter.get', { name: 'c' }],
      ['lock.acquire', { name: 'l', hold_ms: 2_000 }],
      ['pool.claim', { pool: 'proxies', hold_ms: 30_000, match: { region: 'eu' }, slot_id: 3 }],
    ])
    for (const { method, params } of fixture.calls) expect(RPC_VALIDATORS.get(method)?.(params)).toEqual([])
    expect(fixture.subscriptions).toMatchObject([{ topic: 'topic', signal: { aborted: false } }])
  })

  it.each<[string, (context: Context<object, object, typeof POOLS>) => Promise<unknown>, string]>([
    [
      'a pool that was not declared',
      async ({ pool }) => pool('browsers' as never),
      'watcher does not declare the pool "browsers"; it declares: proxies',
    ],
    [
      'an item with a wrong payload',
      ({ pool }) => pool('proxies').put([{ id: 'a', payload: {} as never }]),
      'item "a" does not fit the pool "proxies": /payload/host is required; /tags/region is required',
    ],
    [
      'a hold time out of range',
      ({ lock }) => lock.acquire('l', { holdSeconds: 0 }),
      'holdSeconds must be 1 to 43200, got 0',
    ],
    ['no hold time', ({ pool }) => pool('proxies').claim({} as never), 'holdSeconds must be 1 to 43200, got undefined'],
    ['the value undefined', ({ kv }) => kv.set('k', undefined), 'kv.set: undefined is not a value'],
  ])('reject %s before anything is sent', async (_, call, message) => {
    const { fixture, result, begin } = during(call)
    begin()
    await expect(result).rejects.toThrow(message)
    expect(fixture.calls).toEqual([])
  })

  it('split many items into several calls', async () => {
    const items = Array.from({ length: 2_001 }, (_, index) => ({
      id: `i${index}`,
      payload: { host: 'h' },
      tags: { region: 'eu' },
    }))
    const { fixture, result, begin } = during(({ pool }) => pool('proxies').put(items))
    fixture.results.set('pool.put', () => ({ results: [] }))
    begin()
    await result
    expect(fixture.calls.map(({ params }) => (params['items'] as unknown[]).length)).toEqual([1_000, 1_000, 1])
  })
})

describe('a lock', () => {
  it('is renewed at each third of its hold time until it is released', async () => {
    const { fixture, result, begin } = during(async ({ lock, sleep }) => {
      const held = await lock.acquire('l', { holdSeconds: 30 })
      await sleep(35_000)
      await held?.release()
      await held?.release()
      return held?.token
    })
    lockResults(fixture)
    begin()
    await fixture.time.advance(100_000)
    expect(await result).toBe(41)
    expect(methods(fixture)).toEqual(['lock.acquire', 'lock.extend', 'lock.extend', 'lock.extend', 'lock.release'])
    expect(fixture.calls[1]?.params).toEqual({ name: 'l', token: 41, hold_ms: 30_000 })
  })

  it('is released at the end of await using, and at the latest at the end of the run', async () => {
    const { fixture, result, begin } = during(async ({ lock }) => {
      const used = await lock.acquire('used', { holdSeconds: 30 })
      await used?.[Symbol.asyncDispose]()
      await lock.acquire('forgotten', { holdSeconds: 30 })
    })
    lockResults(fixture)
    begin()
    await result
    fixture.stop()
    await slot?.done
    await fixture.time.advance(100_000)
    expect(fixture.calls.map(({ method, params }) => [method, params['name']])).toEqual([
      ['lock.acquire', 'used'],
      ['lock.release', 'used'],
      ['lock.acquire', 'forgotten'],
      ['lock.release', 'forgotten'],
    ])
    expect(fixture.time.pending).toBe(0)
  })

  it('throws LeaseLost on every use after the master rejected it, and is not renewed any more', async () => {
    const { fixture, result, begin } = during(async ({ lock, sleep }) => {
      const held = await lock.acquire('l', { holdSeconds: 30 })
      if (held === null) throw new Error('not acquired')
      await sleep(11_000)
      await expect(held.extend({ holdSeconds: 5 })).rejects.toThrow(LeaseLost)
      await expect(held.release()).rejects.toThrow('lock "l" was lost')
      await held[Symbol.asyncDispose]()
    })
    lockResults(fixture).results.set('lock.extend', refuse('lease_lost'))
    begin()
    await fixture.time.advance(100_000)
    await result
    expect(methods(fixture)).toEqual(['lock.acquire', 'lock.extend'])
    expect(fixture.logs).toMatchObject([{ level: 'warn', message: 'lock "l" was lost' }])
  })

  it('survives an outage of the master that is shorter than its hold time, and is lost in a longer one', async () => {
    const { fixture, result, begin } = during(async ({ lock, sleep }) => {
      const held = await lock.acquire('l', { holdSeconds: 30 })
      if (held === null) throw new Error('not acquired')
      await sleep(25_000)
      await held.extend({ holdSeconds: 30 })
      await sleep(31_000)
      await expect(held.extend({ holdSeconds: 30 })).rejects.toThrow(LeaseLost)
    })
    let until = 21_000
    lockResults(fixture).results.set('lock.extend', () =>
      fixture.time.monotonicMs() < until ? refuse('unavailable')() : { expires_at: 0 },
    )
    begin()
    await fixture.time.advance(25_000)
    until = Infinity
    await fixture.time.advance(100_000)
    await result
  })

  it('is lost when its hold time has passed since the last renewal was sent, not since it was answered', async () => {
    const { fixture, result, begin } = during(async ({ lock, sleep }) => {
      const held = await lock.acquire('l', { holdSeconds: 30 })
      await sleep(41_000)
      await expect(held?.release()).rejects.toThrow(LeaseLost)
    })
    lockResults(fixture).results.set('lock.extend', async () => {
      if (fixture.time.monotonicMs() > 20_000) return refuse('unavailable')()
      await fixture.time.sleep(15_000) // Sent after 10 s, and returned after 25 s.
      return { expires_at: 0 }
    })
    begin()
    await fixture.time.advance(100_000)
    await result
  })

  it('is renewed with the new hold time after an extend', async () => {
    const { fixture, result, begin } = during(async ({ lock, sleep }) => {
      const held = await lock.acquire('l', { holdSeconds: 3 })
      await held?.extend({ holdSeconds: 300 })
      await sleep(150_000)
      await held?.release()
    })
    lockResults(fixture)
    begin()
    await fixture.time.advance(150_000)
    await result
    expect(fixture.calls.map(({ params }) => params['hold_ms'])).toEqual([3_000, 300_000, 300_000, undefined])
  })

  it('is released immediately if it is granted after the run was abandoned', async () => {
    let grant: (answer: unknown) => void = () => {}
    const { fixture, result, begin } = during(({ lock }) => lock.acquire('l', { holdSeconds: 30 }))
    lockResults(fixture).results.set(
      'lock.acquire',
      () =>
        new Promise((resolve) => {
          grant = resolve
        }),
    )
    begin()
    await fixture.time.advance(0)
    fixture.kill()
    await slot?.done
    grant({ acquired: true, token: 9, expires_at: 0 })
    await result
    expect(fixture.calls.at(-1)).toEqual({ method: 'lock.release', params: { name: 'l', token: 9 } })
  })
})

describe('a pool claim', () => {
  it('has the item, is renewed, and can be released or removed', async () => {
    const { fixture, result, begin } = during(async ({ pool, sleep }) => {
      const claim = await pool('proxies').claim({ holdSeconds: 9 })
      await sleep(3_500)
      await claim?.remove()
      await expect(claim?.extend({ holdSeconds: 9 })).rejects.toThrow('item "p" of pool "proxies" was released')
      return [claim?.id, claim?.payload.host, claim?.tags.region]
    })
    fixture.results.set('pool.claim', () => ({
      claims: [{ id: 'p', token: 4, payload: { host: 'h' }, tags: { region: 'eu' }, in_use_until: 0 }],
    }))
    fixture.results.set('pool.extend', () => ({ in_use_until: 0 }))
    fixture.results.set('pool.remove', () => ({ removed: true }))
    begin()
    await fixture.time.advance(20_000)
    expect(await result).toEqual(['p', 'h', 'eu'])
    expect(fixture.calls.slice(1)).toEqual([
      { method: 'pool.extend', params: { pool: 'proxies', id: 'p', token: 4, hold_ms: 9_000 } },
      { method: 'pool.remove', params: { pool: 'proxies', id: 'p', token: 4 } },
    ])
  })
})

describe('the end of a run', () => {
  it('ends its subscriptions and its sleep', async () => {
    const { fixture, result, begin } = during(async ({ bus, sleep }) => {
      bus.subscribe('topic')
      await sleep(600_000)
    })
    begin()
    await fixture.time.advance(0)
    fixture.stop('drain')
    await expect(result).rejects.toThrow('the slot was stopped: drain')
    await slot?.done
    expect(fixture.subscriptions[0]?.signal.aborted).toBe(true)
    expect(fixture.time.pending).toBe(0)
  })
})
