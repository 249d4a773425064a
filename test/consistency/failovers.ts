/** Makes failovers of a replicated store under load, and reads what the new primary has. */
import { systemTime } from '../../src/runtime/index.ts'
import { eventually } from '../kit/index.ts'
import type { RedisServer } from '../kit/redis-server.ts'
import type { ClientProcess, ClientProcesses } from './client-processes.ts'
import type { Host, Network } from './network.ts'

const FAILOVER_WITHIN_MS = 60_000
/** Clients beside a primary that was cut off call it for so long after another one was elected. */
const SPLIT_MS = 1_000

export interface Member {
  readonly host: Host
  readonly server: RedisServer
}

/** A store with replicas. A shard is a primary and its replicas. */
export interface ReplicatedStore {
  readonly url: string
  readonly members: readonly Member[]
  /** The addresses of the members of each shard. */
  readonly shards: readonly (readonly string[])[]
  /** @param key As the judge names it: `kv g0/12`. */
  readonly shardOf: (key: string) => number
  /** Returns the address of the primary of a shard, `''` while there is none. */
  readonly primaryOf: (shard: number) => Promise<string>
  /** Starts a failover by command. */
  readonly requestFailover: (shard: number) => Promise<void>
}

/** `part`: the primary and one process of clients are cut off from all others. `late_kill`: its replicas lag first. */
export const FAILOVERS = ['part', 'kill', 'late_kill', 'freeze', 'command'] as const
export type FailoverKind = (typeof FAILOVERS)[number]

export interface Failover {
  readonly kind: FailoverKind
  readonly shard: number
  /** From the fault until the observer is served by the new primary. */
  readonly servedAfterMs: number
  /** When all keys had been read. */
  readonly endNs: number
}

interface Deps {
  readonly network: Network
  readonly store: ReplicatedStore
  readonly clients: ClientProcesses
}

/** Resolves when a server is a replica in sync. */
export async function becomesReplica(server: RedisServer): Promise<void> {
  const { client } = server
  const isInSync = async (): Promise<boolean> => {
    const info = await client.info('replication').catch(() => '')
    return info.includes('role:slave') && info.includes('master_link_status:up')
  }
  await eventually('a server is a replica in sync', isInSync, { withinMs: FAILOVER_WITHIN_MS })
}

/**
 * Makes one failover. Clients call the store up to the fault; those that are cut off with the primary call it until the
 * network heals. When the old primary is a replica again, every key is read, and all clients are held.
 */
export async function makeFailover(
  { network, store, clients }: Deps,
  kind: FailoverKind,
  shard = 0,
): Promise<Failover> {
  const before = await store.primaryOf(shard)
  const primary = store.members.find(({ host }) => host.address === before)
  if (primary === undefined) throw new Error('the store has no primary')
  const isolated = kind === 'part' ? clients.all.slice(-1) : []
  const startedMs = performance.now()
  const hold = (): Promise<unknown> =>
    Promise.all(
      clients.all.filter((each) => !isolated.includes(each)).map((each) => each.ask({ kind: 'hold' }, 'held')),
    )
  // A busy machine may take seconds to cut a network. No other client may reach the new primary meanwhile.
  const heldBefore = kind === 'part' ? hold() : null
  await begin({ network, store, clients }, { kind, shard, primary, isolated })
  const held = heldBefore ?? hold()
  let elected = ''
  const isElected = async (): Promise<boolean> => {
    elected = await store.primaryOf(shard)
    return elected !== '' && elected !== before
  }
  await eventually('another primary is elected', isElected, { withinMs: FAILOVER_WITHIN_MS })
  await clients.observer.ask({ kind: 'probe' }, 'served')
  const servedAfterMs = performance.now() - startedMs
  if (isolated.length > 0) await systemTime.sleep(SPLIT_MS)
  await Promise.all([held, ...isolated.map((each) => each.ask({ kind: 'hold' }, 'held'))])
  network.heal()
  if (kind === 'kill' || kind === 'late_kill') await primary.server.start()
  if (kind === 'freeze') primary.server.resume()
  const ofShard = store.members.filter(({ host }) => store.shards[shard]?.includes(host.address))
  await Promise.all(ofShard.filter(({ host }) => host.address !== elected).map(({ server }) => becomesReplica(server)))
  await Promise.all(clients.all.map((each) => each.ask({ kind: 'probe' }, 'served')))
  await clients.recover()
  return { kind, shard, servedAfterMs, endNs: Number(process.hrtime.bigint()) }
}

interface Fault {
  readonly kind: FailoverKind
  readonly shard: number
  readonly primary: Member
  readonly isolated: readonly ClientProcess[]
}

async function begin({ network, store, clients }: Deps, { kind, shard, primary, isolated }: Fault): Promise<void> {
  const others = store.members.filter((each) => each !== primary).map(({ host }) => host)
  const reachable = clients.all.filter((each) => !isolated.includes(each)).map(({ host }) => host)
  switch (kind) {
    case 'part':
      return network.part([primary.host, ...isolated.map(({ host }) => host)], [...others, ...reachable])
    case 'kill':
      return primary.server.kill()
    case 'late_kill':
      network.cut([primary.host], others)
      await systemTime.sleep(300)
      return primary.server.kill()
    case 'freeze':
      return primary.server.pause()
    case 'command':
      return store.requestFailover(shard)
  }
}
