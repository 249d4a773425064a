/**
 * Tests a FleetWorkerSet whose config comes from a Secret, on a real API server: new metadata of the Secret start no
 * rollout, also over a restart of the operator, and a new value starts one.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { applySet } from './apply-set.ts'
import { Cluster } from './cluster.ts'
import { withApiServer } from './with-programs.ts'

const TEST_MS = 240_000
/** The operator reads a Secret every 5 s that an object waits for. */
const SEEN_MS = 12_000
const SECRETS = '/api/v1/namespaces/team-a/secrets'
const MERGE = 'application/merge-patch+json'

withApiServer('a FleetWorkerSet with a Secret', () => {
  let cluster: Cluster

  beforeAll(async () => {
    cluster = await Cluster.start('cluster-wide')
    await cluster.allowSecrets('team-a', 'keys')
    await cluster.startOperator()
  }, TEST_MS)
  afterAll(() => cluster.close(), 60_000)

  const spec = (key: string): object => ({
    config: { enabled: true, targets: [{ name: 'self', url: 'http://127.0.0.1:1/' }] },
    configFrom: [{ field: 'authorization', secretKeyRef: { name: 'keys', key } }],
    rollout: { stages: [] },
  })
  const revision = (): Promise<string> =>
    cluster.kubectl('get', '-n', 'team-a', 'fws/keyed', '-o', 'jsonpath={.status.currentRevision}')
  const generation = async (): Promise<number | undefined> => (await cluster.worker('keyed-0'))?.config_gen

  it(
    'gets a new generation for a new value only',
    async () => {
      await cluster.startWorker('keyed-0')
      await cluster.ok('POST', SECRETS, {
        metadata: { name: 'keys', annotations: { 'muster.dev/config-for': 'http-probe' } },
        stringData: { api: 'Bearer first-of-two', other: 'another-value' },
      })
      await applySet(cluster, 'keyed', spec('api'))
      await applySet(cluster, 'waits', spec('absent'))
      await cluster.kubectl('wait', '-n', 'team-a', 'fws/keyed', '--for=condition=Ready', '--timeout=60s')
      await cluster.until('the worker has the config', async () => (await generation()) === 1)
      const before = await revision()
      for (const patch of [
        { metadata: { annotations: { note: 'a' } } },
        { metadata: { labels: { team: 'a' } } },
        { stringData: { other: 'another-value-again' } },
      ]) {
        await cluster.ok('PATCH', `${SECRETS}/keys`, patch, MERGE)
        await pause(SEEN_MS)
        expect([await generation(), await revision()]).toEqual([1, before])
      }
      await cluster.stopOperator()
      await cluster.startOperator()
      await pause(SEEN_MS)
      expect([await generation(), await revision()]).toEqual([1, before])
      await cluster.ok('PATCH', `${SECRETS}/keys`, { stringData: { api: 'Bearer second-of-two' } }, MERGE)
      await cluster.until('the worker has the new value', async () => (await generation()) === 2)
      await cluster.until('the set has another revision', async () => (await revision()) !== before)
    },
    TEST_MS,
  )
})
