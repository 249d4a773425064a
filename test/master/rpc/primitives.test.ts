import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { QueueFixture } from '../queue/fixture.ts'

let fixture: QueueFixture
beforeEach(async () => {
  fixture = await QueueFixture.open()
})
afterEach(() => fixture.close())

const nowSeconds = (): number => fixture.time.wallMs() / 1_000

describe('the key-value store', () => {
  it('stores JSON values of any kind; a missing key is null, and delete returns whether there was one', async () => {
    for (const value of [{ a: [1, null] }, 'text', 7, true, null, []]) {
      expect(await fixture.rpc('w', 'kv.set', { key: 'k', value })).toEqual({})
      expect(await fixture.rpc('v', 'kv.get', { key: 'k' })).toEqual({ value })
    }
    expect(await fixture.rpc('w', 'kv.delete', { key: 'k' })).toEqual({ deleted: true })
    expect(await fixture.rpc('w', 'kv.delete', { key: 'k' })).toEqual({ deleted: false })
    expect(await fixture.rpc('w', 'kv.get', { key: 'k' })).toEqual({ value: null })
  })

  it('removes a value after its ttl_ms', async () => {
    await fixture.rpc('w', 'kv.set', { key: 'k', value: 1, ttl_ms: 1_000 })
    await fixture.time.advance(1_001)
    expect(await fixture.rpc('w', 'kv.get', { key: 'k' })).toEqual({ value: null })
  })

  it('has one namespace per automation, unless the plugin names another (D60)', async () => {
    await fixture.rpc('w', 'kv.set', { key: 'k', value: 'mailer' })
    await fixture.rpc('w', 'kv.set', { key: 'k', value: 'shared', namespace: 'common' })
    expect(await fixture.rpc('w', 'kv.get', { key: 'k' }, { type: 'feed' })).toEqual({ value: null })
    expect(await fixture.rpc('w', 'kv.get', { key: 'k', namespace: 'common' }, { type: 'feed' })).toEqual({
      value: 'shared',
    })
  })

  it('is readable by every type; the namespace of an installed type is writable by that type only (D85)', async () => {
    const other = { type: 'feed' }
    await fixture.rpc('w', 'kv.set', { key: 'k', value: 'own', namespace: 'mailer' })
    await fixture.rpc('w', 'counter.add', { name: 'c', delta: 7 })
    const lock = await fixture.rpc('w', 'lock.acquire', { name: 'l', hold_ms: 1_000 })
    const refused = { code: -32_602, data: { errors: [{ path: '/namespace' }] } }
    const namespace = 'mailer'
    expect((await fixture.tryRpc('v', 'kv.set', { key: 'k', value: 'theirs', namespace }, other)).error).toMatchObject(
      refused,
    )
    expect((await fixture.tryRpc('v', 'kv.delete', { key: 'k', namespace }, other)).error).toMatchObject(refused)
    expect(
      (await fixture.tryRpc('v', 'lock.acquire', { name: 'm', hold_ms: 1_000, namespace }, other)).error,
    ).toMatchObject(refused)
    expect((await fixture.tryRpc('v', 'counter.add', { name: 'c', delta: 1, namespace }, other)).error).toMatchObject(
      refused,
    )
    expect(await fixture.rpc('v', 'kv.get', { key: 'k', namespace }, other)).toEqual({ value: 'own' })
    expect(await fixture.rpc('v', 'counter.get', { name: 'c', namespace }, other)).toEqual({ value: 7 })
    const token = 'token' in lock ? lock.token : 0
    expect(await fixture.rpc('v', 'lock.release', { name: 'l', token, namespace }, other)).toEqual({})
  })

  it('has up to 1,000 namespaces; a type keeps its own, and the error says what to do (D100)', async () => {
    for (let i = 0; i < 1_000; i += 1)
      await fixture.deps.backend.kv.set(`n${i}`, [{ key: 'k', value: '1', ttlMs: null }])
    const { error } = await fixture.tryRpc('w', 'kv.set', { key: 'k', value: 1, namespace: 'new' })
    expect(error).toMatchObject({
      code: -32_003,
      message: expect.stringMatching(/"new" does not exist, and there are 1000 namespaces.*leave "namespace" out/),
    })
    expect(await fixture.rpc('w', 'kv.set', { key: 'k', value: 1 })).toEqual({})
    expect(await fixture.rpc('w', 'lock.acquire', { name: 'l', hold_ms: 1_000, namespace: 'new' })).toMatchObject({
      acquired: true,
    })
  })

  it('accepts values up to 256 KiB of JSON, and rejects larger ones with the name of the field', async () => {
    await fixture.rpc('w', 'kv.set', { key: 'k', value: 'x'.repeat(262_142) })
    const { error } = await fixture.tryRpc('w', 'kv.set', { key: 'k', value: 'x'.repeat(262_143) })
    expect(error).toMatchObject({ code: -32_602, data: { errors: [{ path: '/value' }] } })
    expect((await fixture.tryRpc('w', 'kv.set', { key: 'k' })).error?.code).toBe(-32_602)
  })

  it('returns at most 32 MiB per request; later calls are not executed and return an error', async () => {
    await fixture.rpc('w', 'kv.set', { key: 'k', value: 'x'.repeat(262_142) })
    const calls = Array.from({ length: 300 }, (_, id) => ({
      jsonrpc: '2.0',
      id,
      method: 'kv.get',
      params: { key: id === 0 ? 'absent' : 'k' },
    }))
    const responses = (await fixture.post('w', calls)).json as { id: number; error?: { code: number; data: object } }[]
    expect(responses.map(({ id }) => id)).toEqual(calls.map(({ id }) => id))
    const refused = responses.filter(({ error }) => error !== undefined)
    expect(refused[0]?.error).toMatchObject({ code: -32_003, data: { code: 'unavailable', retry_after_ms: 1_000 } })
    expect(300 - refused.length).toBeGreaterThanOrEqual(129) // 128 values are 32 MiB.
    expect(300 - refused.length).toBeLessThanOrEqual(257)
    expect(await fixture.rpc('w', 'kv.get', { key: 'absent' })).toEqual({ value: null })
  })

  it.each(['', 'x'.repeat(257), 'a\u0000b', '\udfff'])('refuses the key %j (D56)', async (key) => {
    expect((await fixture.tryRpc('w', 'kv.get', { key })).error?.code).toBe(-32_602)
  })
})

