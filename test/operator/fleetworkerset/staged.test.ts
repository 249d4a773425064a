/** Tests rollouts with stages against a real master: stages, gates, approval, rollback, retry, pause, restarts. */
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from '@jest/globals'
import type { FleetWorkerSetSpec, FleetWorkerSetStatus } from '../../../src/operator/fleetworkerset/index.ts'
import { compareText } from '../../../src/runtime/index.ts'
import { eventually } from '../../kit/index.ts'
import type { FakeWorker } from '../faults/worker.ts'
import { SetFixture } from './fixture.ts'

type Rollout = NonNullable<FleetWorkerSetSpec['rollout']>

const OLD = { enabled: true, url: 'http://old' }
const NEW = { enabled: true, url: 'http://new' }
/** Without runs the gates of runs have nothing to judge. */
const stage = (workers: number | string, more: object = {}) => ({ workers, bakeSeconds: 0, ...more })

interface Fleet {
  readonly sets: SetFixture
  readonly workers: readonly FakeWorker[]
  /** How many workers have the new config. */
  readonly updated: () => Promise<number>
  readonly status: () => FleetWorkerSetStatus
}

/** Ten workers that run the old config. */
async function fleet(rollout: Rollout, more: Partial<FleetWorkerSetSpec> = {}): Promise<Fleet> {
  const sets = await SetFixture.create()
  const workers: FakeWorker[] = []
  for (let n = 0; n < 10; n += 1) workers.push(await sets.join(`crawler-${n}`))
  sets.declare('crawler', { config: OLD, rollout, ...more })
  await sets.start()
  await sets.settled('crawler', 'Complete')
  const updated = async (): Promise<number> => {
    const all = await Promise.all(workers.map(async ({ id }) => sets.worker(id)))
    return all.filter(({ config }) => config['url'] === 'http://new').length
  }
  return { sets, workers, updated, status: () => sets.statusOf('crawler') }
}

/** Makes every worker run tasks until the test ends; those with their second config, the new one, fail half of them. */
function runTasks({ sets, workers }: Fleet): void {
  const timer = setInterval(() => {
    for (const worker of workers) {
      if (worker.gen === 2) worker.ran(10, 10)
      else worker.ran(20, 0)
    }
  }, 200)
  sets.atEnd(() => clearInterval(timer))
}

describe('the gates of a rollout', () => {
  it('compare what workers count, and return the updated ones', async () => {
    const of = await fleet({ stages: [stage(3, { bakeSeconds: 600 })] })
    const { sets, status, updated } = of
    runTasks(of)
    sets.edit('crawler', { config: NEW })
    await sets.settled('crawler', 'RolledBack')
    expect(await updated()).toBe(0)
    expect(status().failed).toMatchObject([{ gate: 'failureRate', stage: 1 }])
    const gate = status().rollout?.gates?.find(({ name }) => name === 'failureRate')
    expect(gate).toMatchObject({ verdict: 'Failed', updated: '50.0 %', current: '0.0 %', allowed: '+2.0 points' })
    expect(sets.condition('crawler', 'Ready')?.message).toContain('50.0 % of')
  }, 60_000)

  it('compare the last stage with what the others did in the stage before', async () => {
    const of = await fleet({ stages: [stage(3, { approval: 'Manual' })] })
    const { sets, status } = of
    sets.edit('crawler', { config: NEW })
    await sets.settled('crawler', 'WaitingForApproval')
    runTasks(of)
    await sleep(8_000)
    // The last stage bakes as long as the one before.
    sets.edit('crawler', { rollout: { stages: [stage(3, { bakeSeconds: 600, approval: 'Manual' })] } })
    sets.annotate('crawler', { 'muster.dev/promote': `${status().updateRevision}/1` })
    await sets.settled('crawler', 'RolledBack')
    expect(status().failed).toMatchObject([{ gate: 'failureRate', stage: 2 }])
  }, 90_000)
})

