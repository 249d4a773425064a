/** Shared by the Redis Cluster tests: masters, the owner of a slot, and moving a slot. */
import type { Redis } from 'ioredis'
import { seededRandom, systemTime } from '../../../src/runtime/index.ts'
import { parseStoreUrl, RedisBackend, type RedisBackendOptions } from '../../../src/storage/redis/index.ts'
import type { RedisCluster, RedisServer } from '../../kit/redis-server.ts'

let seed = 0

/** Opens a backend on the cluster and writes its heartbeat. `open` collects what to close. */
export async function masterAt(
  { nodes }: RedisCluster,
  id: string,
  open: { close(): unknown }[],
  more: Partial<RedisBackendOptions> = {},
): Promise<RedisBackend> {
  seed += 1
  const url = parseStoreUrl(`kvstore+cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`)
  const backend = new RedisBackend({ url, time: systemTime, random: seededRandom(seed), ...more })
  open.push(backend)
  await backend.open(AbortSignal.timeout(20_000))
  await backend.meta.beat(id)
  return backend
}

/** Returns the node that serves a slot, as long as no slot was moved. */
export function ownerOf({ nodes }: RedisCluster, slot: number): RedisServer {
  const node = nodes[Math.floor(slot / Math.ceil(16_384 / nodes.length))]
  if (node === undefined) throw new Error(`no node serves slot ${slot}`)
  return node
}

/** Moves a slot with its keys, as `redis-cli --cluster reshard` does. */
export async function migrateSlot(
  slot: number,
  from: RedisServer,
  to: RedisServer,
  all: readonly RedisServer[],
): Promise<void> {
  const [source, target] = [from.connect(), to.connect()]
  const idOf = async (client: Redis): Promise<string> => String(await client.call('CLUSTER', 'MYID'))
  const [sourceId, targetId] = [await idOf(source), await idOf(target)]
  await target.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', sourceId)
  await source.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', targetId)
  await systemTime.sleep(100) // Lets the load use the slot during its migration.
  const some = async (): Promise<string[]> => (await source.call('CLUSTER', 'GETKEYSINSLOT', slot, 3)) as string[]
  for (let keys = await some(); keys.length > 0; keys = await some()) {
    await source.call('MIGRATE', to.host, to.port, '', 0, 2_000, 'KEYS', ...keys)
    await systemTime.sleep(5)
  }
  for (const node of [to, from, ...all]) await node.connect().call('CLUSTER', 'SETSLOT', slot, 'NODE', targetId)
}
