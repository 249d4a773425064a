import { beforeEach, describe, expect, it } from '@jest/globals'
import { reconcileFixture, type ReconcileFixture } from './reconcile-fixture.ts'

const MINUTE_MS = 60_000

let fixture: ReconcileFixture
beforeEach(async () => {
  fixture = await reconcileFixture()
})

describe('reconcile: policies', () => {
  it.each([{}, { desiredState: 'Running' as const }, { drain: false }])(
    'does not drain a worker with %j',
    async (spec) => {
      fixture.create('w1', spec)
      for (let n = 0; n < 3; n += 1) await fixture.pass('w1')
      expect(fixture.fleet.count('drain')).toBe(0)
    },
  )

  it('keeps a drained worker drained when the field is renamed', async () => {
    fixture.create('w1', { drain: true })
    await fixture.pass('w1')
    fixture.edit('w1', { drain: undefined, desiredState: 'Drained' })
    await fixture.pass('w1')
    expect([fixture.fleet.count('drain'), fixture.condition('w1', 'Ready')]).toEqual([1, 'False Draining'])
  })

  it('Observe never writes, and reports the differences', async () => {
    await fixture.dashboard('w1', { ratio: 0.9 })
    fixture.create('w1', {
      managementPolicy: 'Observe',
      deletionPolicy: 'Reset',
      desiredState: 'Drained',
      config: { url: 'http://a' },
    })
    await fixture.pass('w1')
    expect([fixture.changes, fixture.object('w1').metadata.finalizers]).toEqual([0, undefined])
    expect(fixture.object('w1').status?.drift).toMatchObject({ paths: ['/ratio', '/url'], count: 2, by: 'admin alice' })
    expect([fixture.condition('w1', 'Synced'), fixture.condition('w1', 'Drifted')]).toEqual([
      'Unknown ObserveOnly',
      'True DriftDetected',
    ])
    await fixture.expectQuiet('w1')
  })

  it('Warn writes an edit, and reports changes by others', async () => {
    fixture.create('w1', { managementPolicy: 'Warn', config: { url: 'http://a' } })
    await fixture.pass('w1')
    await fixture.dashboard('w1', { ratio: 0.9 })
    await fixture.pass('w1')
    expect([
      fixture.fleet.count('patch'),
      fixture.condition('w1', 'Synced'),
      fixture.condition('w1', 'Drifted'),
    ]).toEqual([1, 'True DriftTolerated', 'True DriftDetected'])
    expect(fixture.drifts).toEqual(['tolerated'])
    await fixture.expectQuiet('w1')
    fixture.edit('w1', { config: { url: 'http://b' } })
    await fixture.pass('w1')
    expect(await fixture.config('w1')).toMatchObject({ url: 'http://b', ratio: 0.5 })
  })

  it('Warn keeps its state across an outage and a restart', async () => {
    fixture.create('w1', { managementPolicy: 'Warn', config: { url: 'http://a' } })
    await fixture.pass('w1')
    await fixture.dashboard('w1', { ratio: 0.9 })
    fixture.fleet.unavailableMs = 5 * MINUTE_MS
    await fixture.act('w1')
    expect([fixture.condition('w1', 'Ready'), fixture.condition('w1', 'Synced')]).toEqual([
      'Unknown MasterUnreachable',
      'True InSync',
    ])
    fixture.restart()
    fixture.seeCluster()
    await fixture.act('w1')
    fixture.fleet.unavailableMs = 0
    await fixture.pass('w1')
    expect([
      fixture.fleet.count('patch'),
      (await fixture.config('w1'))['ratio'],
      fixture.condition('w1', 'Synced'),
    ]).toEqual([1, 0.9, 'True DriftTolerated'])
  })

  it('Warn keeps reporting a secret that others changed as drift, until it is sent', async () => {
    fixture.secret('s', { key: 'k1' })
    fixture.create('w1', {
      managementPolicy: 'Warn',
      configFrom: [{ field: 'api_key', secretKeyRef: { name: 's', key: 'key' } }],
    })
    await fixture.settle('w1')
    await fixture.dashboard('w1', { api_key: 'theirs' })
    for (let n = 0; n < 2; n += 1) {
      await fixture.pass('w1')
      expect(fixture.object('w1').status?.drift?.paths).toEqual(['/api_key'])
      fixture.restart()
    }
    fixture.edit('w1', { slots: 3 })
    await fixture.settle('w1')
    expect(await fixture.config('w1')).toMatchObject({ api_key: 'k1', slots: 3 })
  })

  it('Warn configures a worker again that the master forgot', async () => {
    fixture.create('w1', { managementPolicy: 'Warn', config: { url: 'http://a' } })
    await fixture.pass('w1')
    await fixture.forget('w1')
    await fixture.work('w1')
    await fixture.pass('w1')
    expect(await fixture.config('w1')).toMatchObject({ url: 'http://a' })
  })

  it('suspend writes nothing, releases the claim, and resumes with the spec', async () => {
    fixture.create('w1', { config: { url: 'http://a' } })
    await fixture.pass('w1')
    fixture.edit('w1', { suspend: true, config: { url: 'http://b' } })
    await fixture.pass('w1')
    expect([fixture.fleet.count('patch'), (await fixture.record('w1')).managed_by]).toEqual([1, null])
    expect([
      fixture.condition('w1', 'Synced'),
      fixture.object('w1').status?.drift?.paths,
      fixture.object('w1').status?.config?.epoch,
    ]).toEqual(['Unknown Suspended', ['/url'], undefined])
    await fixture.expectQuiet('w1')
    fixture.edit('w1', { suspend: null })
    await fixture.pass('w1')
    expect(await fixture.config('w1')).toMatchObject({ url: 'http://b' })
  })

  it('keeps ignored paths when their parent is rewritten, and sets them once', async () => {
    fixture.create('w1', { config: { limits: { cpu: 2, memory: 7 } }, ignoreDifferences: ['/limits/memory'] })
    await fixture.pass('w1')
    expect(await fixture.config('w1')).toMatchObject({ limits: { cpu: 2, memory: 7 } })
    await fixture.dashboard('w1', { limits: { cpu: 2, memory: 99 } })
    await fixture.pass('w1')
    await fixture.expectQuiet('w1')
    fixture.edit('w1', { config: { limits: { cpu: 4 } } })
    await fixture.pass('w1')
    expect(await fixture.config('w1')).toMatchObject({ limits: { cpu: 4, memory: 99 } })
  })

  it('reverts a contested field less often after three reverts, until 30 quiet minutes have passed', async () => {
    fixture.create('w1', { config: { url: 'http://a' } })
    await fixture.pass('w1')
    const meddle = async (): Promise<void> => {
      await fixture.dashboard('w1', { url: 'http://alice' })
      await fixture.pass('w1')
    }
    for (let n = 0; n < 4; n += 1) await meddle()
    expect([
      fixture.fleet.count('patch'),
      fixture.condition('w1', 'Synced'),
      fixture.condition('w1', 'Drifted'),
    ]).toEqual([5, 'False ContestedField', 'True ContestedField'])
    await meddle()
    expect([fixture.fleet.count('patch'), fixture.object('w1').status?.drift?.paths]).toEqual([5, ['/url']])
    expect(fixture.object('w1').status?.conditions?.find(({ type }) => type === 'Synced')?.message).toContain('alice')
    await fixture.time.advance(5 * MINUTE_MS)
    await fixture.pass('w1')
    expect(fixture.fleet.count('patch')).toBe(6)
    await fixture.time.advance(30 * MINUTE_MS)
    await fixture.pass('w1')
    expect(fixture.condition('w1', 'Synced')).toBe('True InSync')
    expect(fixture.drifts).toEqual(['reverted', 'reverted', 'reverted', 'contested', 'reverted'])
  })

  it('writes an edit of the resource immediately, however contested a field is', async () => {
    fixture.create('w1', { config: { url: 'http://a' } })
    await fixture.pass('w1')
    for (let n = 0; n < 5; n += 1) {
      await fixture.dashboard('w1', { url: 'http://alice' })
      await fixture.pass('w1')
    }
    fixture.edit('w1', { config: { url: 'http://b' } })
    await fixture.pass('w1')
    expect(await fixture.config('w1')).toMatchObject({ url: 'http://b' })
  })

  it.each([
    ['desiredState', { desiredState: 'Drained' as const }],
    ['drain', { drain: true }],
  ])('drains every process of the worker, and is Ready when the worker has stopped (%s)', async (_, spec) => {
    fixture.create('w1')
    await fixture.pass('w1')
    await fixture.applied('w1')
    fixture.edit('w1', spec)
    await fixture.pass('w1')
    expect([
      fixture.fleet.count('drain'),
      (await fixture.record('w1')).draining,
      fixture.condition('w1', 'Ready'),
    ]).toEqual([1, true, 'False Draining'])
    await fixture.pass('w1')
    await fixture.leave('w1')
    await fixture.pass('w1')
    await fixture.time.advance(46_000)
    await fixture.pass('w1')
    expect([fixture.fleet.count('drain'), fixture.condition('w1', 'Ready')]).toEqual([1, 'True Drained'])
    await fixture.work('w1') // Its Deployment starts another process.
    await fixture.pass('w1')
    expect([fixture.fleet.count('drain'), fixture.condition('w1', 'Reconciling')]).toEqual([2, 'True Draining'])
  })
})
