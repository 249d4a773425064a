/**
 * Checks a primary with two replicas and three sentinels: between failovers all calls are linearizable, and after one
 * the state is a prefix of the history. The loss is printed. SOAK=1 makes each kind of failover four times, with
 * min-replicas-to-write 0 and 1.
 */
import { join } from 'node:path'
import { expect } from '@jest/globals'
import { systemTime } from '../../src/runtime/index.ts'
import { temporaryFolder } from '../kit/temporary-folder.ts'
import type { Defect } from './defects.ts'
import { expectPrefixes, runFailovers } from './failover-run.ts'
import { FAILOVERS, type FailoverKind } from './failovers.ts'
import { overlapping } from '../kit/overlapping.ts'
import { describeLab, IS_SOAK, SEED, TIMEOUT_MS } from './lab.ts'
import { startClients } from './one-redis.ts'
import { startSentinels } from './sentinels.ts'

type Case = readonly [minReplicas: number, kinds: readonly FailoverKind[]]
const ALL_KINDS = Array.from({ length: 4 }, () => FAILOVERS).flat()
/** At commit each failover has a store of its own, so that they overlap. */
const CASES: readonly Case[] = IS_SOAK
  ? [
      [0, ALL_KINDS],
      [1, ALL_KINDS],
    ]
  : [
      [0, ['part']],
      [0, ['kill']],
    ]

describeLab('a primary with replicas and sentinels', (openLab) => {
  overlapping.each(CASES)(
    'loses only the newest changes in a failover, with min-replicas-to-write %d: %s (G5, G26)',
    async (minReplicas, kinds) => {
      await using lab = openLab()
      const network = lab.network()
      const store = await startSentinels(network, minReplicas, lab.open)
      const run = await runFailovers({ lab, network, store, kinds })
      expectPrefixes(run, {
        file: 'sentinel',
        store: `Sentinel, min-replicas-to-write ${minReplicas}`,
        mustHappen: { 'regression noticed': run.regressions },
      })
    },
    TIMEOUT_MS,
  )

  overlapping(
    'finds reads from a replica',
    async () => {
      await using lab = openLab()
      const network = lab.network()
      const store = await startSentinels(network, 0, lab.open)
      const [primary, replica] = store.members
      if (primary === undefined || replica === undefined) throw new Error('there is no replica')
      const defect: Defect = { kind: 'replica_reads', host: replica.host.address, port: 6_379 }
      const folder = join(temporaryFolder(), 'histories')
      const clients = lab.open(
        await startClients(network, { folder, url: store.url, processes: 2, clientsPerProcess: 5, seed: SEED, defect }),
      )
      await clients.resume()
      await systemTime.sleep(1_000)
      network.cut([primary.host], [replica.host])
      await systemTime.sleep(500)
      network.heal()
      await systemTime.sleep(500)
      await clients.end()
      const { violations } = await lab.judge(clients.histories)
      expect(violations.map(({ model }) => model)).toContain('kv')
    },
    TIMEOUT_MS,
  )
})
