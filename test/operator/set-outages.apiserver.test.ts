/**
 * Tests the rollout of a FleetWorkerSet while the API server or the master cannot be reached, and while single calls
 * have no response: no worker is written that the status does not permit, and the rollout continues afterwards.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { Deed, FaultyProxy } from '../client/faulty-proxy.ts'
import type { Cluster } from './cluster.ts'
import type { FaultProxy } from './fault-proxy.ts'
import { ProxiedCluster } from './proxied-cluster.ts'
import { StagedSet } from './staged-set.ts'
import { withApiServer } from './with-programs.ts'

const TEST_MS = 240_000
/** Longer than the retries of a call, and shorter than an outage that the status reports. */
const SHORT_MS = 8_000
/** After this time without the master, the status says so. */
const OUTAGE_MS = 60_000

withApiServer('the rollout of a FleetWorkerSet in an outage', () => {
  let proxied: ProxiedCluster
  let cluster: Cluster
  let apiServer: FaultProxy
  let master: FaultyProxy
  let set: StagedSet
  let edited = 0

  beforeAll(async () => {
    proxied = await ProxiedCluster.start()
    ;({ apiServer, cluster, master } = proxied)
    set = await StagedSet.started(cluster, 3)
  }, TEST_MS)
  afterAll(() => proxied.close(), 60_000)
  beforeEach(() => {
    proxied.pass()
    edited += 1
  })

  const bulkCalls = (deed: Deed): (() => number) => {
    let faults = 0
    master.rule = ({ method, url = '' }) => {
      if (method !== 'POST' || !url.endsWith('/configs') || faults > 0) return 'pass'
      faults += 1
      return deed
    }
    return () => faults
  }

  describe('the rollout of a FleetWorkerSet in an outage', () => {
    it.each(['reset before', 'reset after', 'cut'] as const)(
      'writes each worker once when a bulk call has no response (%s)',
      async (deed) => {
        const before = await set.generations()
        const faults = bulkCalls(deed)
        await set.apply(edited)
        await set.becomes('WaitingForApproval')
        expect([faults(), (await set.having(edited)).length]).toEqual([1, 1])
        await set.promote()
        await set.becomes('Complete')
        expect(await set.generations()).toEqual(before.map((generation) => Number(generation) + 1))
      },
      TEST_MS,
    )

    it(
      'writes no worker while the API server stores no status, and continues when it does',
      async () => {
        const before = await set.generations()
        apiServer.fault = ({ method, path }) =>
          method === 'PATCH' && path.includes('/status') ? { kind: 'status', status: 503 } : undefined
        const spoilt = apiServer.spoilt
        await set.apply(edited)
        await cluster.until('the operator tried to store the stage', async () => apiServer.spoilt > spoilt + 1)
        await pause(SHORT_MS)
        expect(await set.generations()).toEqual(before)
        apiServer.fault = () => undefined
        await set.becomes('WaitingForApproval')
        expect(await set.having(edited)).toHaveLength(1)
      },
      TEST_MS,
    )

    it(
      'writes no further worker while the API server is unreachable, also if a stage is promoted meanwhile',
      async () => {
        await set.apply(edited)
        await set.becomes('WaitingForApproval')
        apiServer.fault = ({ isWatch }) => (isWatch ? undefined : { kind: 'reset', when: 'before' })
        const before = await set.generations()
        await set.promote() // The watch reports it.
        await pause(SHORT_MS)
        expect(await set.generations()).toEqual(before)
        apiServer.fault = () => undefined
        await set.becomes('Complete')
        expect(await set.having(edited)).toHaveLength(3)
      },
      TEST_MS,
    )

    it(
      'writes nothing while the master is unreachable, reports it once after a minute, and continues',
      async () => {
        await set.apply(edited)
        await set.becomes('WaitingForApproval')
        const since = Date.now()
        master.rule = () => 'reset before'
        master.cut()
        await set.promote()
        await pause(OUTAGE_MS / 2)
        expect(await set.ready('reason')).toBe('WaitingForApproval')
        await set.becomes('MasterUnreachable')
        const [changed, generation] = [await set.ready('lastTransitionTime'), await set.generations()]
        expect(Date.now() - since).toBeGreaterThanOrEqual(OUTAGE_MS)
        await pause(SHORT_MS)
        expect([await set.ready('lastTransitionTime'), await set.generations()]).toEqual([changed, generation])
        expect(await set.having(edited)).toHaveLength(1)
        master.rule = () => 'pass'
        await set.becomes('Complete')
        expect(await set.having(edited)).toHaveLength(3)
      },
      TEST_MS,
    )
  })
})
