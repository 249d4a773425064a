import { beforeEach, describe, expect, it } from '@jest/globals'
import type { CallRefusal } from '../../../src/operator/fleet/index.ts'
import { refOf } from '../../../src/operator/kube/index.ts'
import { reconcileFixture, type ReconcileFixture } from './reconcile-fixture.ts'

const MINUTE_MS = 60_000

let fixture: ReconcileFixture
beforeEach(async () => {
  fixture = await reconcileFixture()
})

const messageOf = (type: string): string | undefined =>
  fixture.object('w1').status?.conditions?.find((each) => each.type === type)?.message

describe('reconcile: waiting', () => {
  it('waits for a worker that has not registered, reports the timeout, and continues when it registers', async () => {
    fixture.create('late', { config: { url: 'http://a' } })
    expect(await fixture.pass('late')).toEqual({ kind: 'ok', againAfterMs: 600_000 })
    expect(fixture.condition('late', 'Reconciling')).toBe('True WorkerNotRegistered')
    await fixture.time.advance(5 * MINUTE_MS)
    await fixture.pass('late')
    fixture.restart()
    expect(await fixture.pass('late')).toEqual({ kind: 'ok', againAfterMs: 300_000 })
    await fixture.time.advance(5 * MINUTE_MS)
    expect(await fixture.pass('late')).toEqual({ kind: 'terminal' })
    expect(fixture.condition('late', 'Stalled')).toBe('True RegistrationTimeout')
    await fixture.expectQuiet('late')
    await fixture.work('late')
    await fixture.pass('late')
    expect(fixture.condition('late', 'Synced')).toBe('True InSync')
  })

  it('restarts the timeout at an edit, and when a worker is forgotten', async () => {
    fixture.create('late', { registrationTimeoutSeconds: 60 })
    await fixture.pass('late')
    await fixture.time.advance(2 * MINUTE_MS)
    await fixture.pass('late')
    fixture.edit('late', { registrationTimeoutSeconds: 90 })
    expect(await fixture.pass('late')).toEqual({ kind: 'ok', againAfterMs: 90_000 })
    fixture.create('w1', { registrationTimeoutSeconds: 60 })
    await fixture.pass('w1')
    await fixture.time.advance(10 * MINUTE_MS)
    await fixture.forget('w1')
    expect(await fixture.pass('w1')).toEqual({ kind: 'ok', againAfterMs: 60_000 })
    fixture.edit('late', { registrationTimeoutSeconds: 0 })
    expect(await fixture.pass('late')).toEqual({ kind: 'ok' })
  })

  it('reconciles again when a condition depends on time alone', async () => {
    fixture.create('w1')
    await fixture.applied('w1')
    await fixture.pass('w1')
    fixture.edit('w1', { slots: 2 })
    expect(await fixture.pass('w1')).toEqual({ kind: 'ok', againAfterMs: 120_000 })
    await fixture.time.advance(120_000)
    await fixture.pass('w1')
    expect([fixture.condition('w1', 'Applied'), fixture.fleet.count('patch')]).toEqual(['False AckTimeout', 1])
    await fixture.leave('w1')
    expect(await fixture.pass('w1')).toEqual({ kind: 'ok', againAfterMs: 45_000 })
    await fixture.time.advance(45_000)
    await fixture.pass('w1')
    expect(fixture.condition('w1', 'Online')).toBe('False Offline')
  })

  it('reads a worker with growing intervals until it reports the new number of slots', async () => {
    const runs = (slots: number): void =>
      fixture.fleet.alter('w1', { current_stats: { slots, cpu_pct: 1, rss_mb: 1 } as never })
    fixture.create('w1', { config: { enabled: true }, slots: 3 })
    await fixture.pass('w1')
    await fixture.applied('w1')
    await fixture.see()
    runs(1)
    expect(await fixture.act('w1')).toEqual({ kind: 'ok', againAfterMs: 2_000 })
    await fixture.time.advance(60_000)
    expect(await fixture.act('w1')).toEqual({ kind: 'ok', againAfterMs: 30_000 })
    // As the master shows it.
    expect([fixture.object('w1').status?.slots, fixture.fleet.count('get')]).toEqual([undefined, 1])
    await fixture.time.advance(5 * MINUTE_MS)
    expect(await fixture.act('w1')).toEqual({ kind: 'ok' })
    runs(3)
    expect(await fixture.act('w1')).toEqual({ kind: 'ok' })
    expect([fixture.object('w1').status?.slots, fixture.fleet.count('get')]).toEqual([3, 2])
    await fixture.act('w1')
    expect(fixture.fleet.count('get')).toBe(2)
  })

  it('reports an unknown type', async () => {
    fixture.create('x', { type: 'nothing' })
    expect(await fixture.pass('x')).toEqual({ kind: 'terminal' })
    expect([fixture.condition('x', 'Stalled'), fixture.changes]).toEqual(['True UnknownType', 0])
  })

  it('reports that the token is not valid for the type, without a call', async () => {
    fixture.create('w1')
    fixture.fleet.forbidden = 'job'
    await fixture.pass('w1')
    expect([fixture.condition('w1', 'Reconciling'), fixture.fleet.calls]).toEqual(['True Forbidden', []])
  })

  it('reports nothing before the table was read', async () => {
    fixture.create('w1')
    fixture.fleet.isPending = true
    expect(await fixture.pass('w1')).toEqual({ kind: 'ok' })
    expect(fixture.statusWrites).toBe(0)
  })
})

