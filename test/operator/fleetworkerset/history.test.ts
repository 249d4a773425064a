/** Tests the history of a set: one ControllerRevision for each revision that was rolled out. */
import { describe, expect, it } from '@jest/globals'
import {
  configOfRevision,
  revisionObjectName,
  SetMemory,
  type FleetWorkerSetObject,
  type SetRevision,
} from '../../../src/operator/fleetworkerset/index.ts'
import { systemRandom } from '../../../src/runtime/index.ts'
import { eventually } from '../../kit/index.ts'
import { CONTROLLER_REVISIONS, FLEET_WORKER_SETS } from '../fake-fleet.ts'
import { SetFixture } from './fixture.ts'

const CONFIG = { enabled: true, url: 'http://one' }
const REVISIONS = /controllerrevisions/
const url = (name: string) => ({ config: { ...CONFIG, url: `http://${name}` } })

const revisions = (sets: SetFixture): readonly SetRevision[] =>
  (sets.fake.store.list(CONTROLLER_REVISIONS, 'ns') as unknown as readonly SetRevision[]).toSorted(
    (a, b) => a.revision - b.revision,
  )
const numbersOf = (sets: SetFixture): readonly (readonly [number, unknown])[] =>
  revisions(sets).map(({ revision, data }) => [revision, data.config?.['url']])

async function edit(sets: SetFixture, name: string): Promise<void> {
  sets.edit('crawler', url(name))
  await sets.settled('crawler', 'Complete')
}

async function rolledOut(spec: object = {}): Promise<SetFixture> {
  const sets = await SetFixture.create()
  await sets.join('crawler-0')
  sets.declare('crawler', { config: CONFIG, ...spec })
  await sets.start()
  await sets.settled('crawler', 'Complete')
  return sets
}

describe('the history of a set', () => {
  it('has one object per revision, owned by the set, without the value of a source', async () => {
    const sets = await SetFixture.create()
    sets.secret('tokens', { key: 'secret-value' })
    await sets.join('crawler-0')
    const configFrom = [{ field: 'api_key', secretKeyRef: { name: 'tokens', key: 'key' } }]
    sets.declare('crawler', { config: CONFIG, configFrom })
    await sets.start()
    await sets.settled('crawler', 'Complete')
    const [only, ...others] = revisions(sets)
    const { updateRevision } = sets.statusOf('crawler')
    expect(others).toEqual([])
    expect(only).toMatchObject({
      kind: 'ControllerRevision',
      revision: 1,
      data: { config: CONFIG, configFrom },
      metadata: {
        name: `crawler-${updateRevision}`,
        labels: { 'muster.dev/revision': updateRevision },
        ownerReferences: [{ kind: 'FleetWorkerSet', name: 'crawler', controller: true, blockOwnerDeletion: false }],
      },
    })
    expect(JSON.stringify(only)).not.toContain('secret-value')
    expect((await sets.worker('crawler-0')).config['enabled']).toBe(true)
  })

  it('numbers revisions in the order of their rollouts, also one that is rolled out again', async () => {
    const sets = await rolledOut()
    await edit(sets, 'two')
    await edit(sets, 'three')
    expect(numbersOf(sets)).toEqual([
      [1, 'http://one'],
      [2, 'http://two'],
      [3, 'http://three'],
    ])
    await edit(sets, 'two')
    expect(numbersOf(sets)).toEqual([
      [1, 'http://one'],
      [3, 'http://three'],
      [4, 'http://two'],
    ])
  })

  it('does not change for slots, which are no part of a revision, or when the operator restarts', async () => {
    const sets = await rolledOut()
    sets.edit('crawler', { slots: 5 })
    await sets.settled('crawler', 'Complete')
    await sets.stop()
    const before = sets.fake.requests.length
    await sets.start()
    await eventually('the new operator has read it', async () =>
      sets.fake.requests.slice(before).some(({ method, path }) => method === 'GET' && REVISIONS.test(path)),
    )
    expect(
      sets.fake.requests.slice(before).filter(({ path, method }) => method !== 'GET' && REVISIONS.test(path)),
    ).toEqual([])
    expect(numbersOf(sets)).toEqual([[1, 'http://one']])
  })

  it('keeps revisionHistoryLimit old revisions, with the current and the new one', async () => {
    const sets = await rolledOut({ revisionHistoryLimit: 1 })
    for (const name of ['two', 'three', 'four']) await edit(sets, name)
    expect(numbersOf(sets).map(([number]) => number)).toEqual([2, 3, 4])
    sets.edit('crawler', { revisionHistoryLimit: 0 })
    await eventually('only the current one is left', async () => numbersOf(sets).length === 1)
    expect(numbersOf(sets)).toEqual([[4, 'http://four']])
  })

  it('deletes no object that the set does not own', async () => {
    const sets = await rolledOut({ revisionHistoryLimit: 0 })
    const [own] = revisions(sets)
    const labels = own?.metadata.labels
    sets.fake.store.create(
      { kind: CONTROLLER_REVISIONS, namespace: 'ns' },
      { metadata: { name: 'web-1', labels }, revision: 0, data: {} },
      'kubectl',
    )
    for (const name of ['two', 'three']) await edit(sets, name)
    expect(revisions(sets).map(({ metadata }) => metadata.name)).toContain('web-1')
  })

  it('is created later for a set that was rolled out before there was a history', async () => {
    const sets = await rolledOut()
    await sets.stop()
    sets.delete(CONTROLLER_REVISIONS, revisions(sets)[0]?.metadata.name ?? '')
    await sets.start()
    await eventually('the history has the revision', async () => numbersOf(sets).length === 1)
  })

  it('is no condition of a rollout: without the right there is one log line', async () => {
    const sets = await SetFixture.create()
    sets.fake.script({ path: REVISIONS }, { kind: 'refuse', status: 403, reason: 'Forbidden' }, 1_000)
    await sets.join('crawler-0')
    sets.declare('crawler', { config: CONFIG })
    await sets.start()
    await sets.settled('crawler', 'Complete')
    await edit(sets, 'two')
    expect((await sets.worker('crawler-0')).config['url']).toBe('http://two')
    expect(sets.log.lines.filter(({ message }) => message.includes('controllerrevisions.apps'))).toHaveLength(1)
    expect(revisions(sets)).toEqual([])
  })

  it('is complete after an API server that failed for a while', async () => {
    const sets = await SetFixture.create()
    sets.fake.script({ method: 'POST', path: REVISIONS }, { kind: 'refuse', status: 500 }, 2)
    await sets.join('crawler-0')
    sets.declare('crawler', { config: CONFIG })
    await sets.start()
    await sets.settled('crawler', 'Complete')
    await eventually('the history has the revision', async () => numbersOf(sets).length === 1)
  })

  it('has no revision that the master refuses, and none of a set that only observes', async () => {
    const sets = await rolledOut()
    sets.edit('crawler', { config: { ...CONFIG, url: 7 } })
    await sets.settled('crawler', 'Rejected')
    expect(numbersOf(sets)).toEqual([[1, 'http://one']])
    await sets.join('watched-0')
    sets.declare('watched', { config: CONFIG, managementPolicy: 'Observe' })
    await sets.settled('watched', 'ObserveOnly')
    expect(numbersOf(sets)).toEqual([[1, 'http://one']])
  })
})

