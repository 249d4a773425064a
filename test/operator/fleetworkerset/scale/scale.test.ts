/**
 * Tests scaling against a real master and a fake API server: load falls and returns, busy workers are cordoned, and
 * pods are removed only once they hold no task.
 */
import { describe, expect, it } from '@jest/globals'
import { eventually } from '../../../kit/index.ts'
import type { FleetWorkerSetSpec } from '../../../../src/operator/fleetworkerset/index.ts'
import { SetFixture } from '../fixture.ts'
import type { FakeWorker } from '../../faults/worker.ts'

const CONFIG = { enabled: true, url: 'http://one' }
const WORKLOAD = { kind: 'StatefulSet', name: 'crawler' } as const
const SPEC: Partial<FleetWorkerSetSpec> = { config: CONFIG, slots: 3, workload: WORKLOAD }

async function withWorkers(
  count: number,
  held: number,
): Promise<{ readonly sets: SetFixture; readonly workers: readonly FakeWorker[] }> {
  const sets = await SetFixture.create()
  const workers: FakeWorker[] = []
  for (let index = 0; index < count; index += 1) {
    const worker = await sets.join(`crawler-${index}`)
    worker.hold(held)
    workers.push(worker)
  }
  return { sets, workers }
}

const slotsOf = async (sets: SetFixture, count: number): Promise<readonly unknown[]> =>
  Promise.all(
    Array.from({ length: count }, async (_, index) => (await sets.worker(`crawler-${index}`)).config['slots']),
  )
const slotsBecome = (sets: SetFixture, slots: readonly number[]): Promise<void> =>
  eventually(`the slots become ${slots.join(', ')}`, async () => {
    const found = await slotsOf(sets, slots.length)
    return JSON.stringify(found) === JSON.stringify(slots)
  })
const replicasBecome = (sets: SetFixture, replicas: number, kind: 'StatefulSet' | 'Deployment' = 'StatefulSet') =>
  eventually(`the ${kind} has ${replicas} replicas`, async () => sets.replicasOf(kind, 'crawler') === replicas)
/** Longer than the time between two writes. */
const twoSteps = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 4_500))

