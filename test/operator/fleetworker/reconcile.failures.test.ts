import { beforeEach, describe, expect, it } from '@jest/globals'
import type { Refusal } from '../../../src/operator/fleet/index.ts'
import { refOf } from '../../../src/operator/kube/index.ts'
import { reconcileWorld, type ReconcileWorld } from './reconcile-world.ts'

const MINUTE_MS = 60_000

let world: ReconcileWorld
beforeEach(async () => {
  world = await reconcileWorld()
})

const messageOf = (type: string): string | undefined =>
  world.object('w1').status?.conditions?.find((each) => each.type === type)?.message

describe('reconcile: waiting', () => {
  it('waits for a worker that has not registered, reports the timeout, and continues when it registers', async () => {
    world.create('late', { config: { url: 'http://a' } })
    expect(await world.pass('late')).toEqual({ kind: 'ok', againAfterMs: 600_000 })
    expect(world.condition('late', 'Reconciling')).toBe('True WorkerNotRegistered')
    await world.time.advance(5 * MINUTE_MS)
    await world.pass('late')
    world.restart()
    expect(await world.pass('late')).toEqual({ kind: 'ok', againAfterMs: 300_000 })
    await world.time.advance(5 * MINUTE_MS)
    expect(await world.pass('late')).toEqual({ kind: 'terminal' })
    expect(world.condition('late', 'Stalled')).toBe('True RegistrationTimeout')
    await world.expectQuiet('late')
    await world.work('late')
    await world.pass('late')
    expect(world.condition('late', 'Synced')).toBe('True InSync')
  })

  it('restarts the timeout at an edit, and when a worker is forgotten', async () => {
    world.create('late', { registrationTimeoutSeconds: 60 })
    await world.pass('late')
    await world.time.advance(2 * MINUTE_MS)
    await world.pass('late')
    world.edit('late', { registrationTimeoutSeconds: 90 })
    expect(await world.pass('late')).toEqual({ kind: 'ok', againAfterMs: 90_000 })
    world.create('w1', { registrationTimeoutSeconds: 60 })
    await world.pass('w1')
    await world.time.advance(10 * MINUTE_MS)
    await world.forget('w1')
    expect(await world.pass('w1')).toEqual({ kind: 'ok', againAfterMs: 60_000 })
    world.edit('late', { registrationTimeoutSeconds: 0 })
    expect(await world.pass('late')).toEqual({ kind: 'ok' })
  })

  it('reconciles again when a condition depends on time alone', async () => {
    world.create('w1')
    await world.applied('w1')
    await world.pass('w1')
    world.edit('w1', { slots: 2 })
    expect(await world.pass('w1')).toEqual({ kind: 'ok', againAfterMs: 120_000 })
    await world.time.advance(120_000)
    await world.pass('w1')
    expect([world.condition('w1', 'Applied'), world.fleet.count('patch')]).toEqual(['False AckTimeout', 1])
    await world.leave('w1')
    expect(await world.pass('w1')).toEqual({ kind: 'ok', againAfterMs: 45_000 })
    await world.time.advance(45_000)
    await world.pass('w1')
    expect(world.condition('w1', 'Online')).toBe('False Offline')
  })

  it('reads a worker with growing intervals until it reports the new number of slots', async () => {
    const runs = (slots: number): void =>
      world.fleet.alter('w1', { current_stats: { slots, cpu_pct: 1, rss_mb: 1 } as never })
    world.create('w1', { config: { enabled: true }, slots: 3 })
    await world.pass('w1')
    await world.applied('w1')
    await world.see()
    runs(1)
    expect(await world.act('w1')).toEqual({ kind: 'ok', againAfterMs: 2_000 })
    await world.time.advance(60_000)
    expect(await world.act('w1')).toEqual({ kind: 'ok', againAfterMs: 30_000 })
    // As the master shows it.
    expect([world.object('w1').status?.slots, world.fleet.count('get')]).toEqual([undefined, 1])
    await world.time.advance(5 * MINUTE_MS)
    expect(await world.act('w1')).toEqual({ kind: 'ok' })
    runs(3)
    expect(await world.act('w1')).toEqual({ kind: 'ok' })
    expect([world.object('w1').status?.slots, world.fleet.count('get')]).toEqual([3, 2])
    await world.act('w1')
    expect(world.fleet.count('get')).toBe(2)
  })

  it('reports an unknown type', async () => {
    world.create('x', { type: 'nothing' })
    expect(await world.pass('x')).toEqual({ kind: 'terminal' })
    expect([world.condition('x', 'Stalled'), world.changes]).toEqual(['True UnknownType', 0])
  })

  it('reports that the token is not valid for the type, without a call', async () => {
    world.create('w1')
    world.fleet.forbidden = 'job'
    await world.pass('w1')
    expect([world.condition('w1', 'Reconciling'), world.fleet.calls]).toEqual(['True Forbidden', []])
  })

  it('reports nothing before the table was read', async () => {
    world.create('w1')
    world.fleet.isPending = true
    expect(await world.pass('w1')).toEqual({ kind: 'ok' })
    expect(world.statusWrites).toBe(0)
  })
})

