/**
 * Tests FleetWorkerSets as a platform team uses them: with a real API server, the rights of the manifests, a real
 * master, real workers, and kubectl.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { applySet } from './apply-set.ts'
import { Cluster } from './cluster.ts'
import { withApiServer } from './with-programs.ts'

const PROBE = { interval_seconds: 60, targets: [{ name: 'self', url: 'http://127.0.0.1:1/' }] }

withApiServer('FleetWorkerSets', () => {
  let cluster: Cluster

  beforeAll(async () => {
    cluster = await Cluster.start('cluster-wide')
    await cluster.startOperator()
  }, 180_000)
  afterAll(() => cluster.close(), 60_000)

  const apply = (name: string, spec: object): Promise<string> => applySet(cluster, name, spec)
  const wait = (name: string, what: string): Promise<string> =>
    cluster.kubectl('wait', '-n', 'team-a', `fleetworkerset/${name}`, `--for=${what}`, '--timeout=60s')
  const get = (name: string, path: string): Promise<string> =>
    cluster.kubectl('get', '-n', 'team-a', `fws/${name}`, '-o', `jsonpath={${path}}`)
  const intervalOf = async (id: string): Promise<unknown> => (await cluster.worker(id))?.config['interval_seconds']

  it('configures workers, also one that joins, and waits with kubectl for an edit', async () => {
    for (const id of ['pool-0', 'pool-1']) await cluster.startWorker(id)
    const rollout = { stages: [] }
    await apply('pool', { config: { enabled: true, ...PROBE }, rollout })
    await wait('pool', 'condition=Ready')
    expect(await get('pool', '.status.workers.acknowledged')).toBe('2')
    await apply('pool', { config: { enabled: true, ...PROBE, interval_seconds: 30 }, rollout })
    await wait('pool', 'condition=Ready')
    expect([await intervalOf('pool-0'), await intervalOf('pool-1')]).toEqual([30, 30])
    const selector = `--selector=muster.dev/set-uid=${await get('pool', '.metadata.uid')}`
    const columns = '{.metadata.name} {.revision} {.data.config.interval_seconds};'
    const output = `--output=jsonpath={range .items[*]}${columns}{end}`
    const history = await cluster.kubectl('get', 'controllerrevisions', '-n', 'team-a', selector, output)
    const revision = await get('pool', '.status.currentRevision')
    expect(history).toContain(`pool-${revision} 2 30;`)
    expect(
      history
        .replaceAll(/pool-[0-9a-f]{12} /g, '')
        .split(';')
        .toSorted(),
    ).toEqual(['', '1 60', '2 30'])
    await cluster.startWorker('pool-2')
    await wait('pool', 'jsonpath={.status.workers.acknowledged}=3')
    expect(await intervalOf('pool-2')).toBe(30)
    const [head, line] = (await cluster.kubectl('get', 'fws', '-n', 'team-a')).split('\n')
    expect(head).toMatch(/^NAME +TYPE +READY +WORKERS +UPDATED +ACKED +UNAVAILABLE +STAGE +REVISION +AGE$/)
    expect(line).toMatch(/^pool +http-probe +True +3 +3 +3 +0 +[0-9a-f]{12} /)
  }, 180_000)

  it('rolls an edit out in stages, and a person promotes, aborts and retries with kubectl', async () => {
    const ids = ['staged-0', 'staged-1', 'staged-2', 'staged-3']
    for (const id of ids) await cluster.startWorker(id)
    const spec = (interval: number): object => ({
      config: { enabled: true, ...PROBE, interval_seconds: interval },
      rollout: {
        stages: [
          { workers: 1, bakeSeconds: 0, approval: 'Manual' },
          { workers: '50%', bakeSeconds: 0 },
        ],
      },
    })
    const edited = async (): Promise<number> => {
      const all = await Promise.all(ids.map(async (id) => intervalOf(id)))
      return all.filter((interval) => interval === 45).length
    }
    const annotate = (name: string, value: string): Promise<string> =>
      cluster.kubectl('annotate', '-n', 'team-a', '--overwrite', 'fws/staged', `muster.dev/${name}=${value}`)
    await apply('staged', spec(60))
    await wait('staged', 'condition=Ready')
    await apply('staged', spec(45))
    await wait('staged', 'jsonpath={.status.rollout.phase}=WaitingForApproval')
    expect(await edited()).toBe(1)
    const revision = await get('staged', '.status.updateRevision')
    await annotate('abort', `${revision}/1`)
    await wait('staged', 'condition=RolledBack')
    expect(await edited()).toBe(0)
    await annotate('retry', `${revision}/2`)
    await wait('staged', 'jsonpath={.status.rollout.phase}=WaitingForApproval')
    await annotate('promote', `${revision}/1`)
    await wait('staged', 'condition=Ready')
    expect(await edited()).toBe(4)
    expect(await get('staged', '.status.currentRevision')).toBe(revision)
  }, 180_000)

  it('shows why a config is refused, and touches no worker', async () => {
    await cluster.startWorker('strict-0')
    await apply('strict', { config: { enabled: true, ...PROBE } })
    // Not Ready: a set is also Ready while the operator has not seen its worker yet.
    await wait('strict', 'jsonpath={.status.workers.acknowledged}=1')
    await apply('strict', { config: { enabled: true, ...PROBE, interval_seconds: 'often' } })
    await wait('strict', 'condition=Stalled')
    expect(await get('strict', '.status.conditions[?(@.type=="Ready")].message')).toContain('/interval_seconds')
    expect(await get('strict', '.status.failed[0].message')).toContain('/interval_seconds')
    expect(await intervalOf('strict-0')).toBe(60)
  }, 120_000)

  it('resets its workers before it is deleted', async () => {
    await cluster.startWorker('gone-0')
    await apply('gone', { config: { enabled: true, ...PROBE }, deletionPolicy: 'Reset' })
    await wait('gone', 'jsonpath={.status.workers.acknowledged}=1')
    await cluster.kubectl('delete', '-n', 'team-a', 'fws/gone', '--timeout=60s')
    expect((await cluster.worker('gone-0'))?.config['enabled']).toBe(false)
    expect((await cluster.worker('gone-0'))?.managed_by).toBeNull()
  }, 120_000)

  it('counts rollouts and sets in its metrics', async () => {
    let metrics = ''
    const holds = async (): Promise<boolean> => {
      metrics = await cluster.metrics()
      return [
        /^svc_operator_rollouts_total\{outcome="complete"\} 6$/m, // pool 2, staged 2, strict 1, gone 1
        /^svc_operator_rollouts_total\{outcome="aborted"\} 1$/m,
        /^svc_operator_rollouts_total\{outcome="failed"\} 1$/m,
        /^svc_operator_rollout_seconds_count\{outcome="complete"\} [1-6]$/m,
        /^svc_operator_sets\{condition="Ready",status="True"\} 2$/m,
        /^svc_operator_sets\{condition="Stalled",status="True"\} 1$/m,
        /^svc_operator_set_workers\{state="acknowledged"\} 8$/m,
      ].every((line) => line.test(metrics))
    }
    const lines = /^svc_operator_(?:set|rollout).*$/gm
    const seen = async (): Promise<string> => metrics.match(lines)?.join('\n') ?? metrics
    await cluster.until('the metrics follow', holds, 10_000, seen)
  }, 60_000)

  it('needs no right that its role does not have', async () => {
    const denied = cluster.audit().filter(({ responseStatus }) => responseStatus?.code === 403)
    expect(denied.filter(({ objectRef }) => objectRef?.resource === 'fleetworkersets')).toEqual([])
    const verbs = cluster
      .audit()
      .filter(
        ({ objectRef, user }) =>
          objectRef?.resource === 'fleetworkersets' && user?.username?.includes('muster-operator'),
      )
      .map(({ verb, objectRef }) => `${verb} ${objectRef?.subresource ?? ''}`.trim())
    expect([...new Set(verbs)].toSorted()).toEqual(['get', 'list', 'patch', 'patch status', 'watch'])
  })

  it('a killed operator continues in the stage that the status says', async () => {
    const ids = ['killed-0', 'killed-1', 'killed-2', 'killed-3']
    for (const id of ids) await cluster.startWorker(id)
    const spec = (interval: number): object => ({
      config: { enabled: true, ...PROBE, interval_seconds: interval },
      rollout: { stages: [1, 2].map((workers) => ({ workers, bakeSeconds: 5 })) },
    })
    const edited = async (): Promise<number> => {
      const all = await Promise.all(ids.map(async (id) => intervalOf(id)))
      return all.filter((interval) => interval === 45).length
    }
    await apply('killed', spec(60))
    await wait('killed', 'condition=Ready')
    await apply('killed', spec(45))
    for (const stage of [1, 2]) {
      await cluster.until(
        `stage ${stage} has begun`,
        async () => Number(await get('killed', '.status.rollout.stage')) >= stage,
        90_000,
      )
      await cluster.stopOperator('SIGKILL')
      const limit = Number((await get('killed', '.status.rollout.limit')) || ids.length)
      expect(await edited()).toBeLessThanOrEqual(limit)
      await cluster.startOperator()
    }
    await cluster.kubectl('wait', '-n', 'team-a', 'fws/killed', '--for=condition=Ready', '--timeout=120s')
    expect(await edited()).toBe(4)
    expect(await get('killed', '.status.failed')).toBe('')
  }, 300_000)
})
