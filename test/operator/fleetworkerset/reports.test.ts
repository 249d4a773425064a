/** Tests the reports of rollouts at a real master: their content, and when they are written and removed (D148). */
import { describe, expect, it } from '@jest/globals'
import type { FleetWorkerSetSpec } from '../../../src/operator/fleetworkerset/index.ts'
import type { RolloutShown } from '../../../src/protocol/index.ts'
import { eventually } from '../../kit/index.ts'
import { FLEET_WORKER_SETS } from '../fake-fleet.ts'
import type { FakeWorker } from '../faults/worker.ts'
import { SetFixture } from './fixture.ts'

const OLD = { enabled: true, url: 'http://old' }
const NEW = { enabled: true, url: 'http://new' }
const REPORTS = '/api/v1/automations/job/rollouts'
const manual = (workers: number | string) => ({ workers, bakeSeconds: 0, approval: 'Manual' as const })

interface Fleet {
  readonly sets: SetFixture
  readonly workers: readonly FakeWorker[]
  readonly reports: () => Promise<readonly RolloutShown[]>
  /** Resolves with the report when it is in this phase. */
  readonly inPhase: (phase: RolloutShown['phase'], more?: Partial<RolloutShown>) => Promise<RolloutShown>
}

/** Five workers that run the old config. */
async function fleet(stages: NonNullable<FleetWorkerSetSpec['rollout']>['stages'], sets?: SetFixture): Promise<Fleet> {
  const of = sets ?? (await SetFixture.create())
  const workers: FakeWorker[] = []
  for (let n = 0; n < 5; n += 1) workers.push(await of.join(`crawler-${n}`))
  of.declare('crawler', { config: OLD, rollout: { ...(stages && { stages }) } })
  await of.start()
  await of.settled('crawler', 'Complete')
  const reports = async () => ((await of.master.call('GET', REPORTS)).json as { rollouts: RolloutShown[] }).rollouts
  const inPhase: Fleet['inPhase'] = async (phase, more = {}) => {
    const isShown = async () => expect.objectContaining({ phase, ...more }).asymmetricMatch((await reports())[0])
    await eventually(`the report says ${phase}`, isShown)
    return (await reports())[0] as RolloutShown
  }
  return { sets: of, workers, reports, inPhase }
}

const phasesOf = async ({ sets }: Fleet): Promise<readonly string[]> => {
  const read = await sets.master.backend.events.read('', 10_000)
  return (read.kind === 'events' ? read.events : [])
    .filter(({ name }) => name === 'rollout.changed')
    .map(({ data }) => JSON.parse(data) as { phase: string; stage: number })
    .map(({ phase, stage }) => `${stage} ${phase}`)
}

