/** Starts a Redis Cluster of three primaries and three replicas, each in a namespace of its own. */
import { eventually } from '../kit/index.ts'
import { assembleCluster, makeReplica, type RedisServer } from '../kit/redis-server.ts'
import { key as keyOf } from '../../src/storage/redis/keys.ts'
import { slotOf } from '../../src/storage/redis/slots.ts'
import { partsOf } from './calls.ts'
import { becomesReplica, type Member, type ReplicatedStore } from './failovers.ts'
import type { Network } from './network.ts'
import { startRedisAt } from './one-redis.ts'

const SHARDS = 3
const SLOTS = 16_384
const NODE_TIMEOUT_MS = 2_000
const FAILOVER_WITHIN_MS = 60_000
/** The server gives up a failover after 5 s. */
const REQUEST_EVERY_MS = 6_000

const CONFIG = [
  'cluster-enabled yes',
  'cluster-port 16379',
  `cluster-node-timeout ${NODE_TIMEOUT_MS}`,
  'cluster-replica-validity-factor 0',
  'cluster-require-full-coverage no',
  'repl-ping-replica-period 1',
]
/** The hash tags of the models. */
const TAGS: Readonly<Record<string, string>> = { kv: 'k', lock: 'l', counter: 'c', config: 'a', task: 'a' }

/** Returns the slot of a key as the judge names it: `kv g0/12`. */
export function slotOfKey(name: string): number {
  const [model = '', rest = ''] = name.split(' ')
  return slotOf(keyOf(TAGS[model] ?? '', partsOf(rest)[0], ''))
}

export interface ClusterStore extends ReplicatedStore {
  /** The members that started as primaries. */
  readonly primaries: readonly Member[]
}

export async function startClusterAt(
  network: Network,
  open: (each: RedisServer) => RedisServer,
): Promise<ClusterStore> {
  const members: Member[] = []
  for (let i = 0; i < 2 * SHARDS; i += 1) {
    const host = network.add()
    const server = open(await startRedisAt(network, host, { appendfsync: 'always', config: CONFIG }))
    members.push({ host, server })
  }
  const servers = members.map(({ server }) => server)
  await assembleCluster(servers.slice(0, SHARDS))
  for (let i = 0; i < SHARDS; i += 1) {
    const [replica, primary] = [servers[SHARDS + i], servers[i]]
    if (replica === undefined || primary === undefined) throw new Error('a node is missing')
    await makeReplica(replica, primary, servers.slice(0, SHARDS + i + 1))
    await becomesReplica(replica)
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
      let askedMs = -Infinity
      await eventually(
        'a replica takes over by command',
        async () => {
          if (performance.now() - askedMs > REQUEST_EVERY_MS) {
            askedMs = performance.now()
            await replica?.server.connect().call('CLUSTER', 'FAILOVER')
          }
          return (await primaryOf(members, ofShard(shard))) === replica?.host.address
        },
        { withinMs: FAILOVER_WITHIN_MS },
      )
    },
  }
}

/** The member of a shard that the nodes of the other shards name as its primary; `''` if they differ. */
async function primaryOf(all: readonly Member[], shard: readonly Member[]): Promise<string> {
  const named = await Promise.all(
    all
      .filter((each) => !shard.includes(each))
      .map(async ({ server }) => primaryIn(String(await server.connect().call('CLUSTER', 'NODES')), shard)),
  )
  return named.every((each) => each === named[0]) ? (named[0] ?? '') : ''
}

/** Finds the primary of a shard in a reply of CLUSTER NODES: `ID ADDRESS:PORT@BUS FLAGS …` a line. */
function primaryIn(nodes: string, shard: readonly Member[]): string {
  for (const line of nodes.split('\n')) {
    const [, address = '', flags = ''] = line.split(' ')
    const member = shard.find(({ host }) => address.startsWith(`${host.address}:`))
    const isServing = flags.split(',').includes('master') && !flags.split(',').includes('fail')
    if (member !== undefined && isServing && line.includes('-')) return member.host.address
  }
  return ''
}
