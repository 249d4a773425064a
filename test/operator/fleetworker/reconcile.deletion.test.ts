import { beforeEach, describe, expect, it } from '@jest/globals'
import { FINALIZER } from '../../../src/operator/fleetworker/index.ts'
import { reconcileWorld, type ReconcileWorld } from './reconcile-world.ts'

const MINUTE_MS = 60_000

let world: ReconcileWorld
beforeEach(async () => {
  world = await reconcileWorld()
})

const SPEC = { config: { enabled: true, url: 'http://a', login: { user: 'u', password: 'p' } } }
async function deleted(spec: object): Promise<void> {
  world.create('w1', { ...SPEC, ...spec })
  await world.settle('w1')
  world.remove('w1')
}

describe('reconcile: deletion', () => {
  it('Retain delays nothing, keeps the config and releases the claim', async () => {
    await deleted({})
    expect(world.names).toEqual([])
    await world.pass('w1')
    expect([(await world.record('w1')).managed_by, (await world.config('w1'))['url']]).toEqual([null, 'http://a'])
    const { changes } = world
    await world.pass('w1')
    expect(world.changes).toBe(changes)
  })

  it('Reset resets every field, secrets included, except ignored ones', async () => {
    await deleted({ deletionPolicy: 'Reset', ignoreDifferences: ['/ratio'] })
    await world.dashboard('w1', { ratio: 0.9, slots: 5, api_key: 'theirs' })
    await world.pass('w1')
    expect(await world.config('w1')).toEqual({
      enabled: false,
      slots: 1,
      max_attempts: 3,
      recycle_seconds: 0,
      url: 'http://default',
      ratio: 0.9,
      limits: {},
      tags: [],
    })
    expect([world.names, (await world.record('w1')).managed_by]).toEqual([[], null])
  })

  it('Deregister also removes the record', async () => {
    await deleted({ deletionPolicy: 'Deregister' })
    await world.pass('w1')
    expect([world.names, await world.master.backend.workers.get([{ type: 'job', id: 'w1' }])]).toEqual([[], [null]])
  })

  it('adds its finalizer before the first write, and keeps it only while the policy requires it', async () => {
    world.create('w1', { ...SPEC, deletionPolicy: 'Reset' })
    world.fleet.next('claim', () => expect(world.object('w1').metadata.finalizers).toEqual([FINALIZER]))
    await world.settle('w1')
    world.edit('w1', { deletionPolicy: 'Retain' })
    await world.pass('w1')
    expect(world.object('w1').metadata.finalizers ?? []).toEqual([])
    world.edit('w1', {}, { finalizers: ['others/first'] })
    world.edit('w1', { deletionPolicy: 'Deregister' })
    await world.pass('w1')
    expect(world.object('w1').metadata.finalizers).toEqual(['others/first', FINALIZER])
    world.edit('w1', { managementPolicy: 'Observe' })
    await world.pass('w1')
    expect(world.object('w1').metadata.finalizers).toEqual(['others/first'])
  })

  it('never overwrites a finalizer that was added concurrently', async () => {
    world.create('w1', { ...SPEC, deletionPolicy: 'Reset' })
    await world.see()
    world.edit('w1', {}, { finalizers: ['others/late'] })
    expect(await world.act('w1')).toEqual({ kind: 'retry' })
    expect([world.object('w1').metadata.finalizers, world.changes]).toEqual([['others/late'], 0])
    await world.pass('w1')
    expect(world.object('w1').metadata.finalizers).toEqual(['others/late', FINALIZER])
  })

  it('keeps the finalizer after an error, and retries', async () => {
    await deleted({ deletionPolicy: 'Reset' })
    world.fleet.next('patch', () => ({ kind: 'unavailable', effect: 'unknown', message: 'no answer' }))
    expect(await world.pass('w1')).toEqual({ kind: 'retry' })
    expect([world.object('w1').metadata.finalizers, world.condition('w1', 'Reconciling')]).toEqual([
      [FINALIZER],
      'True Releasing',
    ])
    await world.pass('w1')
    expect([world.names, (await world.config('w1'))['url']]).toEqual([[], 'http://default'])
  })

  it('completes after 10 minutes when the master is permanently unavailable', async () => {
    await deleted({ deletionPolicy: 'Reset' })
    world.fleet.unavailableMs = MINUTE_MS
    expect(await world.pass('w1')).toEqual({ kind: 'retry' })
    await world.time.advance(10 * MINUTE_MS - 2_000)
    await world.pass('w1')
    expect(world.names).toEqual(['w1'])
    await world.time.advance(3_000)
    await world.pass('w1')
    expect([world.names, world.fleet.count('patch')]).toEqual([[], 4])
    expect(world.events.at(-1)).toMatchObject({ type: 'Warning', reason: 'Abandoned' })
  })

  it('is tried once more, even if it was requested long ago while no operator ran', async () => {
    await deleted({ deletionPolicy: 'Reset' })
    await world.time.advance(20 * MINUTE_MS)
    await world.pass('w1')
    expect([
      world.names,
      (await world.config('w1'))['url'],
      world.events.some(({ reason }) => reason === 'Abandoned'),
    ]).toEqual([[], 'http://default', false])
  })

  it.each(['GET', 'PATCH'])('is logged once per namespace when the API server forbids a %s', async (method) => {
    for (const name of ['w1', 'w2']) {
      world.create(name, { ...SPEC, deletionPolicy: 'Reset' })
      await world.settle(name)
      world.remove(name)
      const path = new RegExp(`fleetworkers/${name}$`)
      world.fake.script({ method, path }, { kind: 'refuse', status: 403, reason: 'Forbidden' })
      expect(await world.pass(name)).toEqual({ kind: 'retry', afterMs: 5 * MINUTE_MS })
    }
    expect(world.log.lines.filter(({ level }) => level === 'warn')).toEqual([
      expect.objectContaining({
        message: expect.stringContaining('lacks rights in the namespace'),
        fields: expect.objectContaining({ namespace: 'ns', name: 'w1' }),
      }),
    ])
  })

  it('completes immediately with the annotation', async () => {
    await deleted({ deletionPolicy: 'Reset' })
    world.fleet.unavailableMs = MINUTE_MS
    world.edit('w1', {}, { annotations: { 'muster.dev/abandon': 'true' } })
    await world.pass('w1')
    expect(world.names).toEqual([])
  })

  it.each<[string, (other: ReconcileWorld) => Promise<void> | void]>([
    ['the worker was forgotten', (other) => other.forget('w1')],
    ['another client holds the claim', (other) => other.claimed('w1', 'kubernetes:elsewhere/x#12345678')],
    ['it is suspended', (other) => other.edit('w1', { suspend: true })],
  ])('resets nothing when %s', async (_, happen) => {
    await deleted({ deletionPolicy: 'Reset' })
    await happen(world)
    const patches = world.fleet.count('patch')
    await world.pass('w1')
    expect([world.names, world.fleet.count('patch'), world.fleet.count('forget')]).toEqual([[], patches, 0])
  })

  it('never removes the finalizer of a new object of the same name', async () => {
    await deleted({ deletionPolicy: 'Reset' })
    const { uid } = world.object('w1').metadata
    world.fleet.next('patch', () => {
      world.edit('w1', {}, { finalizers: null }) // An admin removes the finalizer and creates the object again.
      world.create('w1', { deletionPolicy: 'Reset' })
      world.edit('w1', {}, { finalizers: [FINALIZER] })
    })
    await world.pass('w1')
    expect(world.object('w1').metadata.uid).not.toBe(uid)
    expect(world.fake.seen('PATCH', /fleetworkers\/w1$/).length).toBeGreaterThan(1)
    expect(world.object('w1').metadata.finalizers).toEqual([FINALIZER])
  })

  it('resets nothing for a resource that never owned the worker', async () => {
    world.create('owner', { workerId: 'w1', ...SPEC })
    await world.settle('owner')
    await world.time.advance(2_000)
    world.create('late', { workerId: 'w1', deletionPolicy: 'Deregister' })
    await world.pass('late')
    expect(world.object('late').metadata.finalizers).toEqual([FINALIZER])
    world.remove('late')
    await world.pass('late')
    expect([world.names, (await world.config('w1'))['url'], (await world.record('w1')).managed_by]).toEqual([
      ['owner'],
      'http://a',
      world.claim('owner'),
    ])
  })

  it('resets a worker that it owned while an older resource was suspended (D65)', async () => {
    world.create('owner', { workerId: 'w1', ...SPEC, suspend: true })
    await world.time.advance(2_000)
    world.create('late', { workerId: 'w1', deletionPolicy: 'Deregister' })
    await world.pass('late')
    world.remove('late')
    await world.pass('late')
    expect([world.names, world.fleet.count('claim'), world.fleet.count('forget')]).toEqual([['owner'], 1, 1])
  })

  it('completes while its namespace is terminating', async () => {
    world.create('w1', { ...SPEC, deletionPolicy: 'Reset' })
    await world.settle('w1')
    world.fake.store.terminating.add('ns')
    world.remove('w1')
    await world.pass('w1')
    expect([world.names, (await world.config('w1'))['enabled']]).toEqual([[], false])
  })

  it('does not touch a new resource with the name of the deleted one', async () => {
    await deleted({ deletionPolicy: 'Reset' })
    await world.see()
    world.edit('w1', {}, { finalizers: null }) // An admin removes the finalizer.
    world.create('w1', { config: { url: 'http://new' } })
    const { changes } = world
    await world.act('w1')
    expect([world.changes, world.names]).toEqual([changes, ['w1']])
  })
})
