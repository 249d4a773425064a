/**
 * Tests a rollout that is interrupted: the set is deleted, the API server stores no status, or the master loses its
 * store.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from '@jest/globals'
import type { FleetWorkerSetSpec } from '../../../src/operator/fleetworkerset/index.ts'
import { eventually } from '../../kit/index.ts'
import { EVENTS } from '../fake-apiserver.ts'
import { FLEET_WORKER_SETS } from '../fake-fleet.ts'
import { SetFixture } from './fixture.ts'

const OLD = { enabled: true, url: 'http://old' }
const NEW = { enabled: true, url: 'http://new' }
const IDS = ['crawler-0', 'crawler-1', 'crawler-2']

async function running(more: Partial<FleetWorkerSetSpec> = {}): Promise<SetFixture> {
  const sets = await SetFixture.create()
  for (const id of IDS) await sets.join(id)
  const rollout = { stages: [{ workers: 1, bakeSeconds: 0, approval: 'Manual' as const }] }
  sets.declare('crawler', { config: OLD, rollout, ...more })
  await sets.start()
  await sets.settled('crawler', 'Complete')
  return sets
}

const updatedOf = async (sets: SetFixture): Promise<number> => {
  const all = await Promise.all(IDS.map(async (id) => sets.worker(id)))
  return all.filter(({ config }) => config['url'] === 'http://new').length
}
const eventsOf = (sets: SetFixture, reason: string) =>
  sets.fake.store.list(EVENTS, 'ns').filter((event) => event['reason'] === reason)

describe('a set that is deleted with Retain', () => {
  it('in a rollout leaves the configs mixed, and an Event says so', async () => {
    const sets = await running()
    sets.edit('crawler', { config: NEW })
    await sets.settled('crawler', 'WaitingForApproval')
    const revision = sets.statusOf('crawler').updateRevision ?? ''
    sets.delete(FLEET_WORKER_SETS, 'crawler')
    await eventually('there is an Event', async () => eventsOf(sets, 'DeletedDuringRollout').length === 1)
    const [event] = eventsOf(sets, 'DeletedDuringRollout')
    expect(event).toMatchObject({
      type: 'Warning',
      regarding: { kind: 'FleetWorkerSet', namespace: 'ns', name: 'crawler' },
    })
    expect(event?.['note']).toBe(
      `deleted during a rollout: 1 of 3 workers has the config ${revision}, and all keep their configs`,
    )
    expect(await updatedOf(sets)).toBe(1)
  })

  it.each([
    ['after a rollout', {}, NEW],
    ['that was reverted', {}, OLD],
    ['or with Reset', { deletionPolicy: 'Reset' as const }, undefined],
  ])('%s has no such Event', async (_, more, last) => {
    const sets = await running(more)
    sets.edit('crawler', { config: NEW })
    await sets.settled('crawler', 'WaitingForApproval')
    if (last === NEW) sets.annotate('crawler', { 'muster.dev/promote': `${sets.statusOf('crawler').updateRevision}/1` })
    if (last === OLD) sets.edit('crawler', { config: OLD })
    if (last !== undefined) await sets.settled('crawler', 'Complete')
    sets.delete(FLEET_WORKER_SETS, 'crawler')
    await eventually('it is gone', async () => !sets.exists('crawler'))
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    expect(eventsOf(sets, 'DeletedDuringRollout')).toEqual([])
  })
})

describe('a rollout whose status cannot be stored', () => {
  it.each([
    ['the API server refuses it', { kind: 'refuse' as const, status: 503 }],
    ['another version of the object is stored', { kind: 'refuse' as const, status: 409, reason: 'Conflict' }],
  ])(
    'writes no worker while %s, and continues afterwards',
    async (_, fault) => {
      const sets = await running()
      sets.fake.script({ method: 'PATCH', path: /fleetworkersets\/crawler\/status/ }, fault, 4)
      const writes = sets.statusWrites
      sets.edit('crawler', { config: NEW })
      await eventually('it was tried', async () => sets.statusWrites >= writes + 2)
      expect(await updatedOf(sets)).toBe(0)
      await eventually('it waits', async () => sets.condition('crawler', 'Ready')?.reason === 'WaitingForApproval', {
        withinMs: 60_000,
      })
      expect(await updatedOf(sets)).toBe(1)
    },
    90_000,
  )
})

describe('a rollout whose master has lost its store', () => {
  it('begins again when as many workers are back as there were', async () => {
    const sets = await running()
    sets.edit('crawler', { config: NEW })
    await sets.settled('crawler', 'WaitingForApproval')
    const { currentRevision, rollout } = sets.statusOf('crawler')
    await sets.loseStore()
    await eventually('there is no member', () => sets.statusOf('crawler').workers?.matched === 0)
    const [first = '', ...others] = IDS
    await sets.join(first)
    await eventually('it has a config', async () => (await sets.worker(first)).config['url'] === 'http://old')
    await sleep(1_000)
    expect(sets.statusOf('crawler').rollout?.epoch).toBe(rollout?.epoch)
    for (const id of others) await sets.join(id)
    await eventually('it has begun again', () => {
      const { epoch, phase } = sets.statusOf('crawler').rollout ?? {}
      return epoch !== rollout?.epoch && phase === 'WaitingForApproval'
    })
    expect(await updatedOf(sets)).toBe(1)
    expect(sets.statusOf('crawler').currentRevision).toBe(currentRevision)
  }, 60_000)
})
