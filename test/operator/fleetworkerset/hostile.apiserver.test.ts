/**
 * Tests the status of a set on a real API server, which validates it: workers with ids of every kind that the master
 * permits, all with a problem, must not keep the operator from writing it.
 */
import { Buffer } from 'node:buffer'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { MAX_NAME_CHARS } from '../../../src/protocol/index.ts'
import type { FleetWorkerSet } from '../../../src/operator/fleetworkerset/index.ts'
import { SocketWorker } from '../../e2e/socket-worker.ts'
import { Cluster } from '../cluster.ts'
import { withApiServer } from '../with-programs.ts'

const TEST_MS = 240_000
const OBJECTS = '/apis/muster.dev/v1alpha1/namespaces/team-a/fleetworkersets'
const LONG = Array.from({ length: 24 }, (_, index) => String(index).padStart(MAX_NAME_CHARS, '\u{e4}'))
const IDS = ['a b', '"quoted"', '*', '__proto__', '\u{1f600}'.repeat(MAX_NAME_CHARS / 2), ...LONG]

withApiServer('the status of a set', () => {
  let cluster: Cluster

  beforeAll(async () => {
    cluster = await Cluster.start('cluster-wide')
    await cluster.startOperator()
  }, TEST_MS)
  afterAll(() => cluster.close(), 60_000)

  it(
    'names workers with ids of every kind, and is written whatever they are',
    async () => {
      // These workers never acknowledge a config.
      for (const id of IDS) await SocketWorker.join(cluster.fleet, 'http-probe', id)
      await cluster.ok('POST', OBJECTS, {
        apiVersion: 'muster.dev/v1alpha1',
        kind: 'FleetWorkerSet',
        metadata: { name: 'all' },
        spec: {
          type: 'http-probe',
          selector: { idPatterns: ['*'] },
          config: { enabled: true },
          rollout: { maxUnavailable: '100%', ackTimeoutSeconds: 35 },
        },
      })
      const statusOf = async (): Promise<FleetWorkerSet['status']> =>
        (await cluster.ok<FleetWorkerSet>('GET', `${OBJECTS}/all`)).status
      await cluster.until(
        'the status names the workers that did not acknowledge',
        async () => (await statusOf())?.worst?.length === 20,
        90_000,
        async () => JSON.stringify(await statusOf(), null, 1),
      )
      const status = await statusOf()
      expect(status?.workers).toMatchObject({ matched: IDS.length, updated: IDS.length, acknowledged: 0 })
      expect(status?.worst?.every(({ worker }) => IDS.includes(worker))).toBe(true)
      expect(Buffer.byteLength(JSON.stringify(status))).toBeLessThan(65_536)
    },
    TEST_MS,
  )
})