describe('scale-in of a StatefulSet', () => {
  it('cordons busy workers, and lowers replicas only when they hold no task', async () => {
    const { sets, workers } = await withWorkers(4, 1)
    sets.workload('StatefulSet', 'crawler', 4)
    sets.declare('crawler', { ...SPEC, replicas: 4 })
    await sets.start()
    await sets.settled('crawler', 'Complete')
    expect(sets.statusOf('crawler')).toMatchObject({ replicas: 4, selector: 'app=crawler' })

    sets.edit('crawler', { replicas: 2 })
    await slotsBecome(sets, [3, 3, 0, 0])
    await eventually('the status counts them', async () => sets.statusOf('crawler').workers?.cordoned === 2)
    expect(sets.statusOf('crawler').replicas).toBe(2)
    await twoSteps()
    expect(sets.replicasOf('StatefulSet', 'crawler')).toBe(4)

    workers[2]?.hold(0)
    await twoSteps()
    expect(sets.replicasOf('StatefulSet', 'crawler')).toBe(4)

    workers[3]?.hold(0)
    await replicasBecome(sets, 2)
    expect(await slotsOf(sets, 4)).toEqual([3, 3, 0, 0])
    workers[3]?.end()
    workers[2]?.end()
    await slotsBecome(sets, [3, 3, 3, 3])
    await sets.settled('crawler', 'Complete')
    await eventually('both are absent, and none is cordoned', () => {
      const { absent, cordoned } = sets.statusOf('crawler').workers ?? {}
      return absent === 2 && cordoned === 0
    })
    expect(sets.statusOf('crawler').workers?.unavailable).toBe(0)
  }, 60_000)

  it('ends when load returns: one write gives all workers their slots back', async () => {
    const { sets } = await withWorkers(3, 1)
    sets.workload('StatefulSet', 'crawler', 3)
    sets.declare('crawler', { ...SPEC, replicas: 1 })
    await sets.start()
    await slotsBecome(sets, [3, 0, 0])
    sets.edit('crawler', { replicas: 5 })
    await slotsBecome(sets, [3, 3, 3])
    await replicasBecome(sets, 5)
  }, 60_000)

  it('continues after a restart of the operator, and changes nothing that is right', async () => {
    const { sets, workers } = await withWorkers(3, 1)
    sets.workload('StatefulSet', 'crawler', 3)
    sets.declare('crawler', { ...SPEC, replicas: 1 })
    await sets.start()
    await slotsBecome(sets, [3, 0, 0])
    await sets.stop()
    const before = await sets.history('crawler-2')
    workers[2]?.hold(0)
    await sets.start()
    await replicasBecome(sets, 2)
    expect(await sets.history('crawler-2')).toEqual(before)
    expect(await slotsOf(sets, 3)).toEqual([3, 0, 0])
    workers[1]?.hold(0)
    await replicasBecome(sets, 1)
  }, 60_000)

  it('a task that began between two cordons is waited for', async () => {
    const { sets, workers } = await withWorkers(2, 1)
    sets.workload('StatefulSet', 'crawler', 2)
    sets.declare('crawler', { ...SPEC, replicas: 2 })
    await sets.start()
    await sets.settled('crawler', 'Complete')
    sets.edit('crawler', { replicas: 1 })
    await slotsBecome(sets, [3, 0])
    await twoSteps()
    sets.edit('crawler', { replicas: 2 })
    await slotsBecome(sets, [3, 3])
    workers[1]?.hold(1)
    sets.edit('crawler', { replicas: 1 })
    await slotsBecome(sets, [3, 0])
    await twoSteps()
    expect(sets.replicasOf('StatefulSet', 'crawler')).toBe(2)
  }, 60_000)

  it('does not wait longer than scaleInTimeoutSeconds', async () => {
    const { sets } = await withWorkers(2, 1)
    sets.workload('StatefulSet', 'crawler', 2)
    sets.declare('crawler', { ...SPEC, workload: { ...WORKLOAD, scaleInTimeoutSeconds: 6 }, replicas: 1 })
    await sets.start()
    await slotsBecome(sets, [3, 0])
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    expect(sets.replicasOf('StatefulSet', 'crawler')).toBe(2)
    await replicasBecome(sets, 1)
  }, 60_000)

  it('writes at most once in two seconds', async () => {
    const { sets } = await withWorkers(1, 0)
    sets.workload('StatefulSet', 'crawler', 1)
    sets.declare('crawler', { ...SPEC, replicas: 2 })
    await sets.start()
    for (let replicas = 3; replicas <= 12; replicas += 1) {
      sets.edit('crawler', { replicas })
      await new Promise((resolve) => setTimeout(resolve, 300))
    }
    await replicasBecome(sets, 12)
    const writes = sets.fake.seen('PATCH', /statefulsets\/crawler\/scale/).length
    expect(writes).toBeGreaterThan(1)
    expect(writes).toBeLessThanOrEqual(4)
  }, 60_000)
})

