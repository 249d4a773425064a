import { afterEach, describe, expect, it } from '@jest/globals'
import { startCluster, startRedis, startSentinel, withRedisServer } from '../../kit/redis-server.ts'

const open: { close(): Promise<void> }[] = []
const opened = <T extends { close(): Promise<void> }>(each: T): T => {
  open.push(each)
  return each
}
afterEach(async () => {
  for (const each of open.splice(0)) await each.close()
})

withRedisServer('servers for tests', () => {
  describe('servers for tests', () => {
    it('keep fsynced data after a kill, on the same port', async () => {
      const server = opened(await startRedis({ appendfsync: 'always', password: 'it\'s "x"' }))
      const client = server.connect()
      await client.set('a', '1')
      await server.kill()
      await server.start()
      expect(await server.connect().get('a')).toBe('1')
    })

    it('start a cluster of three nodes that serves every slot', async () => {
      const { nodes } = opened(await startCluster())
      expect(nodes).toHaveLength(3)
      expect(await nodes[0]?.connect().call('CLUSTER', 'INFO')).toContain('cluster_slots_ok:16384')
    }, 60_000)

    it('fail over to the replica on request', async () => {
      const { nodes, failover } = opened(await startSentinel())
      await failover()
      expect(await nodes[1]?.connect().call('ROLE')).toContain('master')
    }, 60_000)
  })
})