describe('the report of a rollout', () => {
  it('describes the stage that waits, names the changed fields and no value, and says what to do', async () => {
    const of = await fleet([manual(1), manual(2)])
    const before = of.sets.statusOf('crawler').currentRevision
    expect(await of.reports()).toEqual([])
    of.sets.edit('crawler', { config: NEW })
    const report = await of.inPhase('WaitingForApproval')
    const { metadata } = of.sets.fake.store.get({ kind: FLEET_WORKER_SETS, namespace: 'ns', name: 'crawler' })
    expect(report).toMatchObject({
      rollout: expect.stringMatching(new RegExp(`^set-\\d{8}t\\d{6}z-${metadata.uid}$`)),
      set: { namespace: 'ns', name: 'crawler', uid: metadata.uid },
      managed_by: (await of.sets.worker('crawler-0')).managed_by,
      update_revision: of.sets.statusOf('crawler').updateRevision,
      current_revision: before,
      attempt: 1,
      cause: 'edit',
      stage: 1,
      stages: 3,
      stage_list: [
        { workers: 1, bake_seconds: 0, approval: 'Manual' },
        { workers: 2, bake_seconds: 0, approval: 'Manual' },
      ],
      limit: 1,
      counts: { matched: 5, online: 5, updated: 1, pending: 4 },
      gates: [{ name: 'errors', verdict: 'Passed', updated: '0 of 1', allowed: '0' }],
      changed_fields: ['/url'],
      failed: [],
      next: { command: 'muster rollout promote -n ns crawler' },
    })
    expect(report.started_at).toBeLessThanOrEqual(report.since)
    expect(JSON.stringify(report)).not.toContain('http://')
  })

  it('follows the stages, and stays as Complete without another write', async () => {
    const of = await fleet([manual(1)])
    of.sets.edit('crawler', { config: NEW })
    const { update_revision: revision } = await of.inPhase('WaitingForApproval')
    of.sets.annotate('crawler', { 'muster.dev/promote': `${revision}/1` })
    const done = await of.inPhase('Complete')
    expect(done).toMatchObject({
      update_revision: revision,
      counts: { updated: 5, pending: 0 },
      next: { command: null },
    })
    const phases = await phasesOf(of)
    expect(phases.at(-1)).toBe('2 Complete')
    expect(phases).toContain('1 WaitingForApproval')
    await of.sets.stop()
    await of.sets.start()
    await of.sets.settled('crawler', 'Complete')
    await of.sets.join('crawler-9')
    await eventually('the set counts it', async () => of.sets.statusOf('crawler').workers?.acknowledged === 6)
    expect(await of.reports()).toEqual([done])
    expect(await phasesOf(of)).toEqual(phases)
  })

  it('keeps what started it over a restart of the operator', async () => {
    const of = await fleet([manual(1)])
    of.sets.edit('crawler', { config: NEW })
    const before = await of.inPhase('WaitingForApproval')
    await of.sets.stop()
    await of.sets.start()
    of.sets.edit('crawler', { paused: true })
    const after = await of.inPhase('WaitingForApproval', { paused: true })
    const { started_at, cause, changed_fields } = before
    expect(after).toMatchObject({ started_at, cause, changed_fields })
    expect(after.next.command).toBe('muster rollout resume -n ns crawler')
  })

  it('describes a failure, the rollback, and the next attempt', async () => {
    const of = await fleet([{ workers: 1, bakeSeconds: 600 }])
    for (const worker of of.workers) worker.next = 'fails'
    of.sets.edit('crawler', { config: NEW })
    await of.inPhase('RollingBack')
    for (const worker of of.workers) worker.next = 'runs'
    const failed = await of.inPhase('RolledBack')
    expect(failed).toMatchObject({
      attempt: 1,
      gates: [{ name: 'errors', verdict: 'Failed', updated: '1 of 1' }],
      failed: [{ revision: failed.update_revision, attempts: 1, stage: 1, gate: 'errors' }],
      next: { command: 'muster rollout retry -n ns crawler' },
    })
    of.sets.annotate('crawler', { 'muster.dev/retry': `${failed.update_revision}/2` })
    const again = await of.inPhase('Baking', { attempt: 2 })
    expect(again).toMatchObject({ cause: 'retry', update_revision: failed.update_revision })
    expect(again.started_at).toBeGreaterThanOrEqual(failed.since)
  })

  it('is removed when a person has reverted the config that failed', async () => {
    const of = await fleet([{ workers: 1, bakeSeconds: 600 }])
    for (const worker of of.workers) worker.next = 'fails'
    of.sets.edit('crawler', { config: NEW })
    await of.inPhase('RollingBack')
    for (const worker of of.workers) worker.next = 'runs'
    await of.inPhase('RolledBack')
    of.sets.edit('crawler', { config: OLD })
    await eventually('the report is gone', async () => (await of.reports()).length === 0)
    expect((await phasesOf(of)).at(-1)).toBe('1 Removed')
  })

  it('is removed with a revert, with the set, and if the set was deleted while no operator ran', async () => {
    const of = await fleet([manual(1)])
    const { sets } = of
    const isGone = () => eventually('the report is gone', async () => (await of.reports()).length === 0)
    sets.edit('crawler', { config: NEW })
    await of.inPhase('WaitingForApproval')
    sets.edit('crawler', { config: OLD })
    await isGone()
    expect((await phasesOf(of)).at(-1)).toBe('1 Removed')
    sets.edit('crawler', { config: NEW })
    await of.inPhase('WaitingForApproval')
    sets.delete(FLEET_WORKER_SETS, 'crawler')
    await isGone()
    sets.declare('crawler', { config: OLD, rollout: { stages: [manual(1)] } })
    await of.inPhase('WaitingForApproval')
    await sets.stop()
    sets.delete(FLEET_WORKER_SETS, 'crawler')
    await sets.start()
    await isGone()
  }, 30_000)
})

describe('a rollout', () => {
  it('reaches all workers while no report can be sent', async () => {
    const sets = await SetFixture.create()
    const proxy = await sets.throughProxy()
    proxy.rule = ({ method, url = '' }) => (method === 'PUT' && url.includes('/rollouts/') ? 'hang' : 'pass')
    const of = await fleet([{ workers: 1, bakeSeconds: 0 }], sets)
    sets.edit('crawler', { config: NEW })
    await eventually('a report is under way', () => proxy.seen.some(({ path }) => path.includes('/rollouts/')))
    await sets.settled('crawler', 'Complete')
    await eventually('all are updated', async () => (await sets.worker('crawler-4')).config['url'] === 'http://new')
    expect(sets.statusOf('crawler').rollout).toBeUndefined()
    expect(await of.reports()).toEqual([])
  })

  it('with a master of an earlier release has no report, and no warning about it', async () => {
    const sets = await SetFixture.create()
    const proxy = await sets.throughProxy()
    proxy.rule = (request) => {
      request.url = request.url?.replace('/rollouts', '/unknown-route') ?? ''
      return 'pass'
    }
    await fleet([{ workers: 1, bakeSeconds: 0 }], sets)
    const warnings = sets.log.lines.length
    sets.edit('crawler', { config: NEW })
    await sets.settled('crawler', 'Complete')
    expect(proxy.seen.filter(({ path }) => path.includes('/rollouts')).map(({ method }) => method)).toEqual(['GET'])
    expect(sets.log.lines.slice(warnings).filter(({ level }) => level === 'warn' || level === 'error')).toEqual([])
  })
})