describe('configOfRevision', () => {
  it('returns what the spec had, and undefined for what the set does not own or may not read', async () => {
    const sets = await rolledOut()
    const { updateRevision = '' } = sets.statusOf('crawler')
    await edit(sets, 'two')
    const set = sets.fake.store.get({ kind: FLEET_WORKER_SETS, namespace: 'ns', name: 'crawler' })
    const context = {
      set: set as unknown as FleetWorkerSetObject,
      signal: AbortSignal.timeout(10_000),
      deps: { transport: sets.transport(), memory: new SetMemory(systemRandom), log: sets.log },
    }
    expect(await configOfRevision(context, updateRevision)).toEqual({ config: CONFIG, configFrom: [] })
    expect(await configOfRevision(context, '000000000000')).toBeUndefined()
    const other = { ...context.set, metadata: { ...context.set.metadata, uid: 'other' } }
    expect(await configOfRevision({ ...context, set: other }, updateRevision)).toBeUndefined()
    sets.fake.script({ path: REVISIONS }, { kind: 'refuse', status: 403 })
    expect(await configOfRevision(context, updateRevision)).toBeUndefined()
    // Another attempt may succeed, so this does not mean that there is none.
    sets.fake.script({ path: REVISIONS }, { kind: 'refuse', status: 500 })
    await expect(configOfRevision(context, updateRevision)).rejects.toMatchObject({ status: 500 })
  })
})

describe('revisionObjectName', () => {
  it('is a valid name for every name of a set', () => {
    expect(revisionObjectName('crawler', '7f3ac1d09b2e')).toBe('crawler-7f3ac1d09b2e')
    const name = revisionObjectName(`${'a'.repeat(239)}.b${'c'.repeat(12)}`, '7f3ac1d09b2e')
    expect(name).toBe(`${'a'.repeat(239)}-7f3ac1d09b2e`)
    expect(revisionObjectName('d'.repeat(253), '7f3ac1d09b2e')).toHaveLength(253)
  })
})
