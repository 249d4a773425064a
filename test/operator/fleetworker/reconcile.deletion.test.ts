import { beforeEach, describe, expect, it } from '@jest/globals'
import { FINALIZER } from '../../../src/operator/fleetworker/index.ts'
import { reconcileFixture, type ReconcileFixture } from './reconcile-fixture.ts'

const MINUTE_MS = 60_000

let fixture: ReconcileFixture
beforeEach(async () => {
  fixture = await reconcileFixture()
})

const SPEC = { config: { enabled: true, url: 'http://a', login: { user: 'u', password: 'p' } } }
async function deleted(spec: object): Promise<void> {
  fixture.create('w1', { ...SPEC, ...spec })
  await fixture.settle('w1')
  fixture.remove('w1')
}

describe('reconcile: deletion', () => {
  it('Retain delays nothing, keeps the config and releases the claim', async () => {
    await deleted({})
    expect(fixture.names).toEqual([])
    await fixture.pass('w1')
    expect([(await fixture.record('w1')).managed_by, (await fixture.config('w1'))['url']]).toEqual([null, 'http://a'])
    const { changes } = fixture
    await fixture.pass('w1')
    expect(fixture.changes).toBe(changes)
  })

  it('Reset resets every field, secrets included, except ignored ones', async () => {
    await deleted({ deletionPolicy: 'Reset', ignoreDifferences: ['/ratio'] })
    await fixture.dashboard('w1', { ratio: 0.9, slots: 5, api_key: 'theirs' })
    await fixture.pass('w1')
    expect(await fixture.config('w1')).toEqual({
      enabled: false,
      slots: 1,
      max_attempts: 3,
      recycle_seconds: 0,
      url: 'http://default',
      ratio: 0.9,
      limits: {},
      tags: [],
    })
    expect([fixture.names, (await fixture.record('w1')).managed_by]).toEqual([[], null])
  })

  it('Deregister also removes the record', async () => {
    await deleted({ deletionPolicy: 'Deregister' })
    await fixture.pass('w1')
    expect([fixture.names, await fixture.master.backend.workers.get([{ type: 'job', id: 'w1' }])]).toEqual([[], [null]])
  })

  it('adds its finalizer before the first write, and keeps it only while the policy requires it', async () => {
    fixture.create('w1', { ...SPEC, deletionPolicy: 'Reset' })
    fixture.fleet.next('claim', () => expect(fixture.object('w1').metadata.finalizers).toEqual([FINALIZER]))
    await fixture.settle('w1')
    fixture.edit('w1', { deletionPolicy: 'Retain' })
    await fixture.pass('w1')
    expect(fixture.object('w1').metadata.finalizers ?? []).toEqual([])
    fixture.edit('w1', {}, { finalizers: ['others/first'] })
    fixture.edit('w1', { deletionPolicy: 'Deregister' })
    await fixture.pass('w1')
    expect(fixture.object('w1').metadata.finalizers).toEqual(['others/first', FINALIZER])
    fixture.edit('w1', { managementPolicy: 'Observe' })
    await fixture.pass('w1')
    expect(fixture.object('w1').metadata.finalizers).toEqual(['others/first'])
  })

  it('never overwrites a finalizer that was added concurrently', async () => {
    fixture.create('w1', { ...SPEC, deletionPolicy: 'Reset' })
    await fixture.see()
    fixture.edit('w1', {}, { finalizers: ['others/late'] })
    expect(await fixture.act('w1')).toEqual({ kind: 'retry' })
    expect([fixture.object('w1').metadata.finalizers, fixture.changes]).toEqual([['others/late'], 0])
    await fixture.pass('w1')
    expect(fixture.object('w1').metadata.finalizers).toEqual(['others/late', FINALIZER])
  })

  it('keeps the finalizer after an error, and retries', async () => {
    await deleted({ deletionPolicy: 'Reset' })
    fixture.fleet.next('patch', () => ({ kind: 'unavailable', effect: 'unknown', message: 'no answer' }))
    expect(await fixture.pass('w1')).toEqual({ kind: 'retry' })
    expect([fixture.object('w1').metadata.finalizers, fixture.condition('w1', 'Reconciling')]).toEqual([
      [FINALIZER],
      'True Releasing',
    ])
    await fixture.pass('w1')
    expect([fixture.names, (await fixture.config('w1'))['url']]).toEqual([[], 'http://default'])
  })

  it('completes after 10 minutes when the master is permanently unavailable', async () => {
    await deleted({ deletionPolicy: 'Reset' })
    fixture.fleet.unavailableMs = MINUTE_MS
    expect(await fixture.pass('w1')).toEqual({ kind: 'retry' })
    await fixture.time.advance(10 * MINUTE_MS - 2_000)
    await fixture.pass('w1')
    expect(fixture.names).toEqual(['w1'])
    await fixture.time.advance(3_000)
    await fixture.pass('w1')
    expect([fixture.names, fixture.fleet.count('patch')]).toEqual([[], 4])
    expect(fixture.events.at(-1)).toMatchObject({ type: 'Warning', reason: 'Abandoned' })
  })

  it('is tried once more, even if it was requested long ago while no operator ran', async () => {
    await deleted({ deletionPolicy: 'Reset' })
    await fixture.time.advance(20 * MINUTE_MS)
    await fixture.pass('w1')
    expect([
      fixture.names,
      (await fixture.config('w1'))['url'],
      fixture.events.some(({ reason }) => reason === 'Abandoned'),
    ]).toEqual([[], 'http://default', false])
  })

  it.each(['GET', 'PATCH'])('is logged once per namespace when the API server forbids a %s', async (method) => {
    for (const name of ['w1', 'w2']) {
      fixture.create(name, { ...SPEC, deletionPolicy: 'Reset' })
      await fixture.settle(name)
      fixture.remove(name)
      const path = new RegExp(`fleetworkers/${name}$`)
      fixture.fake.script({ method, path }, { kind: 'refuse', status: 403, reason: 'Forbidden' })
      expect(await fixture.pass(name)).toEqual({ kind: 'retry', afterMs: 5 * MINUTE_MS })
    }
    expect(fixture.log.lines.filter(({ level }) => level === 'warn')).toEqual([
      expect.objectContaining({
        message: expect.stringContaining('lacks rights in the namespace'),
        fields: expect.objectContaining({ namespace: 'ns', name: 'w1' }),
      }),
    ])
  })

  it('completes immediately with the annotation', async () => {
    await deleted({ deletionPolicy: 'Reset' })
    fixture.fleet.unavailableMs = MINUTE_MS
    fixture.edit('w1', {}, { annotations: { 'muster.dev/abandon': 'true' } })
    await fixture.pass('w1')
    expect(fixture.names).toEqual([])
  })

  it.each<[string, (other: ReconcileFixture) => Promise<void> | void]>([
    ['the worker was forgotten', (other) => other.forget('w1')],
    ['another client holds the claim', (other) => other.claimed('w1', 'kubernetes:elsewhere/x#12345678')],
    ['it is suspended', (other) => other.edit('w1', { suspend: true })],
  ])('resets nothing when %s', async (_, happen) => {
    await deleted({ deletionPolicy: 'Reset' })
    await happen(fixture)
    const patches = fixture.fleet.count('patch')
    await fixture.pass('w1')
    expect([fixture.names, fixture.fleet.count('patch'), fixture.fleet.count('forget')]).toEqual([[], patches, 0])
  })

  it('never removes the finalizer of a new object of the same name', async () => {
    await deleted({ deletionPolicy: 'Reset' })
    const { uid } = fixture.object('w1').metadata
    fixture.fleet.next('patch', () => {
      fixture.edit('w1', {}, { finalizers: null }) // An admin removes the finalizer and creates the object again.
      fixture.create('w1', { deletionPolicy: 'Reset' })
      fixture.edit('w1', {}, { finalizers: [FINALIZER] })
    })
    await fixture.pass('w1')
    expect(fixture.object('w1').metadata.uid).not.toBe(uid)
    expect(fixture.fake.seen('PATCH', /fleetworkers\/w1$/).length).toBeGreaterThan(1)
    expect(fixture.object('w1').metadata.finalizers).toEqual([FINALIZER])
  })

  it('resets nothing for a resource that never owned the worker', async () => {
    fixture.create('owner', { workerID: 'w1', ...SPEC })
    await fixture.settle('owner')
    await fixture.time.advance(2_000)
    fixture.create('late', { workerID: 'w1', deletionPolicy: 'Deregister' })
    await fixture.pass('late')
    expect(fixture.object('late').metadata.finalizers).toEqual([FINALIZER])
    fixture.remove('late')
    await fixture.pass('late')
    expect([fixture.names, (await fixture.config('w1'))['url'], (await fixture.record('w1')).managed_by]).toEqual([
      ['owner'],
      'http://a',
      fixture.claim('owner'),
    ])
  })

  it('resets a worker that it owned while an older resource was suspended (D65)', async () => {
    fixture.create('owner', { workerID: 'w1', ...SPEC, suspend: true })
    await fixture.time.advance(2_000)
    fixture.create('late', { workerID: 'w1', deletionPolicy: 'Deregister' })
    await fixture.pass('late')
    fixture.remove('late')
    await fixture.pass('late')
    expect([fixture.names, fixture.fleet.count('claim'), fixture.fleet.count('forget')]).toEqual([['owner'], 1, 1])
  })

  it('completes while its namespace is terminating', async () => {
    fixture.create('w1', { ...SPEC, deletionPolicy: 'Reset' })
    await fixture.settle('w1')
    fixture.fake.store.terminating.add('ns')
    fixture.remove('w1')
    await fixture.pass('w1')
    expect([fixture.names, (await fixture.config('w1'))['enabled']]).toEqual([[], false])
  })

  it('does not touch a new resource with the name of the deleted one', async () => {
    await deleted({ deletionPolicy: 'Reset' })
    await fixture.see()
    fixture.edit('w1', {}, { finalizers: null }) // An admin removes the finalizer.
    fixture.create('w1', { config: { url: 'http://new' } })
    const { changes } = fixture
    await fixture.act('w1')
    expect([fixture.changes, fixture.names]).toEqual([changes, ['w1']])
  })
})
