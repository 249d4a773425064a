/**
 * Checks a Redis Cluster of three primaries with replicas: between failovers all calls are linearizable, and after one
 * each shard has the state of a prefix of its history. A slot that moves loses nothing. The loss is printed. SOAK=1
 * makes each kind of failover three times, with min-replicas-to-write 0 and 1.
 */
import { expect } from '@jest/globals'
import { migrateSlot } from '../storage/redis/cluster-fixture.ts'
import type { ClientProcesses } from './client-processes.ts'
import { slotOfKey, startClusterAt, type ClusterStore } from './cluster.ts'
import { expectPrefixes, runFailovers } from './failover-run.ts'
import { FAILOVERS, type FailoverKind } from './failovers.ts'
import { overlapping } from '../kit/overlapping.ts'
import { describeLab, IS_SOAK, TIMEOUT_MS } from './lab.ts'

const KINDS: readonly FailoverKind[] = IS_SOAK ? Array.from({ length: 3 }, () => FAILOVERS).flat() : ['part', 'kill']
const MIN_REPLICAS = IS_SOAK ? [0, 1] : [0]
/** Slots of keys of each model. */
const MOVED = ['kv g0/', 'lock g1/', 'counter g2/', 'config g3/']

/** Moves slots to another primary and back, while clients use them. */
async function moveSlots({ primaries, shardOf }: ClusterStore): Promise<void> {
  const servers = primaries.map(({ server }) => server)
  for (const key of MOVED) {
    const [from, to] = [servers[shardOf(key)], servers[(shardOf(key) + 1) % servers.length]]
    if (from === undefined || to === undefined) throw new Error('a primary is missing')
    await migrateSlot(slotOfKey(key), from, to, servers)
    await migrateSlot(slotOfKey(key), to, from, servers)
  }
}

const epochOf = async ({ observer }: ClientProcesses): Promise<string> =>
  (await observer.ask({ kind: 'store' }, 'store')).epoch

describeLab('a Redis Cluster with replicas', (openLab) => {
  overlapping.each(MIN_REPLICAS)(
    'moves slots without a loss, and loses only the newest changes in a failover, min-replicas-to-write %d (G5)',
    async (minReplicas) => {
      await using lab = openLab()
      const network = lab.network()
      const store = await startClusterAt(network, minReplicas, lab.open)
      const epochs: string[] = []
      const run = await runFailovers({
        lab,
        network,
        store,
        kinds: KINDS,
        before: async (clients) => {
          epochs.push(await epochOf(clients))
          await moveSlots(store)
        },
        after: async (clients) => void epochs.push(await epochOf(clients)),
      })
      expectPrefixes(run, {
        file: 'cluster',
        store: `a Cluster, min-replicas-to-write ${minReplicas}`,
        mustHappen: { 'slot moved under load': 2 * MOVED.length },
      })
      expect(new Set(epochs).size).toBe(1) // Under appendfsync always.
    },
    TIMEOUT_MS,
  )
})