describe('reconcile: rejections', () => {
  it('reports a rejection, and retries only after an edit, the annotation, or 30 minutes', async () => {
    world.create('w1', { config: { slots: 5000, ratio: 'x' } })
    expect(await world.pass('w1')).toEqual({ kind: 'terminal' })
    expect([world.condition('w1', 'Stalled'), messageOf('Synced')]).toEqual([
      'True Rejected',
      expect.stringContaining('/ratio'),
    ])
    await world.pass('w1')
    expect(world.fleet.count('patch')).toBe(1)
    world.edit('w1', {}, { annotations: { 'muster.dev/reconcile': 'now' } })
    await world.pass('w1')
    expect(world.fleet.count('patch')).toBe(2)
    await world.time.advance(30 * MINUTE_MS)
    await world.pass('w1')
    expect(world.fleet.count('patch')).toBe(3)
    world.edit('w1', { config: { slots: 5, ratio: 1 } })
    await world.pass('w1')
    expect([world.fleet.count('patch'), world.condition('w1', 'Synced')]).toEqual([4, 'True InSync'])
  })

  it.each<[Refusal, string | undefined, object]>([
    [
      {
        kind: 'rejected',
        faults: [1, 2, 3, 4].map((n) => ({ path: `/f${n}`, message: 'is bad', keyword: 'k', params: { value: 'x' } })),
        message: '',
      },
      'False Rejected',
      { kind: 'terminal' },
    ],
    [{ kind: 'too_large', message: 'too large' }, 'False ConfigInvalid', { kind: 'terminal' }],
    [{ kind: 'bug', message: 'HTTP 415' }, 'False Rejected', { kind: 'terminal' }],
    [{ kind: 'forbidden', message: 'no' }, 'False Forbidden', { kind: 'retry', afterMs: 300_000 }],
    [{ kind: 'not_registered' }, 'False WorkerNotRegistered', { kind: 'ok', againAfterMs: 600_000 }],
    [{ kind: 'unknown_type' }, 'False UnknownType', { kind: 'terminal' }],
    [{ kind: 'throttled', effect: 'not_sent', retryAfterMs: 7_000 }, undefined, { kind: 'retry', afterMs: 7_000 }],
    [{ kind: 'unavailable', effect: 'not_sent', message: 'refused' }, undefined, { kind: 'retry' }],
    [{ kind: 'unavailable', effect: 'unknown', message: 'late' }, 'False Updating', { kind: 'retry' }],
    [{ kind: 'not_leading' }, undefined, { kind: 'retry' }],
  ])('maps a PATCH result $kind to a condition or a retry', async (refusal, condition, outcome) => {
    world.create('w1', { config: { url: 'http://a' } })
    world.fleet.next('patch', () => refusal)
    expect(await world.pass('w1')).toEqual(outcome)
    expect(world.condition('w1', 'Synced')).toBe(condition)
    if (refusal.kind === 'rejected') expect(messageOf('Synced')).toBe('/f1: is bad; /f2: is bad; /f3: is bad')
    expect(world.log.lines).toHaveLength(refusal.kind === 'bug' ? 1 : 0)
  })

  it('reads first when the response to a PATCH was lost, whether it took effect or arrives later', async () => {
    world.create('w1', { config: { url: 'http://a' } })
    world.fleet.next('patch', () => 'lose')
    await world.pass('w1')
    await world.act('w1')
    expect([world.fleet.count('patch'), world.fleet.count('get'), world.condition('w1', 'Synced')]).toEqual([
      1,
      1,
      'True InSync',
    ])
    world.edit('w1', { config: { url: 'http://b' } })
    world.fleet.next('patch', () => 'hold')
    await world.pass('w1')
    await world.act('w1')
    expect([(await world.record('w1')).config_gen, (await world.config('w1'))['url']]).toEqual([2, 'http://b'])
    await world.fleet.held[0]?.()
    expect((await world.record('w1')).config_gen).toBe(2) // The master rejected its old ETag.
    await world.expectQuiet('w1')
  })

  it('reads first after a 503 too, because the PATCH may have taken effect', async () => {
    world.create('w1', { config: { url: 'http://a' } })
    world.fleet.next('patch', () => ({ kind: 'throttled', effect: 'unknown', retryAfterMs: 1_000 }))
    await world.pass('w1')
    await world.dashboard('w1', { url: 'http://a' })
    await world.act('w1')
    expect([world.fleet.count('patch'), world.fleet.count('get'), world.condition('w1', 'Synced')]).toEqual([
      1,
      1,
      'True InSync',
    ])
  })

  it('does not report an unavailable master for a minute, then reports it once', async () => {
    await world.applied('w1')
    world.create('w1')
    await world.pass('w1')
    const writes = world.statusWrites
    world.edit('w1', { slots: 3 })
    world.seeCluster()
    world.fleet.unavailableMs = 59_999
    expect(await world.act('w1')).toEqual({ kind: 'retry' })
    expect(world.statusWrites).toBe(writes)
    world.fleet.unavailableMs = MINUTE_MS
    await world.act('w1')
    await world.act('w1')
    expect([world.statusWrites - writes, world.condition('w1', 'Synced'), world.condition('w1', 'Ready')]).toEqual([
      1,
      'Unknown MasterUnreachable',
      'Unknown MasterUnreachable',
    ])
    expect(world.events.filter(({ reason }) => reason === 'MasterUnreachable')).toEqual([])
    world.fleet.unavailableMs = 0
    await world.pass('w1')
    expect(world.condition('w1', 'Synced')).toBe('True InSync')
  })

  it('writes no status if the outage is over before the status was sent', async () => {
    await world.applied('w1')
    world.create('w1')
    await world.pass('w1')
    const [writes, before] = [world.statusWrites, world.object('w1').status?.conditions]
    await world.time.advance(10_000)
    world.fleet.unavailableMs = MINUTE_MS
    await world.reconcile('w1')
    expect(world.status.last(refOf(world.object('w1')))?.conditions).toContainEqual(
      expect.objectContaining({ type: 'Ready', reason: 'MasterUnreachable' }),
    )
    world.fleet.unavailableMs = 0
    world.status.dropWaiting()
    await world.pass('w1')
    expect([world.statusWrites - writes, world.object('w1').status?.conditions]).toEqual([0, before])
  })

  it.each([
    [409, {}],
    [500, {}],
    [403, { afterMs: 300_000 }],
    [429, { afterMs: 3_000 }],
  ])('retries after a %i of the API server', async (status, more) => {
    world.create('w1', { config: { url: 'http://a' } })
    world.fake.script(
      { method: 'GET', path: /fleetworkers\/w1$/ },
      { kind: 'refuse', status, ...(status === 429 && { retryAfter: 3 }) },
    )
    expect(await world.pass('w1')).toEqual({ kind: 'retry', ...more })
    expect([world.changes, world.statusWrites]).toEqual([0, 0])
    await world.pass('w1')
    expect(world.condition('w1', 'Synced')).toBe('True InSync')
  })

  it('writes nothing once another replica is the leader', async () => {
    world.create('w1', { config: { url: 'http://a' }, deletionPolicy: 'Reset' })
    world.isLeading = false
    expect(await world.pass('w1')).toEqual({ kind: 'retry' })
    expect([world.changes, world.fake.seen('PATCH')]).toEqual([0, []])
    world.isLeading = true
    world.fleet.next('patch', () => {
      world.isLeading = false
      return { kind: 'stale' }
    })
    await world.pass('w1')
    expect([world.fleet.count('patch'), world.statusWrites, (await world.record('w1')).config_gen]).toEqual([1, 0, 0])
  })

  it('is aborted by its signal during a PATCH', async () => {
    world.create('w1', { config: { url: 'http://a' } })
    world.fleet.next('patch', () => {
      world.abort.abort(new Error('the term is over'))
      throw world.abort.signal.reason
    })
    await expect(world.pass('w1')).rejects.toThrow('the term is over')
    expect(world.statusWrites).toBe(0)
  })

  it('rethrows errors of its own, with the finalizer unchanged', async () => {
    world.create('w1', { config: { url: 'http://a' }, deletionPolicy: 'Reset' })
    await world.pass('w1')
    world.remove('w1')
    world.fleet.next('patch', () => {
      throw new TypeError('a programming error')
    })
    await expect(world.pass('w1')).rejects.toThrow('a programming error')
    expect(world.names).toEqual(['w1'])
  })
})

