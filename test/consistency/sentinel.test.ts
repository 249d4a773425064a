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

const KINDS: readonly FailoverKind[] = IS_SOAK ? Array.from({ length: 4 }, () => FAILOVERS).flat() : ['part', 'kill']
const MIN_REPLICAS = IS_SOAK ? [0, 1] : [0]

describeLab('a primary with replicas and sentinels', (openLab) => {
  overlapping.each(MIN_REPLICAS)(
    'loses only the newest changes in a failover, with min-replicas-to-write %d (G5, G26)',
    async (minReplicas) => {
      await using lab = openLab()
      const network = lab.network()
      const store = await startSentinels(network, minReplicas, lab.open)
      const run = await runFailovers({ lab, network, store, kinds: KINDS })
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
