/** Tests a set against a real master: configs reach all workers of the set, edits, joins, pins, drift, deletion. */
import { describe, expect, it } from '@jest/globals'
import { eventually } from '../../kit/index.ts'
import { FLEET_WORKERS, FLEET_WORKER_SETS } from '../fake-fleet.ts'
import { SetFixture } from './fixture.ts'

const CONFIG = { enabled: true, url: 'http://one' }

describe('a set', () => {
  it('configures every matching worker and becomes Ready once they run the config', async () => {
    const sets = await SetFixture.create()
    for (const id of ['crawler-0', 'crawler-1', 'other-0']) await sets.join(id)
    sets.declare('crawler', { config: CONFIG, slots: 3 })
    await sets.start()
    await sets.settled('crawler', 'Complete')
    const first = await sets.worker('crawler-0')
    expect(first.config).toMatchObject({ enabled: true, url: 'http://one', slots: 3 })
    expect(first.managed_by).toMatch(/^kubernetes:ns\/fleetworkersets\/crawler#/)
    expect((await sets.worker('other-0')).config['enabled']).toBe(false)
    const status = sets.statusOf('crawler')
    expect(status.workers).toMatchObject({ matched: 2, online: 2, updated: 2, acknowledged: 2, ready: 2, pending: 0 })
    expect(status.currentRevision).toBe(status.updateRevision)
    expect(first.config_revision).toMatch(new RegExp(`^${status.currentRevision}/[0-9a-f]{8}$`))
  })

  it('applies an edit to all workers, once each, and slots without a new revision', async () => {
    const sets = await SetFixture.create()
    for (const id of ['crawler-0', 'crawler-1']) await sets.join(id)
    sets.declare('crawler', { config: CONFIG })
    await sets.start()
    await sets.settled('crawler', 'Complete')
    const before = sets.statusOf('crawler').currentRevision
    sets.edit('crawler', { config: { ...CONFIG, url: 'http://two' } })
    await sets.settled('crawler', 'Complete')
    expect((await sets.worker('crawler-1')).config['url']).toBe('http://two')
    const edited = sets.statusOf('crawler').currentRevision
    expect(edited).not.toBe(before)
    sets.edit('crawler', { slots: 5 })
    await sets.settled('crawler', 'Complete')
    expect((await sets.worker('crawler-1')).config['slots']).toBe(5)
    expect(sets.statusOf('crawler').currentRevision).toBe(edited)
    expect(await sets.history('crawler-0')).toHaveLength(3)
  })

  it('configures a worker that joins later, and applies an override to it alone', async () => {
    const sets = await SetFixture.create()
    sets.declare('crawler', {
      config: CONFIG,
      overrides: [{ worker: 'crawler-1', slots: 9, config: { url: 'http://x' } }],
    })
    await sets.start()
    await sets.settled('crawler', 'NoWorkers')
    await sets.join('crawler-0')
    await sets.join('crawler-1')
    await eventually('both are configured', async () => {
      const configs = [await sets.worker('crawler-0'), await sets.worker('crawler-1')].map(({ config }) => config)
      return configs[0]?.['url'] === 'http://one' && configs[1]?.['url'] === 'http://x' && configs[1]['slots'] === 9
    })
    await sets.settled('crawler', 'Complete')
  })

  it('selects by labels as well', async () => {
    const sets = await SetFixture.create()
    await sets.join('crawler-0', { labels: { zone: 'eu-1' } })
    await sets.join('crawler-1', { labels: { zone: 'us-1' } })
    sets.declare('crawler', { config: CONFIG, selector: { matchLabels: { zone: 'eu-1' } } })
    await sets.start()
    await sets.settled('crawler', 'Complete')
    expect((await sets.worker('crawler-0')).config['enabled']).toBe(true)
    expect((await sets.worker('crawler-1')).config['enabled']).toBe(false)
  })

  it('a restart writes nothing: no config, no status', async () => {
    const sets = await SetFixture.create()
    for (const id of ['crawler-0', 'crawler-1']) await sets.join(id)
    sets.declare('crawler', { config: CONFIG })
    await sets.start()
    await sets.settled('crawler', 'Complete')
    await sets.stop()
    const [writes, generations] = [sets.statusWrites, await sets.history('crawler-0')]
    await sets.start()
    await eventually(
      'the new operator has read the sets',
      async () =>
        sets.fake.requests.filter(
          ({ path, query }) => path.endsWith('fleetworkersets') && query.get('watch') === 'true',
        ).length >= 2,
    )
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    expect([sets.statusWrites, await sets.history('crawler-0')]).toEqual([writes, generations])
  })

  it('leaves a worker with a FleetWorker of its own to that, and takes it back when that is deleted', async () => {
    const sets = await SetFixture.create()
    for (const id of ['crawler-0', 'crawler-1']) await sets.join(id)
    sets.declare('crawler', { config: CONFIG })
    sets.declareWorker('crawler-1', { config: { enabled: true, url: 'http://own' } })
    await sets.start()
    await sets.settled('crawler', 'Complete')
    await eventually(
      'the FleetWorker applies',
      async () => (await sets.worker('crawler-1')).config['url'] === 'http://own',
    )
    expect(sets.statusOf('crawler').workers).toMatchObject({ matched: 2, pinned: 1, updated: 1 })
    sets.delete(FLEET_WORKERS, 'crawler-1')
    await eventually('the set has it', async () => (await sets.worker('crawler-1')).config['url'] === 'http://one')
  })

  it('of two sets that select one worker the older one owns it', async () => {
    const sets = await SetFixture.create()
    await sets.join('crawler-0')
    sets.declare('crawler', { config: CONFIG })
    await new Promise((resolve) => setTimeout(resolve, 1_100)) // The API server's times have whole seconds.
    sets.declare('late', { config: { enabled: true, url: 'http://late' }, selector: { idPatterns: ['crawler-*'] } })
    await sets.start()
    await sets.settled('crawler', 'Complete')
    await sets.settled('late', 'OwnershipConflict')
    expect(sets.condition('late', 'Ready')?.message).toContain('the older FleetWorkerSet crawler')
    sets.delete(FLEET_WORKER_SETS, 'crawler')
    await sets.settled('late', 'Complete')
    expect((await sets.worker('crawler-0')).config['url']).toBe('http://late')
  })

  it('reverts the change of another client, Warn reports it, Observe never writes', async () => {
    const sets = await SetFixture.create()
    await sets.join('crawler-0')
    sets.declare('crawler', { config: CONFIG })
    await sets.start()
    await sets.settled('crawler', 'Complete')
    await sets.change('crawler-0', { url: 'http://changed' })
    await eventually('it is reverted', async () => (await sets.worker('crawler-0')).config['url'] === 'http://one')
    sets.edit('crawler', { managementPolicy: 'Warn' })
    await sets.settled('crawler', 'Complete')
    await sets.change('crawler-0', { url: 'http://changed' })
    await sets.settled('crawler', 'DriftDetected', 'Drifted')
    expect(sets.statusOf('crawler').drift).toEqual({ count: 1, workers: ['crawler-0'], paths: ['/url'] })
    expect((await sets.worker('crawler-0')).config['url']).toBe('http://changed')
    sets.edit('crawler', { managementPolicy: 'Observe', config: { ...CONFIG, url: 'http://observed' } })
    await sets.settled('crawler', 'ObserveOnly')
    expect((await sets.worker('crawler-0')).config['url']).toBe('http://changed')
    expect(sets.statusOf('crawler').drift?.paths).toEqual(['/url'])
  })

  it('writes nothing while suspended', async () => {
    const sets = await SetFixture.create()
    await sets.join('crawler-0')
    sets.declare('crawler', { config: CONFIG, suspend: true })
    await sets.start()
    await sets.settled('crawler', 'Suspended')
    expect((await sets.worker('crawler-0')).config['enabled']).toBe(false)
    sets.edit('crawler', { suspend: false })
    await sets.settled('crawler', 'Complete')
  })

  it('a config that the master refuses touches no worker, and the message names the field', async () => {
    const sets = await SetFixture.create()
    await sets.join('crawler-0')
    sets.declare('crawler', { config: CONFIG })
    await sets.start()
    await sets.settled('crawler', 'Complete')
    sets.edit('crawler', { config: { ...CONFIG, ratio: 'high' } })
    await sets.settled('crawler', 'Rejected')
    expect(sets.condition('crawler', 'Ready')?.message).toBe('/ratio: must be number')
    expect(sets.condition('crawler', 'Stalled')?.status).toBe('True')
    expect((await sets.worker('crawler-0')).config['url']).toBe('http://one')
    expect(sets.statusOf('crawler').failed).toMatchObject([{ message: '/ratio: must be number' }])
  })

  it('an override that the master refuses stops only its worker', async () => {
    const sets = await SetFixture.create()
    for (const id of ['crawler-0', 'crawler-1']) await sets.join(id)
    sets.declare('crawler', { config: CONFIG, overrides: [{ worker: 'crawler-1', config: { ratio: 'high' } }] })
    await sets.start()
    await sets.settled('crawler', 'Rejected')
    expect((await sets.worker('crawler-0')).config['enabled']).toBe(true)
    expect((await sets.worker('crawler-1')).config['enabled']).toBe(false)
    expect(sets.statusOf('crawler')).toMatchObject({
      workers: { updated: 1, pending: 1, failed: 1 },
      worst: [{ worker: 'crawler-1', reason: 'Rejected' }],
    })
  })

  it('tries a refused override again with another config of the set', async () => {
    const sets = await SetFixture.create()
    await sets.join('crawler-0')
    const override = { worker: 'crawler-0', config: { endpoint: 'http://elsewhere' } }
    // The override would send the secret of the set elsewhere.
    const secret = { endpoint: 'http://there', bound_key: 'x' }
    sets.declare('crawler', { config: { ...CONFIG, ...secret }, overrides: [override] })
    await sets.start()
    await sets.settled('crawler', 'Rejected')
    sets.edit('crawler', { config: CONFIG })
    await sets.settled('crawler', 'Complete')
    expect((await sets.worker('crawler-0')).config['endpoint']).toBe('http://elsewhere')
  })

  it.each([
    ['Retain', { enabled: true, url: 'http://one' }],
    ['Reset', { enabled: false, url: 'http://default' }],
  ] as const)('its deletion with %s leaves %j', async (deletionPolicy, config) => {
    const sets = await SetFixture.create()
    await sets.join('crawler-0')
    sets.declare('crawler', { config: CONFIG, deletionPolicy })
    await sets.start()
    await sets.settled('crawler', 'Complete')
    sets.delete(FLEET_WORKER_SETS, 'crawler')
    await eventually('it is gone', async () => !sets.exists('crawler'))
    const worker = await sets.worker('crawler-0')
    expect(worker.config).toMatchObject(config)
    if (deletionPolicy === 'Reset') expect(worker.managed_by).toBeNull()
  })

  it('its deletion with Deregister removes the records', async () => {
    const sets = await SetFixture.create()
    const worker = await sets.join('crawler-0')
    sets.declare('crawler', { config: CONFIG, deletionPolicy: 'Deregister' })
    await sets.start()
    await sets.settled('crawler', 'Complete')
    worker.leave()
    sets.delete(FLEET_WORKER_SETS, 'crawler')
    await eventually('it is gone', async () => !sets.exists('crawler'))
    expect((await sets.master.call('GET', '/api/v1/automations/job/workers/crawler-0')).status).toBe(404)
  })

  it('without its kind the operator works for FleetWorkers', async () => {
    const sets = await SetFixture.create({ withoutKind: true })
    await sets.join('crawler-0')
    sets.declareWorker('crawler-0', { config: CONFIG })
    await sets.start()
    await eventually('the FleetWorker applies', async () => (await sets.worker('crawler-0')).config['enabled'] === true)
  })
})

describe('the enrolment rule of a set', () => {
  const rulesOf = async (sets: SetFixture): Promise<readonly { enrolment: string; revision: string }[]> => {
    const { json } = await sets.master.call('GET', '/api/v1/automations/job/enrolments')
    return (json as { enrolments: { enrolment: string; revision: string }[] }).enrolments
  }

  it('configures a worker that registers while no operator runs', async () => {
    const sets = await SetFixture.create()
    await sets.join('crawler-0')
    sets.declare('crawler', { config: CONFIG, slots: 3 })
    await sets.start()
    await sets.settled('crawler', 'Complete')
    await eventually('the master has the rule', async () => (await rulesOf(sets)).length === 1)
    await sets.stop()
    await sets.join('crawler-1')
    const worker = await sets.worker('crawler-1')
    expect(worker.config).toMatchObject({ ...CONFIG, slots: 3 })
    const before = sets.statusWrites
    await sets.start()
    await eventually('the set counts it', async () => sets.statusOf('crawler').workers?.acknowledged === 2)
    expect((await sets.worker('crawler-1')).config_gen).toBe(worker.config_gen)
    expect(sets.statusWrites - before).toBeLessThanOrEqual(2)
  })

  it('follows an edit once all workers have it, and is removed with suspend, Observe and deletion', async () => {
    const sets = await SetFixture.create()
    await sets.join('crawler-0')
    sets.declare('crawler', { config: CONFIG })
    await sets.start()
    await eventually('the master has the rule', async () => (await rulesOf(sets)).length === 1)
    sets.edit('crawler', { config: { ...CONFIG, url: 'http://two' } })
    await sets.settled('crawler', 'Complete')
    await eventually(
      'the rule has the new revision',
      async () => (await rulesOf(sets))[0]?.revision === sets.statusOf('crawler').currentRevision,
    )
    for (const spec of [{ suspend: true }, { managementPolicy: 'Observe' as const }]) {
      sets.edit('crawler', spec)
      await eventually('the rule is gone', async () => (await rulesOf(sets)).length === 0)
      sets.edit('crawler', { suspend: false, managementPolicy: 'Enforce' })
      await eventually('the rule is back', async () => (await rulesOf(sets)).length === 1)
    }
    sets.delete(FLEET_WORKER_SETS, 'crawler')
    await eventually('the rule is gone', async () => (await rulesOf(sets)).length === 0)
  })

  it('is removed also if the set was deleted while no operator ran', async () => {
    const sets = await SetFixture.create()
    sets.declare('crawler', { config: CONFIG })
    await sets.start()
    await eventually('the master has the rule', async () => (await rulesOf(sets)).length === 1)
    await sets.stop()
    sets.delete(FLEET_WORKER_SETS, 'crawler')
    await sets.start()
    await eventually('the rule is gone', async () => (await rulesOf(sets)).length === 0)
  })

  it('exists only if the namespace may manage every worker that it selects', async () => {
    const sets = await SetFixture.create()
    await sets.join('crawler-0')
    await sets.join('team-0')
    sets.declare('team', { config: CONFIG, selector: { idPatterns: ['*-0'] } })
    await sets.start({ tenants: { ns: { types: ['job'], workers: ['team-*'] } } })
    await sets.settled('team', 'Complete')
    expect(sets.statusOf('team').workers).toMatchObject({ matched: 1, updated: 1 })
    expect((await sets.worker('crawler-0')).config['enabled']).toBe(false)
    expect(await rulesOf(sets)).toEqual([])
  })
})
