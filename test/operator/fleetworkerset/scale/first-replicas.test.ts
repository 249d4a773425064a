/**
 * Tests the first number of a set with a workload: the operator sets it once, from the workload, and never replaces
 * the number of another writer. The API server is the fake one.
 */
import { expect, it } from '@jest/globals'
import type { FleetWorkerSetSpec } from '../../../../src/operator/fleetworkerset/index.ts'
import { eventually } from '../../../kit/index.ts'
import type { Seen } from '../../fake-apiserver.ts'
import { FLEET_WORKER_SETS } from '../../fake-fleet.ts'
import { SetFixture } from '../fixture.ts'

const SPEC: Partial<FleetWorkerSetSpec> = {
  config: { enabled: true, url: 'http://one' },
  workload: { kind: 'StatefulSet', name: 'crawler' },
}
const SCALE = /fleetworkersets\/crawler\/scale/

async function withWorkload(replicas: number): Promise<SetFixture> {
  const sets = await SetFixture.create()
  await sets.join('crawler-0')
  sets.workload('StatefulSet', 'crawler', replicas)
  sets.declare('crawler', SPEC)
  return sets
}
const replicasOf = (sets: SetFixture): unknown =>
  sets.fake.store.get({ kind: FLEET_WORKER_SETS, namespace: 'ns', name: 'crawler' }).spec?.['replicas']
const writes = (sets: SetFixture): readonly Seen[] => sets.fake.seen('PATCH', SCALE)
const becomes = (sets: SetFixture, replicas: number): Promise<void> =>
  eventually(`replicas is ${replicas}`, async () => replicasOf(sets) === replicas)

it('is that of the workload, is written once, and scales nothing', async () => {
  const sets = await withWorkload(2)
  await sets.start()
  await becomes(sets, 2)
  await sets.settled('crawler', 'Complete')
  expect(sets.statusOf('crawler')).toMatchObject({ replicas: 2, selector: 'app=crawler' })
  expect(writes(sets)).toHaveLength(1)
  expect(sets.fake.seen('PATCH', /statefulsets/)).toEqual([])
  sets.edit('crawler', { replicas: 3 })
  await eventually('it is scaled', async () => sets.replicasOf('StatefulSet', 'crawler') === 3)
  expect(writes(sets)).toHaveLength(1)
}, 60_000)

it('is 0 if the workload has no pods', async () => {
  const sets = await withWorkload(0)
  await sets.start()
  await becomes(sets, 0)
}, 60_000)

it('never replaces the number of another writer, which came first', async () => {
  const sets = await withWorkload(2)
  let letThrough = (): void => {}
  const until = new Promise<void>((resolve) => (letThrough = resolve))
  sets.fake.script({ method: 'PATCH', path: SCALE }, { kind: 'delay', until })
  await sets.start()
  await eventually('the operator is about to write', async () => writes(sets).length === 1)
  sets.edit('crawler', { replicas: 5 })
  letThrough()
  await eventually('the workload follows', async () => sets.replicasOf('StatefulSet', 'crawler') === 5)
  expect([replicasOf(sets), writes(sets).length]).toEqual([5, 1])
}, 60_000)

it('is reported if the operator may not write it, and given when it may', async () => {
  const sets = await withWorkload(2)
  const refused = { kind: 'refuse', status: 403, reason: 'Forbidden' } as const
  sets.fake.script({ method: 'PATCH', path: SCALE }, refused, 1)
  await sets.start()
  await sets.settled('crawler', 'WorkloadForbidden')
  expect(sets.condition('crawler', 'Ready')?.message).toContain('replicas is missing, and the operator may not set it')
  const isEnabled = async (): Promise<boolean> => (await sets.worker('crawler-0')).config['enabled'] === true
  await eventually('its worker has the config all the same', isEnabled)
  await becomes(sets, 2)
  await sets.settled('crawler', 'Complete')
}, 60_000)

it.each([{ suspend: true }, { managementPolicy: 'Observe' }] as const)(
  'is not written with %j',
  async (spec) => {
    const sets = await withWorkload(2)
    sets.edit('crawler', spec)
    await sets.start()
    await eventually('it is reported', async () => sets.condition('crawler', 'Ready') !== undefined)
    await eventually('the workload was read', async () => sets.statusOf('crawler').replicas === 2)
    expect(writes(sets)).toEqual([])
  },
  60_000,
)