describe('a rollout with stages', () => {
  it('gives the first config of idle workers to all of them, without stages', async () => {
    const { status, sets } = await fleet({ stages: [stage(1)] })
    expect(status()).toMatchObject({ workers: { updated: 10, pending: 0 } })
    expect(status().rollout).toBeUndefined()
    expect(status().currentRevision).toBe(status().updateRevision)
    expect(await sets.history('crawler-0')).toHaveLength(1)
  })

  it('reaches the workers stage by stage, waits for approvals, and is complete in the end', async () => {
    const { sets, status, updated } = await fleet({
      stages: [stage(1, { approval: 'Manual' }), stage('30%', { approval: 'Manual' })],
    })
    const before = status().currentRevision
    sets.edit('crawler', { config: NEW })
    await sets.settled('crawler', 'WaitingForApproval')
    expect(await updated()).toBe(1)
    expect(status()).toMatchObject({
      currentRevision: before,
      rollout: { attempt: 1, stage: 1, stages: 3, limit: 1, phase: 'WaitingForApproval' },
      workers: { updated: 1, pending: 9 },
    })
    const revision = status().updateRevision ?? ''
    expect(sets.condition('crawler', 'Ready')?.message).toContain(`muster.dev/promote: ${revision}/1`)
    expect(sets.condition('crawler', 'Reconciling')?.status).toBe('True')
    sets.annotate('crawler', { 'muster.dev/promote': `${revision}/1` })
    await eventually('stage 2 waits', async () => status().rollout?.stage === 2 && (await updated()) === 3)
    await sets.settled('crawler', 'WaitingForApproval')
    sets.annotate('crawler', { 'muster.dev/promote': `${revision}/2` })
    await sets.settled('crawler', 'Complete')
    expect(await updated()).toBe(10)
    expect(status().rollout).toBeUndefined()
    expect(status().currentRevision).toBe(revision)
  })

  it('returns the updated workers when one of them fails, and does not try the same config again', async () => {
    const { sets, status, updated, workers } = await fleet({ stages: [stage(2, { bakeSeconds: 600 })] })
    const before = status().currentRevision
    for (const worker of workers) worker.next = 'fails'
    sets.edit('crawler', { config: NEW })
    await eventually('two workers fail', async () => (await updated()) === 2)
    for (const worker of workers) worker.next = 'runs'
    await sets.settled('crawler', 'RolledBack')
    expect(await updated()).toBe(0)
    const { failed: [failure] = [], updateRevision = '' } = status()
    expect(failure).toMatchObject({ revision: updateRevision, attempts: 1, stage: 1, gate: 'errors' })
    expect(status()).toMatchObject({ currentRevision: before, workers: { updated: 0, pending: 0 } })
    expect(sets.condition('crawler', 'RolledBack')?.status).toBe('True')
    expect(sets.condition('crawler', 'Stalled')?.status).toBe('True')
    expect(sets.condition('crawler', 'Synced')?.reason).toBe('RolloutFailed')
    const writes = await sets.history('crawler-0')
    // A GitOps engine applies the same spec again and again.
    for (let n = 0; n < 3; n += 1) {
      sets.annotate('crawler', { 'example.com/applied': String(n) })
      await sleep(300)
    }
    expect(await sets.history('crawler-0')).toEqual(writes)
    expect(await updated()).toBe(0)
  })

  it('tries a failed revision again when a user asks for the next attempt', async () => {
    const { sets, status, updated, workers } = await fleet({ stages: [stage(1)] })
    for (const worker of workers) worker.next = 'fails'
    sets.edit('crawler', { config: NEW })
    await sets.settled('crawler', 'RolledBack')
    const revision = status().updateRevision ?? ''
    for (const worker of workers) worker.next = 'runs'
    sets.annotate('crawler', { 'muster.dev/retry': `${revision}/3` })
    await sleep(500)
    expect(await updated()).toBe(0)
    sets.annotate('crawler', { 'muster.dev/retry': `${revision}/2` })
    await sets.settled('crawler', 'Complete')
    expect(await updated()).toBe(10)
    expect(status().failed ?? []).toEqual([])
  })

  it('forgets a failure when the next attempt succeeds without stages', async () => {
    const { sets, status, workers } = await fleet({ stages: [stage(1)] })
    for (const worker of workers) worker.next = 'fails'
    sets.edit('crawler', { config: NEW })
    await sets.settled('crawler', 'RolledBack')
    for (const worker of workers) worker.next = 'runs'
    sets.edit('crawler', { rollout: { stages: [] } })
    sets.annotate('crawler', { 'muster.dev/retry': `${status().updateRevision}/2` })
    await sets.settled('crawler', 'Complete')
    expect(status().failed ?? []).toEqual([])
  })

  it('is no failure when it is reverted; a newer edit starts at the first stage', async () => {
    const { sets, status, updated, workers } = await fleet({ stages: [stage(2, { approval: 'Manual' })] })
    sets.edit('crawler', { config: NEW })
    await sets.settled('crawler', 'WaitingForApproval')
    sets.edit('crawler', { config: { ...NEW, url: 'http://newer' } })
    await eventually('the newer one waits', async () => {
      const { rollout, updateRevision } = status()
      return rollout?.revision === updateRevision && rollout?.phase === 'WaitingForApproval' && (await updated()) === 0
    })
    const all = await Promise.all(workers.map(async ({ id }) => sets.worker(id)))
    expect(all.filter(({ config }) => config['url'] === 'http://newer')).toHaveLength(2)
    sets.edit('crawler', { config: OLD })
    await sets.settled('crawler', 'Complete')
    expect(status().rollout).toBeUndefined()
    expect(status().failed ?? []).toEqual([])
  })

  it('an abort returns the workers; promote all skips the rest', async () => {
    const { sets, status, updated } = await fleet({ stages: [stage(1, { approval: 'Manual' }), stage('50%')] })
    sets.edit('crawler', { config: NEW })
    await sets.settled('crawler', 'WaitingForApproval')
    const revision = status().updateRevision ?? ''
    sets.annotate('crawler', { 'muster.dev/abort': `${revision}/1` })
    await sets.settled('crawler', 'RolledBack')
    expect(await updated()).toBe(0)
    expect(status().failed).toMatchObject([{ gate: 'aborted' }])
    sets.annotate('crawler', { 'muster.dev/retry': `${revision}/2` })
    await sets.settled('crawler', 'WaitingForApproval')
    sets.annotate('crawler', { 'muster.dev/promote': `${revision}/all` })
    await sets.settled('crawler', 'Complete')
    expect(await updated()).toBe(10)
  })

  it('with onFailure: Pause the workers stay as they are', async () => {
    const { sets, status, updated, workers } = await fleet({ stages: [stage(2)], onFailure: 'Pause' })
    for (const worker of workers) worker.next = 'is silent'
    sets.edit('crawler', { config: NEW })
    // If the first one failed before the second one is written, the stage would end with one.
    await eventually('the stage is written', async () => (await updated()) === 2)
    for (const worker of workers) {
      worker.next = 'fails'
      worker.acknowledge()
    }
    await sets.settled('crawler', 'GateFailed')
    expect(await updated()).toBe(2)
    for (const worker of workers) worker.next = 'runs'
    sets.annotate('crawler', { 'muster.dev/abort': `${status().updateRevision}/1` })
    await sets.settled('crawler', 'RolledBack')
    expect(await updated()).toBe(0)
  })

  it('while paused nothing begins and nothing continues; a worker that joins gets the current config', async () => {
    const { sets, status, updated } = await fleet({ stages: [stage(1)] }, { paused: true })
    sets.edit('crawler', { config: NEW })
    await sets.settled('crawler', 'Paused')
    expect(await updated()).toBe(0)
    await sets.join('crawler-new')
    await eventually('it is configured', async () => (await sets.worker('crawler-new')).config['url'] === 'http://old')
    sets.edit('crawler', { paused: false })
    await sets.settled('crawler', 'Complete')
    expect(await updated()).toBe(10)
    await eventually(
      'it has the new one',
      async () => (await sets.worker('crawler-new')).config['url'] === 'http://new',
    )
    await eventually('it is counted', async () => status().workers?.updated === 11)
  })

  it('has no stages while the kind is of an older release, which has no field for them', async () => {
    const { sets, status, updated } = await fleet({})
    sets.edit('crawler', { config: NEW })
    await sets.settled('crawler', 'Complete')
    expect(await updated()).toBe(10)
    expect(status().rollout).toBeUndefined()
    expect(status().currentRevision).toBe(status().updateRevision)
  })

  it('continues after a restart of the operator, with the stage that the status says', async () => {
    const { sets, status, updated } = await fleet({ stages: [stage(1, { approval: 'Manual' }), stage('50%')] })
    sets.edit('crawler', { config: NEW })
    await sets.settled('crawler', 'WaitingForApproval')
    await sets.stop()
    const writes = sets.statusWrites
    await sets.start()
    await sleep(1_500)
    expect(await updated()).toBe(1)
    expect(sets.statusWrites).toBe(writes)
    sets.annotate('crawler', { 'muster.dev/promote': `${status().updateRevision}/1` })
    await sets.settled('crawler', 'Complete')
    expect(await updated()).toBe(10)
  })

  it('workers that have not acknowledged their config yet are running workers', async () => {
    const sets = await SetFixture.create()
    for (let n = 0; n < 4; n += 1) {
      const worker = await sets.join(`crawler-${n}`, { next: 'is silent' })
      await sets.change(worker.id, OLD)
    }
    sets.declare('crawler', { config: NEW, rollout: { stages: [stage(1)] } })
    await sets.start()
    await eventually('the first stage is written', () => sets.statusOf('crawler').workers?.updated === 1)
    expect(sets.statusOf('crawler').workers?.matched).toBe(4)
    expect(sets.condition('crawler', 'Ready')?.reason).toBe('RollingOut')
  })

  it('running workers take the stages of a first rollout, and a failure leaves the others', async () => {
    const sets = await SetFixture.create()
    const workers: FakeWorker[] = []
    for (let n = 0; n < 4; n += 1) {
      workers.push(await sets.join(`crawler-${n}`))
      await sets.change(`crawler-${n}`, OLD)
    }
    for (const worker of workers) worker.next = 'fails'
    sets.declare('crawler', { config: NEW, rollout: { stages: [stage(1)] } })
    await sets.start()
    await sets.settled('crawler', 'GateFailed')
    const configs = await Promise.all(workers.map(async ({ id }) => String((await sets.worker(id)).config['url'])))
    expect(configs.toSorted(compareText)).toEqual(['http://new', 'http://old', 'http://old', 'http://old'])
    expect(sets.statusOf('crawler').currentRevision).toBeUndefined()
  })
})