describe('reconcile: invalid configs', () => {
  const deep = (levels: number): object => JSON.parse('{"a":'.repeat(levels) + '1' + '}'.repeat(levels)) as object
  const sized = (bytes: number): string => 'x'.repeat(bytes - JSON.stringify({ url: '' }).length)

  it('keeps reconciling 20 valid resources next to invalid ones', async () => {
    const poison: readonly (readonly [string, object])[] = [
      ['deep', { limits: deep(1_000) }],
      ['proto', JSON.parse('{"limits":{"__proto__":{"x":1}}}') as object],
      ['constructor', { constructor: 1 }],
      ['integer', { ratio: 2 ** 53 + 2 }],
      ['large', { url: sized(256 * 1_024 + 1) }],
      ['odd', { '': 1, 'a/b~c': 2, '\u0000': 3 }],
    ]
    for (const [name, config] of poison) world.create(name, { workerId: 'w1', config: config as never })
    world.create('shape', { type: '../x' })
    const good = Array.from({ length: 20 }, (_, n) => `good-${n}`)
    for (const name of good) {
      await world.work(name)
      world.create(name, { config: { url: `http://${name}` } })
    }
    const outcomes: unknown[] = []
    for (const name of [...poison.map(([each]) => each), 'shape', ...good]) {
      outcomes.push(await world.pass(name).catch(() => 'threw'))
      await world.time.advance(10) // The rate limit of the writer allows one status per turn.
    }
    expect(outcomes).not.toContain('threw')
    expect(poison.slice(0, 5).map(([name]) => world.condition(name, 'Stalled'))).toEqual(
      Array.from({ length: 5 }, () => 'True ConfigInvalid'),
    )
    expect(world.condition('shape', 'Stalled')).toBe('True ConfigInvalid')
    expect(good.map((name) => world.condition(name, 'Synced'))).toEqual(good.map(() => 'True InSync'))
    expect(Object.prototype).not.toHaveProperty('x')
  }, 30_000)

  it('survives a config with ten thousand levels', async () => {
    world.create('w1')
    await world.see()
    const object = world.object('w1')
    world.cache.offer({
      ...object,
      metadata: { ...object.metadata, generation: object.metadata.generation + 1 },
      spec: { ...object.spec, config: { limits: deep(10_000) } as never },
    })
    expect(await world.act('w1')).toEqual({ kind: 'terminal' })
    expect(world.condition('w1', 'Stalled')).toBe('True ConfigInvalid')
  })

  it('leaves the decision about a config of exactly the maximum size to the master', async () => {
    world.create('w1', { config: { url: sized(256 * 1_024) } })
    await world.pass('w1')
    // With the defaults it is larger.
    expect([world.fleet.count('patch'), world.condition('w1', 'Stalled')]).toEqual([1, 'True Rejected'])
  })
})