describe('a lock', () => {
  it('has one holder at a time, until its hold time has passed (G4)', async () => {
    const first = await fixture.rpc('w', 'lock.acquire', { name: 'l', hold_ms: 1_500 })
    expect(first).toEqual({ acquired: true, token: expect.any(Number), expires_at: nowSeconds() + 1.5 })
    expect(await fixture.rpc('v', 'lock.acquire', { name: 'l', hold_ms: 1_500 })).toEqual({
      acquired: false,
      held_until: nowSeconds() + 1.5,
    })
    await fixture.time.advance(1_500)
    expect(await fixture.rpc('v', 'lock.acquire', { name: 'l', hold_ms: 1_000 })).toMatchObject({ acquired: true })
  })

  it('is extended and released only with its token; any other token returns lease_lost (D60)', async () => {
    const lock = await fixture.rpc('w', 'lock.acquire', { name: 'l', hold_ms: 1_000 })
    if (!lock.acquired) throw new Error('not acquired')
    expect(await fixture.rpc('w', 'lock.extend', { name: 'l', token: lock.token, hold_ms: 5_000 })).toEqual({
      expires_at: nowSeconds() + 5,
    })
    expect((await fixture.tryRpc('v', 'lock.release', { name: 'l', token: lock.token + 1 })).error).toMatchObject({
      code: -32_001,
      data: { code: 'lease_lost' },
    })
    expect(
      (await fixture.tryRpc('v', 'lock.extend', { name: 'l', token: lock.token + 1, hold_ms: 1_000 })).error?.code,
    ).toBe(-32_001)
    expect(await fixture.rpc('w', 'lock.release', { name: 'l', token: lock.token })).toEqual({})
    expect((await fixture.tryRpc('w', 'lock.release', { name: 'l', token: lock.token })).error?.code).toBe(-32_001)
  })

  it.each([999, 43_200_001, -1, 1_000.5])('refuses a hold of %d ms', async (hold) => {
    expect((await fixture.tryRpc('w', 'lock.acquire', { name: 'l', hold_ms: hold })).error?.code).toBe(-32_602)
  })
})

describe('a counter', () => {
  it('starts at 0 and adds, also below zero', async () => {
    expect(await fixture.rpc('w', 'counter.get', { name: 'n' })).toEqual({ value: 0 })
    expect(await fixture.rpc('w', 'counter.add', { name: 'n', delta: 5 })).toEqual({ value: 5 })
    expect(await fixture.rpc('v', 'counter.add', { name: 'n', delta: -7 })).toEqual({ value: -2 })
  })

  it('stays unchanged when it would leave ±(2^53−1) (D60)', async () => {
    await fixture.rpc('w', 'counter.add', { name: 'n', delta: Number.MAX_SAFE_INTEGER })
    expect((await fixture.tryRpc('w', 'counter.add', { name: 'n', delta: 1 })).error).toMatchObject({
      code: -32_005,
      data: { code: 'out_of_range' },
    })
    expect(await fixture.rpc('w', 'counter.get', { name: 'n' })).toEqual({ value: Number.MAX_SAFE_INTEGER })
  })
})
