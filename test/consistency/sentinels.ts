/** Starts one primary, two replicas and three sentinels, a server and a sentinel in each of three namespaces. */
import type { RedisOptions, RedisServer } from '../kit/redis-server.ts'
import { eventually } from '../kit/index.ts'
import type { Host, Network } from './network.ts'
import { startRedisAt } from './one-redis.ts'
import { becomesReplica, type ReplicatedStore } from './failovers.ts'

const NAME = 'fleet'
const QUORUM = 2
const SERVERS = 3
const DOWN_AFTER_MS = 1_000
const FAILOVER_TIMEOUT_MS = 5_000
const MAX_LAG_SECONDS = 2

/** @param minReplicas `min-replicas-to-write`: with 1, a primary without a replica takes no changes after 2 s. */
export async function startSentinels(
  network: Network,
  minReplicas: number,
  open: (each: RedisServer) => RedisServer,
): Promise<ReplicatedStore> {
  const hosts = Array.from({ length: SERVERS }, () => network.add())
  const [first] = hosts
  if (first === undefined) throw new Error('there are no hosts')
  const servers: RedisServer[] = []
  for (const host of hosts) {
    const config = [
      `min-replicas-to-write ${minReplicas}`,
      `min-replicas-max-lag ${MAX_LAG_SECONDS}`,
      'repl-ping-replica-period 1',
      ...(host === first ? [] : [`replicaof ${first.address} 6379`]),
    ]
    const options: RedisOptions = { appendfsync: 'always', config }
    servers.push(open(await startRedisAt(network, host, options)))
  }
  await Promise.all(servers.slice(1).map(becomesReplica))
  const sentinels: RedisServer[] = []
  for (const host of hosts)
    sentinels.push(open(await startRedisAt(network, host, sentinelOptions(first), { role: 'sentinel' })))
  await Promise.all(sentinels.map(knowsAll))
  const addressOf = async (sentinel: RedisServer): Promise<string> => {
    const address = (await sentinel.client.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME)) as readonly string[]
    return address[0] ?? ''
  }
  return {
    url: `kvstore+sentinel://${hosts.map(({ address }) => `${address}:26379`).join(',')}/${NAME}`,
    members: hosts.map((host, i) => ({ host, server: servers[i] as RedisServer })),
    shards: [hosts.map((host) => host.address)],
    shardOf: () => 0,
    /** The primary that most sentinels name. */
    primaryOf: async () => {
      const named = await Promise.all(sentinels.map(addressOf))
      const counts = new Map<string, number>()
      for (const address of named) counts.set(address, (counts.get(address) ?? 0) + 1)
      return [...counts].find(([, count]) => count >= QUORUM)?.[0] ?? ''
    },
    requestFailover: async () => {
      await eventually(
        'a sentinel starts a failover',
        async () => (await sentinels[1]?.client.call('SENTINEL', 'FAILOVER', NAME).catch(() => null)) === 'OK',
      )
    },
  }
}

const sentinelOptions = ({ address }: Host): RedisOptions => ({
  config: [
    `sentinel monitor ${NAME} ${address} 6379 ${QUORUM}`,
    `sentinel down-after-milliseconds ${NAME} ${DOWN_AFTER_MS}`,
    `sentinel failover-timeout ${NAME} ${FAILOVER_TIMEOUT_MS}`,
  ],
})

/** Resolves when a sentinel knows both replicas and the two other sentinels. */
async function knowsAll(sentinel: RedisServer): Promise<void> {
  const { client } = sentinel
  await eventually('the sentinel knows all servers', async () => {
    const [replicas, others] = await Promise.all([
      client.call('SENTINEL', 'REPLICAS', NAME) as Promise<readonly unknown[]>,
      client.call('SENTINEL', 'SENTINELS', NAME) as Promise<readonly unknown[]>,
    ])
    return replicas.length === SERVERS - 1 && others.length === SERVERS - 1
  })
}