describe('scale-in of a Deployment', () => {
  it('removes idle pods, which get a low deletion cost first', async () => {
    const { sets, workers } = await withWorkers(3, 1)
    for (const { id } of workers) sets.pod(id)
    sets.workload('Deployment', 'crawler', 3)
    sets.declare('crawler', { ...SPEC, workload: { kind: 'Deployment', name: 'crawler' }, replicas: 3 })
    await sets.start()
    await sets.settled('crawler', 'Complete')
    workers[0]?.hold(0)
    await eventually('the master has it', async () => (await sets.worker('crawler-0')).tasks_held === 0)
    sets.edit('crawler', { replicas: 1 })
    await eventually('two are cordoned', async () => sets.statusOf('crawler').workers?.cordoned === 2)
    await replicasBecome(sets, 2, 'Deployment')
    const cordoned = (await slotsOf(sets, 3)).map((slots) => slots === 0)
    const idle = workers.filter((_, index) => cordoned[index] === true && sets.costOf(`crawler-${index}`) === '-1000')
    expect(idle).toHaveLength(1)
  }, 60_000)

  it('takes the low cost back when load returns', async () => {
    const { sets, workers } = await withWorkers(2, 0)
    for (const { id } of workers) sets.pod(id)
    sets.workload('Deployment', 'crawler', 2)
    sets.fake.script({ method: 'PATCH', path: /deployments\/crawler\/scale/ }, { kind: 'refuse', status: 500 }, 100)
    sets.declare('crawler', { ...SPEC, workload: { kind: 'Deployment', name: 'crawler' }, replicas: 1 })
    await sets.start()
    const marked = (): readonly string[] => workers.map(({ id }) => id).filter((id) => sets.costOf(id) === '-1000')
    await eventually('one is marked', async () => marked().length === 1)
    sets.edit('crawler', { replicas: 2 })
    await slotsBecome(sets, [3, 3])
    await eventually('none is marked', async () => marked().length === 0)
  }, 60_000)
})

describe('the workload', () => {
  it('that is missing is reported, and the configs are unaffected', async () => {
    const { sets } = await withWorkers(1, 0)
    sets.declare('crawler', { ...SPEC, replicas: 3 })
    await sets.start()
    await sets.settled('crawler', 'WorkloadNotFound')
    expect(sets.condition('crawler', 'Reconciling')?.reason).toBe('WorkloadNotFound')
    await slotsBecome(sets, [3])
    sets.workload('StatefulSet', 'crawler', 1)
    await replicasBecome(sets, 3)
    await sets.settled('crawler', 'Complete')
  }, 60_000)

  it('that may not be scaled is reported, and no worker stays cordoned', async () => {
    const { sets } = await withWorkers(2, 1)
    sets.workload('StatefulSet', 'crawler', 2)
    sets.declare('crawler', { ...SPEC, replicas: 1 })
    await sets.start()
    await slotsBecome(sets, [3, 0])
    sets.fake.script({ path: /statefulsets\/crawler/ }, { kind: 'refuse', status: 403, reason: 'Forbidden' }, 1_000)
    await sets.settled('crawler', 'WorkloadForbidden')
    await slotsBecome(sets, [3, 3])
  }, 60_000)

  it('keeps what it has while the API server does not respond, or the set is suspended', async () => {
    const { sets, workers } = await withWorkers(2, 1)
    sets.workload('StatefulSet', 'crawler', 2)
    sets.declare('crawler', { ...SPEC, replicas: 1 })
    await sets.start()
    await slotsBecome(sets, [3, 0])
    sets.fake.script({ path: /statefulsets\/crawler/ }, { kind: 'refuse', status: 500 }, 1_000)
    workers[1]?.hold(0)
    await twoSteps()
    expect([sets.replicasOf('StatefulSet', 'crawler'), await slotsOf(sets, 2)]).toEqual([2, [3, 0]])
    sets.edit('crawler', { suspend: true })
    await sets.settled('crawler', 'Suspended')
    expect(await slotsOf(sets, 2)).toEqual([3, 0])
  }, 60_000)

  it('belongs to the older of two sets', async () => {
    const { sets } = await withWorkers(2, 0)
    sets.workload('StatefulSet', 'crawler', 2)
    sets.declare('crawler', { ...SPEC, replicas: 2 })
    await new Promise((resolve) => setTimeout(resolve, 1_100)) // The API server's times have whole seconds.
    sets.declare('late', { ...SPEC, replicas: 9 })
    await sets.start()
    await sets.settled('late', 'WorkloadConflict')
    expect(sets.condition('late', 'Ready')?.message).toContain('the older FleetWorkerSet crawler')
    expect(sets.replicasOf('StatefulSet', 'crawler')).toBe(2)
  }, 60_000)
})
