/** Tests a Redis Cluster with an unreachable node, and one that gains a node. */
import { afterEach, describe, expect, it } from '@jest/globals'
import { key } from '../../../src/storage/redis/keys.ts'
import { slotOf } from '../../../src/storage/redis/slots.ts'
import { masterAt, migrateSlot, ownerOf } from './cluster-fixture.ts'
import { startCluster, withRedisServer, type RedisCluster } from '../../kit/redis-server.ts'
import { eventually } from '../../kit/index.ts'

const open: { close(): unknown }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close()
})

async function clusterWith(...config: string[]): Promise<RedisCluster> {
  const cluster = await startCluster({ appendfsync: 'everysec', config })
  open.push(cluster)
  return cluster
}

withRedisServer('redis cluster, its nodes', () => {
  describe('redis cluster, its nodes', () => {
    it('stays ready while one of three nodes is down, and rejects only the calls for that node (G18)', async () => {
      const cluster = await clusterWith('cluster-require-full-coverage no')
      const backend = await masterAt(cluster, 'm1', open)
      const meta = ownerOf(cluster, slotOf('{m}'))
      const down = cluster.nodes.find((node) => node !== meta) ?? meta
      const types = Array.from({ length: 30 }, (_, n) => `type${n}`)
      const lost = types.find((type) => ownerOf(cluster, slotOf(key('a', type, ''))) === down) ?? ''
      const kept = types.find((type) => ownerOf(cluster, slotOf(key('a', type, ''))) !== down) ?? ''
      await down.kill()
      const failure = await backend.tasks.counts([lost]).then(
        () => null,
        (error: unknown) => error,
      )
      expect(failure).toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
      expect(backend.health().ok).toBe(true)
      expect(await backend.tasks.counts([kept])).toHaveLength(1)
      await down.start()
      await eventually(() =>
        backend.tasks.counts([lost]).then(
          () => true,
          () => false,
        ),
      )
      await meta.kill()
      await eventually(() => !backend.health().ok)
    }, 60_000)

    it('keeps the epoch when a node is added, and changes it when a node was restarted (D46)', async () => {
      const cluster = await clusterWith()
      const backend = await masterAt(cluster, 'm1', open)
      const { epoch } = await backend.meta.info()
      await backend.events.append([{ name: 'queue.totals', scope: '*', data: '{}' }])
      const before = backend.events.newest()
      const added = await cluster.addPrimary()
      const slot = slotOf(key('a', 'type0', ''))
      await migrateSlot(slot, ownerOf(cluster, slot), added, [...cluster.nodes, added])
      await backend.tasks.counts(['type0']) // The client learns the address of the new node.
      await backend.events.append([{ name: 'queue.totals', scope: '*', data: '{}' }])
      expect((await backend.meta.info()).epoch).toBe(epoch)
      expect(await backend.events.read(before, 10)).toMatchObject({ kind: 'events', events: [expect.anything()] })
      const second = await masterAt(cluster, 'm2', open)
      expect((await second.meta.info()).epoch).toBe(epoch)
      await added.restart()
      await eventually(async () => (await backend.meta.info()).epoch !== epoch)
    }, 60_000)
  })
})
