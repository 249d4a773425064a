import { beforeEach, describe, expect, it } from '@jest/globals'
import { reconcileWorld, type ReconcileWorld } from './reconcile-world.ts'

const MINUTE_MS = 60_000

let world: ReconcileWorld
beforeEach(async () => {
  world = await reconcileWorld()
})

describe('reconcile: policies', () => {
  it('Observe never writes, and reports the differences', async () => {
    await world.dashboard('w1', { ratio: 0.9 })
    world.create('w1', {
      managementPolicy: 'Observe',
      deletionPolicy: 'Reset',
      drain: true,
      config: { url: 'http://a' },
    })
    await world.pass('w1')
    expect([world.changes, world.object('w1').metadata.finalizers]).toEqual([0, undefined])
    expect(world.object('w1').status?.drift).toMatchObject({ paths: ['/ratio', '/url'], count: 2, by: 'admin alice' })
    expect([world.condition('w1', 'Synced'), world.condition('w1', 'Drifted')]).toEqual([
      'Unknown ObserveOnly',
      'True DriftDetected',
    ])
    await world.expectQuiet('w1')
  })

  it('Warn writes an edit, and reports changes by others', async () => {
    world.create('w1', { managementPolicy: 'Warn', config: { url: 'http://a' } })
    await world.pass('w1')
    await world.dashboard('w1', { ratio: 0.9 })
    await world.pass('w1')
    expect([world.fleet.count('patch'), world.condition('w1', 'Synced'), world.condition('w1', 'Drifted')]).toEqual([
      1,
      'True DriftTolerated',
      'True DriftDetected',
    ])
    expect(world.drifts).toEqual(['tolerated'])
    await world.expectQuiet('w1')
    world.edit('w1', { config: { url: 'http://b' } })
    await world.pass('w1')
    expect(await world.config('w1')).toMatchObject({ url: 'http://b', ratio: 0.5 })
  })

  it('Warn keeps its state across an outage and a restart', async () => {
    world.create('w1', { managementPolicy: 'Warn', config: { url: 'http://a' } })
    await world.pass('w1')
    await world.dashboard('w1', { ratio: 0.9 })
    world.fleet.unavailableMs = 5 * MINUTE_MS
    await world.act('w1')
    expect([world.condition('w1', 'Ready'), world.condition('w1', 'Synced')]).toEqual([
      'Unknown MasterUnreachable',
      'True InSync',
    ])
    world.restart()
    world.seeCluster()
    await world.act('w1')
    world.fleet.unavailableMs = 0
    await world.pass('w1')
    expect([world.fleet.count('patch'), (await world.config('w1'))['ratio'], world.condition('w1', 'Synced')]).toEqual([
      1,
      0.9,
      'True DriftTolerated',
    ])
  })

  it('Warn keeps reporting a secret that others changed as drift, until it is sent', async () => {
    world.secret('s', { key: 'k1' })
    world.create('w1', {
      managementPolicy: 'Warn',
      configFrom: [{ field: 'api_key', secretKeyRef: { name: 's', key: 'key' } }],
    })
    await world.settle('w1')
    await world.dashboard('w1', { api_key: 'theirs' })
    for (let n = 0; n < 2; n += 1) {
      await world.pass('w1')
      expect(world.object('w1').status?.drift?.paths).toEqual(['/api_key'])
      world.restart()
    }
    world.edit('w1', { slots: 3 })
    await world.settle('w1')
    expect(await world.config('w1')).toMatchObject({ api_key: 'k1', slots: 3 })
  })

  it('Warn configures a worker again that the master forgot', async () => {
    world.create('w1', { managementPolicy: 'Warn', config: { url: 'http://a' } })
    await world.pass('w1')
    await world.forget('w1')
    await world.work('w1')
    await world.pass('w1')
    expect(await world.config('w1')).toMatchObject({ url: 'http://a' })
  })

  it('suspend writes nothing, releases the claim, and resumes with the spec', async () => {
    world.create('w1', { config: { url: 'http://a' } })
    await world.pass('w1')
    world.edit('w1', { suspend: true, config: { url: 'http://b' } })
    await world.pass('w1')
    expect([world.fleet.count('patch'), (await world.record('w1')).managed_by]).toEqual([1, null])
    expect([
      world.condition('w1', 'Synced'),
      world.object('w1').status?.drift?.paths,
      world.object('w1').status?.config?.epoch,
    ]).toEqual(['Unknown Suspended', ['/url'], undefined])
    await world.expectQuiet('w1')
    world.edit('w1', { suspend: null })
    await world.pass('w1')
    expect(await world.config('w1')).toMatchObject({ url: 'http://b' })
  })

  it('keeps ignored paths when their parent is rewritten, and sets them once', async () => {
    world.create('w1', { config: { limits: { cpu: 2, memory: 7 } }, ignoreDifferences: ['/limits/memory'] })
    await world.pass('w1')
    expect(await world.config('w1')).toMatchObject({ limits: { cpu: 2, memory: 7 } })
    await world.dashboard('w1', { limits: { cpu: 2, memory: 99 } })
    await world.pass('w1')
    await world.expectQuiet('w1')
    world.edit('w1', { config: { limits: { cpu: 4 } } })
    await world.pass('w1')
    expect(await world.config('w1')).toMatchObject({ limits: { cpu: 4, memory: 99 } })
  })

  it('reverts a contested field less often after three reverts, until 30 quiet minutes have passed', async () => {
    world.create('w1', { config: { url: 'http://a' } })
    await world.pass('w1')
    const meddle = async (): Promise<void> => {
      await world.dashboard('w1', { url: 'http://alice' })
      await world.pass('w1')
    }
    for (let n = 0; n < 4; n += 1) await meddle()
    expect([world.fleet.count('patch'), world.condition('w1', 'Synced'), world.condition('w1', 'Drifted')]).toEqual([
      5,
      'False ContestedField',
      'True ContestedField',
    ])
    await meddle()
    expect([world.fleet.count('patch'), world.object('w1').status?.drift?.paths]).toEqual([5, ['/url']])
    expect(world.object('w1').status?.conditions?.find(({ type }) => type === 'Synced')?.message).toContain('alice')
    await world.time.advance(5 * MINUTE_MS)
    await world.pass('w1')
    expect(world.fleet.count('patch')).toBe(6)
    await world.time.advance(30 * MINUTE_MS)
    await world.pass('w1')
    expect(world.condition('w1', 'Synced')).toBe('True InSync')
    expect(world.drifts).toEqual(['reverted', 'reverted', 'reverted', 'contested', 'reverted'])
  })

  it('writes an edit of the resource immediately, however contested a field is', async () => {
    world.create('w1', { config: { url: 'http://a' } })
    await world.pass('w1')
    for (let n = 0; n < 5; n += 1) {
      await world.dashboard('w1', { url: 'http://alice' })
      await world.pass('w1')
    }
    world.edit('w1', { config: { url: 'http://b' } })
    await world.pass('w1')
    expect(await world.config('w1')).toMatchObject({ url: 'http://b' })
  })

  it('drains every process of the worker, and is Ready when the worker has stopped', async () => {
    world.create('w1')
    await world.pass('w1')
    await world.applied('w1')
    world.edit('w1', { drain: true })
    await world.pass('w1')
    expect([world.fleet.count('drain'), (await world.record('w1')).draining, world.condition('w1', 'Ready')]).toEqual([
      1,
      true,
      'False Draining',
    ])
    await world.pass('w1')
    await world.leave('w1')
    await world.pass('w1')
    await world.time.advance(46_000)
    await world.pass('w1')
    expect([world.fleet.count('drain'), world.condition('w1', 'Ready')]).toEqual([1, 'True Drained'])
    await world.work('w1') // Its Deployment starts another process.
    await world.pass('w1')
    expect([world.fleet.count('drain'), world.condition('w1', 'Reconciling')]).toEqual([2, 'True Draining'])
  })
})
