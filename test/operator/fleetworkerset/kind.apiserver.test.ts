/**
 * Tests an operator on a real API server that has no FleetWorkerSets yet, as after an upgrade that leaves the
 * definitions as they are: FleetWorkers are managed, and sets as soon as their definition is installed.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { Cluster } from '../cluster.ts'
import { withApiServer } from '../with-programs.ts'

const TEST_MS = 240_000

withApiServer('an operator without the kind FleetWorkerSet', () => {
  let cluster: Cluster

  beforeAll(async () => {
    cluster = await Cluster.start('cluster-wide')
    await cluster.kubectl('delete', 'crd', 'fleetworkersets.muster.dev', '--timeout=60s')
    await cluster.startOperator()
  }, TEST_MS)
  afterAll(() => cluster.close(), 60_000)

  it(
    'manages FleetWorkers, and sets once the command of the page of the chart has installed the kind',
    async () => {
      await cluster.startWorker('single')
      await cluster.startWorker('many-0')
      await cluster.apply('single', { config: { enabled: true } })
      await cluster.condition('single', 'Ready=True')
      await cluster.kubectl('apply', '--server-side', '--force-conflicts', '-k', 'crds')
      await cluster.kubectl('wait', '--for=condition=Established', 'crd/fleetworkersets.muster.dev', '--timeout=30s')
      await cluster.ok('POST', '/apis/muster.dev/v1alpha1/namespaces/team-a/fleetworkersets', {
        apiVersion: 'muster.dev/v1alpha1',
        kind: 'FleetWorkerSet',
        metadata: { name: 'many' },
        spec: { type: 'http-probe', selector: { idPatterns: ['many-*'] }, config: { enabled: true } },
      })
      await cluster.kubectl('wait', '-n', 'team-a', '--for=condition=Ready', 'fws/many', '--timeout=120s')
      await cluster.until(
        'the worker of the set is configured',
        async () => (await cluster.worker('many-0'))?.config['enabled'] === true,
      )
      await cluster.condition('single', 'Ready=True')
      expect(await cluster.stopOperator()).toBe(0)
    },
    TEST_MS,
  )
})