describe('reconcile: rejections', () => {
  it('reports a rejection, and retries only after an edit, the annotation, or 30 minutes', async () => {
    fixture.create('w1', { config: { slots: 5000, ratio: 'x' } })
    expect(await fixture.pass('w1')).toEqual({ kind: 'terminal' })
    expect([fixture.condition('w1', 'Stalled'), messageOf('Synced')]).toEqual([
      'True Rejected',
      expect.stringContaining('/ratio'),
    ])
    await fixture.pass('w1')
    expect(fixture.fleet.count('patch')).toBe(1)
    fixture.edit('w1', {}, { annotations: { 'muster.dev/reconcile': 'now' } })
    await fixture.pass('w1')
    expect(fixture.fleet.count('patch')).toBe(2)
    await fixture.time.advance(30 * MINUTE_MS)
    await fixture.pass('w1')
    expect(fixture.fleet.count('patch')).toBe(3)
    fixture.edit('w1', { config: { slots: 5, ratio: 1 } })
    await fixture.pass('w1')
    expect([fixture.fleet.count('patch'), fixture.condition('w1', 'Synced')]).toEqual([4, 'True InSync'])
  })

  it.each<[CallRefusal, string | undefined, object]>([
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
    fixture.create('w1', { config: { url: 'http://a' } })
    fixture.fleet.next('patch', () => refusal)
    expect(await fixture.pass('w1')).toEqual(outcome)
    expect(fixture.condition('w1', 'Synced')).toBe(condition)
    if (refusal.kind === 'rejected') expect(messageOf('Synced')).toBe('/f1: is bad; /f2: is bad; /f3: is bad')
    expect(fixture.log.lines).toHaveLength(refusal.kind === 'bug' ? 1 : 0)
  })

  it('reads first when the response to a PATCH was lost, whether it took effect or arrives later', async () => {
    fixture.create('w1', { config: { url: 'http://a' } })
    fixture.fleet.next('patch', () => 'lose')
    await fixture.pass('w1')
    await fixture.act('w1')
    expect([fixture.fleet.count('patch'), fixture.fleet.count('get'), fixture.condition('w1', 'Synced')]).toEqual([
      1,
      1,
      'True InSync',
    ])
    fixture.edit('w1', { config: { url: 'http://b' } })
    fixture.fleet.next('patch', () => 'hold')
    await fixture.pass('w1')
    await fixture.act('w1')
    expect([(await fixture.record('w1')).config_gen, (await fixture.config('w1'))['url']]).toEqual([2, 'http://b'])
    await fixture.fleet.held[0]?.()
    expect((await fixture.record('w1')).config_gen).toBe(2) // The master rejected its old ETag.
    await fixture.expectQuiet('w1')
  })

  it('reads first after a 503 too, because the PATCH may have taken effect', async () => {
    fixture.create('w1', { config: { url: 'http://a' } })
    fixture.fleet.next('patch', () => ({ kind: 'throttled', effect: 'unknown', retryAfterMs: 1_000 }))
    await fixture.pass('w1')
    await fixture.dashboard('w1', { url: 'http://a' })
    await fixture.act('w1')
    expect([fixture.fleet.count('patch'), fixture.fleet.count('get'), fixture.condition('w1', 'Synced')]).toEqual([
      1,
      1,
      'True InSync',
    ])
  })

  it('does not report an unavailable master for a minute, then reports it once', async () => {
    await fixture.applied('w1')
    fixture.create('w1')
    await fixture.pass('w1')
    const writes = fixture.statusWrites
    fixture.edit('w1', { slots: 3 })
    fixture.seeCluster()
    fixture.fleet.unavailableMs = 59_999
    expect(await fixture.act('w1')).toEqual({ kind: 'retry' })
    expect(fixture.statusWrites).toBe(writes)
    fixture.fleet.unavailableMs = MINUTE_MS
    await fixture.act('w1')
    await fixture.act('w1')
    expect([
      fixture.statusWrites - writes,
      fixture.condition('w1', 'Synced'),
      fixture.condition('w1', 'Ready'),
    ]).toEqual([1, 'Unknown MasterUnreachable', 'Unknown MasterUnreachable'])
    expect(fixture.events.filter(({ reason }) => reason === 'MasterUnreachable')).toEqual([])
    fixture.fleet.unavailableMs = 0
    await fixture.pass('w1')
    expect(fixture.condition('w1', 'Synced')).toBe('True InSync')
  })

  it('writes no status if the outage is over before the status was sent', async () => {
    await fixture.applied('w1')
    fixture.create('w1')
    await fixture.pass('w1')
    const [writes, before] = [fixture.statusWrites, fixture.object('w1').status?.conditions]
    await fixture.time.advance(10_000)
    fixture.fleet.unavailableMs = MINUTE_MS
    await fixture.reconcile('w1')
    expect(fixture.status.last(refOf(fixture.object('w1')))?.conditions).toContainEqual(
      expect.objectContaining({ type: 'Ready', reason: 'MasterUnreachable' }),
    )
    fixture.fleet.unavailableMs = 0
    fixture.status.dropWaiting()
    await fixture.pass('w1')
    expect([fixture.statusWrites - writes, fixture.object('w1').status?.conditions]).toEqual([0, before])
  })

  it.each([
    [409, {}],
    [500, {}],
    [403, { afterMs: 300_000 }],
    [429, { afterMs: 3_000 }],
  ])('retries after a %i of the API server', async (status, more) => {
    fixture.create('w1', { config: { url: 'http://a' } })
    fixture.fake.script(
      { method: 'GET', path: /fleetworkers\/w1$/ },
      { kind: 'refuse', status, ...(status === 429 && { retryAfter: 3 }) },
    )
    expect(await fixture.pass('w1')).toEqual({ kind: 'retry', ...more })
    expect([fixture.changes, fixture.statusWrites]).toEqual([0, 0])
    await fixture.pass('w1')
    expect(fixture.condition('w1', 'Synced')).toBe('True InSync')
  })

  it('writes nothing once another replica is the leader', async () => {
    fixture.create('w1', { config: { url: 'http://a' }, deletionPolicy: 'Reset' })
    fixture.isLeading = false
    expect(await fixture.pass('w1')).toEqual({ kind: 'retry' })
    expect([fixture.changes, fixture.fake.seen('PATCH')]).toEqual([0, []])
    fixture.isLeading = true
    fixture.fleet.next('patch', () => {
      fixture.isLeading = false
      return { kind: 'stale' }
    })
    await fixture.pass('w1')
    expect([fixture.fleet.count('patch'), fixture.statusWrites, (await fixture.record('w1')).config_gen]).toEqual([
      1, 0, 0,
    ])
  })

  it('is aborted by its signal during a PATCH', async () => {
    fixture.create('w1', { config: { url: 'http://a' } })
    fixture.fleet.next('patch', () => {
      fixture.abort.abort(new Error('the term is over'))
      throw fixture.abort.signal.reason
    })
    await expect(fixture.pass('w1')).rejects.toThrow('the term is over')
    expect(fixture.statusWrites).toBe(0)
  })

  it('rethrows errors of its own, with the finalizer unchanged', async () => {
    fixture.create('w1', { config: { url: 'http://a' }, deletionPolicy: 'Reset' })
    await fixture.pass('w1')
    fixture.remove('w1')
    fixture.fleet.next('patch', () => {
      throw new TypeError('a programming error')
    })
    await expect(fixture.pass('w1')).rejects.toThrow('a programming error')
    expect(fixture.names).toEqual(['w1'])
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
    for (const [name, config] of poison) fixture.create(name, { workerID: 'w1', config: config as never })
    fixture.create('shape', { type: '../x' })
    const good = Array.from({ length: 20 }, (_, n) => `good-${n}`)
    for (const name of good) {
      await fixture.work(name)
      fixture.create(name, { config: { url: `http://${name}` } })
    }
    const outcomes: unknown[] = []
    for (const name of [...poison.map(([each]) => each), 'shape', ...good]) {
      outcomes.push(await fixture.pass(name).catch(() => 'threw'))
      await fixture.time.advance(10) // The rate limit of the writer allows one status per turn.
    }
    expect(outcomes).not.toContain('threw')
    expect(poison.slice(0, 5).map(([name]) => fixture.condition(name, 'Stalled'))).toEqual(
      Array.from({ length: 5 }, () => 'True ConfigInvalid'),
    )
    expect(fixture.condition('shape', 'Stalled')).toBe('True ConfigInvalid')
    expect(good.map((name) => fixture.condition(name, 'Synced'))).toEqual(good.map(() => 'True InSync'))
    expect(Object.prototype).not.toHaveProperty('x')
  }, 30_000)

  it('survives a config with ten thousand levels', async () => {
    fixture.create('w1')
    await fixture.see()
    const object = fixture.object('w1')
    fixture.cache.offer({
      ...object,
      metadata: { ...object.metadata, generation: object.metadata.generation + 1 },
      spec: { ...object.spec, config: { limits: deep(10_000) } as never },
    })
    expect(await fixture.act('w1')).toEqual({ kind: 'terminal' })
    expect(fixture.condition('w1', 'Stalled')).toBe('True ConfigInvalid')
  })

  it('leaves the decision about a config of exactly the maximum size to the master', async () => {
    fixture.create('w1', { config: { url: sized(256 * 1_024) } })
    await fixture.pass('w1')
    // With the defaults it is larger.
    expect([fixture.fleet.count('patch'), fixture.condition('w1', 'Stalled')]).toEqual([1, 'True Rejected'])
  })
})
