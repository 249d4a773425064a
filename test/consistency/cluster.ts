/** Starts a Redis Cluster of three primaries with replicas, each in a namespace of its own. */
import { assembleCluster, makeReplica, type RedisOptions, type RedisServer } from '../kit/redis-server.ts'
import { key as keyOf } from '../../src/storage/redis/keys.ts'
import { slotOf } from '../../src/storage/redis/slots.ts'
import { partsOf } from './calls.ts'
import type { Member, ReplicatedStore } from './failovers.ts'
import type { Network } from './network.ts'
import { startRedisAt } from './one-redis.ts'

const SHARDS = 3
const SLOTS = 16_384
const NODE_TIMEOUT_MS = 2_000
const MAX_LAG_SECONDS = 2

const configWith = (minReplicas: number): readonly string[] => [
  `min-replicas-to-write ${minReplicas}`,
  `min-replicas-max-lag ${MAX_LAG_SECONDS}`,
  'cluster-enabled yes',
  'cluster-port 16379',
  `cluster-node-timeout ${NODE_TIMEOUT_MS}`,
  'cluster-replica-validity-factor 0',
  'cluster-require-full-coverage no',
  'cluster-migration-barrier 9', // Replicas stay with their shard.
  'repl-ping-replica-period 1',
]
/** The hash tags of the models. */
const TAGS: Readonly<Record<string, string>> = { kv: 'k', lock: 'l', counter: 'c', config: 'a', task: 'a', unique: 'a' }

/** Returns the slot of a key as the judge names it: `kv g0/12`. */
export function slotOfKey(name: string): number {
  const [model = '', rest = ''] = name.split(' ')
  return slotOf(keyOf(TAGS[model] ?? '', partsOf(rest)[0], ''))
}

export interface ClusterStore extends ReplicatedStore {
  /** The members that started as primaries. */
  readonly primaries: readonly Member[]
}

/**
 * @param minReplicas `min-replicas-to-write`. Each primary has one replica more, so that a new primary takes changes
 *   before the old one has returned.
 */
export async function startClusterAt(
  network: Network,
  minReplicas: number,
  open: (each: RedisServer) => RedisServer,
): Promise<ClusterStore> {
  const options: RedisOptions = { appendfsync: 'always', config: configWith(minReplicas) }
  const members: Member[] = []
  for (let i = 0; i < SHARDS * (2 + minReplicas); i += 1) {
    const host = network.add()
    members.push({ host, server: open(await startRedisAt(network, host, options)) })
  }
  const servers = members.map(({ server }) => server)
  const primaries = servers.slice(0, SHARDS)
  await assembleCluster(primaries)
  for (const [i, replica] of servers.slice(SHARDS).entries()) {
    const primary = primaries[i % SHARDS]
    if (primary === undefined) throw new Error('a primary is missing')
    await makeReplica(replica, primary, servers.slice(0, SHARDS + i + 1))
  }
  const ofShard = (shard: number): readonly Member[] => members.filter((_, i) => i % SHARDS === shard)
  return {
    url: `kvstore+cluster://${members.map(({ host }) => `${host.address}:6379`).join(',')}`,
    members,
    primaries: members.slice(0, SHARDS),
    shards: Array.from({ length: SHARDS }, (_, i) => ofShard(i).map(({ host }) => host.address)),
    shardOf: (key) => Math.floor(slotOfKey(key) / Math.ceil(SLOTS / SHARDS)),
    primaryOf: (shard) => primaryOf(members, ofShard(shard)),
    requestFailover: async (shard) => {
      const before = await primaryOf(members, ofShard(shard))
      const replica = ofShard(shard).find(({ host }) => host.address !== before)
      await replica?.server.client.call('CLUSTER', 'FAILOVER')
    },
  }
}

/** The member of a shard that the nodes of the other shards name as its primary; `''` if they differ. */
async function primaryOf(all: readonly Member[], shard: readonly Member[]): Promise<string> {
  const addresses = shard.map(({ host }) => host.address)
  const named = await Promise.all(
    all
      .filter((each) => !shard.includes(each))
      .map(async ({ server }) => primaryIn(String(await server.client.call('CLUSTER', 'NODES')), addresses)),
  )
  return named.every((each) => each === named[0]) ? (named[0] ?? '') : ''
}

/**
 * Finds the primary of a shard in a reply of CLUSTER NODES, which has a line for each node: `ID ADDRESS:PORT@BUS FLAGS
 * PRIMARY PING PONG EPOCH LINK SLOTS…`. An old primary that returns is shown as a primary without slots, until it is a
 * replica.
 *
 * @param shard The addresses of its members.
 */
export function primaryIn(nodes: string, shard: readonly string[]): string {
  for (const line of nodes.split('\n')) {
    const [, address = '', flags = '', , , , , , ...slots] = line.split(' ')
    const member = shard.find((each) => address.startsWith(`${each}:`))
    const isServing = flags.split(',').includes('master') && !flags.split(',').includes('fail')
    // A slot that moves is `[93-<-ID]`.
    if (member !== undefined && isServing && slots.some((each) => /^\d/.test(each))) return member
  }
  return ''
}
