/**
 * Tests the scaling of a FleetWorkerSet as an autoscaler uses it: with a real API server, the rights of the manifests,
 * a real master, real workers, and kubectl.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { applySet } from './apply-set.ts'
import { Cluster } from './cluster.ts'
import { withApiServer } from './with-programs.ts'

/** As a GitOps engine applies. */
const GIT = ['--server-side', '--field-manager=git']

const SCALE = '/apis/muster.dev/v1alpha1/namespaces/team-a/fleetworkersets'

withApiServer('the scale of a FleetWorkerSet', () => {
  let cluster: Cluster

  beforeAll(async () => {
    cluster = await Cluster.start('cluster-wide')
    await cluster.startOperator()
  }, 180_000)
  afterAll(() => cluster.close(), 60_000)

  const apply = (name: string, spec: object, ...options: readonly string[]): Promise<string> =>
    applySet(cluster, name, { slots: 1, config: { enabled: true }, ...spec }, ...options)
  const replicasOf = (name: string): Promise<string> =>
    cluster.kubectl('get', '-n', 'team-a', `fws/${name}`, '-o', 'jsonpath={.spec.replicas}')
  const wait = (name: string, what: string): Promise<string> =>
    cluster.kubectl('wait', '-n', 'team-a', `fleetworkerset/${name}`, `--for=${what}`, '--timeout=60s')
  const scale = (name: string, replicas: number): Promise<string> =>
    cluster.kubectl('scale', '-n', 'team-a', `fws/${name}`, `--replicas=${replicas}`)
  const replicasBecome = (workload: string, replicas: number): Promise<void> =>
    cluster.until(
      `${workload} has ${replicas} replicas`,
      async () =>
        (await cluster.kubectl('get', '-n', 'team-a', workload, '-o', 'jsonpath={.spec.replicas}')) ===
        String(replicas),
      60_000,
    )

  it('is the number of pods of a StatefulSet, by kubectl scale, once the operator has the right', async () => {
    for (const id of ['web-0', 'web-1', 'web-2']) await cluster.startWorker(id)
    await cluster.createWorkload('StatefulSet', 'web', 3)
    await apply('web', { workload: { kind: 'StatefulSet', name: 'web' } })
    await wait('web', 'jsonpath={.status.conditions[?(@.type=="Ready")].reason}=WorkloadForbidden')
    expect((await cluster.worker('web-0'))?.config['enabled']).toBe(true)
    expect((await cluster.server.request('GET', `${SCALE}/web/scale`)).status).toBe(500)
    await cluster.kubectl('apply', '-n', 'team-a', '-f', 'manifests/operator/scale-workers/rights.yaml')
    await wait('web', 'jsonpath={.spec.replicas}=3')
    await wait('web', 'condition=Ready')
    await wait('web', 'jsonpath={.status.replicas}=3')
    expect((await cluster.server.request('GET', `${SCALE}/web/scale`)).body).toMatchObject({
      spec: { replicas: 3 },
      status: { replicas: 3, selector: 'app=web' },
    })
    await scale('web', 2)
    await replicasBecome('statefulset/web', 2)
    expect((await cluster.worker('web-2'))?.config['slots']).toBe(0)
    expect((await cluster.worker('web-1'))?.config['slots']).toBe(1)
    await scale('web', 4)
    await replicasBecome('statefulset/web', 4)
    await cluster.until('the cordon is removed', async () => (await cluster.worker('web-2'))?.config['slots'] === 1)
    const [head = '', line = ''] = (await cluster.kubectl('get', 'fws', '-n', 'team-a', '-o', 'wide')).split('\n')
    expect(line.slice(head.indexOf('REPLICAS'))).toMatch(/^4 /)
  }, 180_000)

  it('is the number of pods of a Deployment, whose idle pods are marked first', async () => {
    await cluster.createWorkload('Deployment', 'api', 2)
    for (const id of ['api-0', 'api-1']) await cluster.startWorker(id)
    await apply('api', { workload: { kind: 'Deployment', name: 'api' }, replicas: 1 })
    await replicasBecome('deployment/api', 1)
    const costs = await cluster.kubectl(
      'get',
      '-n',
      'team-a',
      'pods',
      '-o',
      'jsonpath={.items[*].metadata.annotations.controller\\.kubernetes\\.io/pod-deletion-cost}',
    )
    expect(costs).toBe('-1000')
  }, 120_000)

  it('begins with the number of the workload, which an apply without the field does not remove', async () => {
    await cluster.startWorker('first-0')
    await cluster.createWorkload('StatefulSet', 'first', 1)
    const workload = { kind: 'StatefulSet', name: 'first' }
    const git = (seconds: number): Promise<string> =>
      apply('first', { config: { interval_seconds: seconds }, rollout: { stages: [] }, workload }, ...GIT)
    await git(30)
    await wait('first', 'jsonpath={.spec.replicas}=1')
    await git(31)
    await wait('first', 'condition=Ready')
    expect(await replicasOf('first')).toBe('1')
    await scale('first', 2)
    await replicasBecome('statefulset/first', 2)
    await git(32)
    await wait('first', 'condition=Ready')
    expect(await replicasOf('first')).toBe('2')
    // A client that replaces the whole object removes the number. The set gets that of its workload again.
    const set = JSON.parse(await cluster.kubectl('get', '-n', 'team-a', 'fws/first', '-o', 'json')) as {
      spec: { replicas?: number }
    }
    delete set.spec.replicas
    await cluster.kubectl('replace', '-f', cluster.file('replaced.json', set))
    await wait('first', 'jsonpath={.spec.replicas}=2')
  }, 180_000)

  it('needs a workload', async () => {
    await apply('plain', {})
    await expect(scale('plain', 2)).rejects.toThrow('replicas needs workload')
  }, 60_000)
})
