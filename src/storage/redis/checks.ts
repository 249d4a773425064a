/**
 * @module storage/redis/checks
 * Reads the version and settings of a server, and decides what follows: whether it can be used, which warnings are
 * logged, and what a crash can lose. A setting that the server hides is "unknown", never guessed.
 */
import { createHash } from 'node:crypto'
import type { Caller, Reply } from './caller.ts'
import { isReply, unavailable } from './errors.ts'
import { metaKey } from './keys.ts'
import { script, scripts } from './script.ts'
import type { StoreUrl } from './url.ts'

/** From best to worst. */
const PROFILES = ['durable', 'last-seconds', 'unknown', 'unsafe'] as const
export type Profile = (typeof PROFILES)[number]

const LEAST_MAJOR = 7

export interface Facts {
  readonly version: string
  /** Names one time of the server as a primary: its process, and the promotion that began this time, if any. */
  readonly runId: string
  readonly clusterEnabled: boolean
  readonly replicas: number
  readonly aof: boolean
  readonly appendfsync: string
  readonly policy: string
  /** Bytes; 0: no limit. */
  readonly maxmemory: number
  /** null: hidden. */
  readonly minReplicas: number | null
}

type Command = (name: string, ...args: readonly (string | number)[]) => Promise<Reply>

export async function factsOf(command: Command): Promise<Facts> {
  const [info, config] = await Promise.all([
    command('INFO'),
    command('CONFIG', 'GET', 'appendfsync', 'min-replicas-to-write').catch(hidden),
  ])
  const said = new Map(
    String(info)
      .split('\r\n')
      .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]),
  )
  const settings = pairsOf(config)
  const minReplicas = settings.get('min-replicas-to-write')
  return {
    version: said.get('redis_version') ?? '',
    runId: `${said.get('run_id') ?? ''}${promotionOf(said.get('master_replid2') ?? '')}`,
    clusterEnabled: said.get('cluster_enabled') === '1',
    replicas: Number(said.get('connected_slaves') ?? 0),
    aof: said.get('aof_enabled') === '1',
    appendfsync: settings.get('appendfsync') ?? 'unknown',
    policy: said.get('maxmemory_policy') ?? 'unknown',
    maxmemory: Number(said.get('maxmemory') ?? 0),
    minReplicas: minReplicas === undefined ? null : Number(minReplicas),
  }
}

/**
 * A promotion gives a replica another replication id, and keeps that of its former primary as the second one. Without
 * it, a primary that was demoted and promoted again would look like one that never was a replica, and tokens that its
 * former replicas never received would be issued again.
 */
const promotionOf = (secondId: string): string => (/[1-9a-f]/.test(secondId) ? `:${secondId}` : '')

/** CONFIG is refused, or hidden under another name: the settings stay unknown. */
function hidden(error: unknown): null {
  if (isReply(error)) return null
  throw error
}

function pairsOf(reply: Reply): Map<string, string> {
  const pairs = new Map<string, string>()
  if (Array.isArray(reply))
    for (let i = 0; i + 1 < reply.length; i += 2) pairs.set(String(reply[i]), String(reply[i + 1]))
  return pairs
}

export const isTooOld = ({ version }: Facts): boolean => !(Number.parseInt(version, 10) >= LEAST_MAJOR)

/** The run id of the store: that of its only server, or a digest of the run ids of all servers. */
export function runIdOf(facts: readonly Facts[]): string {
  const ids = facts.map(({ runId }) => runId).toSorted()
  return ids.length === 1 ? (ids[0] ?? '') : createHash('sha1').update(ids.join()).digest('hex')
}

/** Why this server cannot be used; null if it can. */
export function refusalOf(facts: Facts, isClusterUrl: boolean): string | null {
  if (isTooOld(facts))
    return (
      `the server is version ${facts.version || 'unknown'}; ` +
      `Redis ${LEAST_MAJOR}.0 or a compatible server is needed`
    )
  if (facts.clusterEnabled && !isClusterUrl)
    return 'the server is a node of a cluster; use kvstore+cluster://host:port,host:port'
  if (!facts.clusterEnabled && isClusterUrl) return 'the server is not a node of a cluster; use kvstore://host:port'
  return null
}

export function profileOf(nodes: readonly Facts[]): Profile {
  return PROFILES[Math.max(0, ...nodes.map((facts) => PROFILES.indexOf(profileOfOne(facts))))] ?? 'unknown'
}

function profileOfOne({ aof, appendfsync, policy }: Facts): Profile {
  if (!aof || appendfsync === 'no' || (policy !== 'noeviction' && policy !== 'unknown')) return 'unsafe'
  if (appendfsync === 'unknown' || policy === 'unknown') return 'unknown'
  return appendfsync === 'always' ? 'durable' : 'last-seconds'
}

/** Whether a restart of any of them loses nothing (D46). */
export const survivesRestart = (nodes: readonly Facts[]): boolean =>
  nodes.every((facts) => facts.aof && facts.appendfsync === 'always')

/** Warnings for the operator of the store, one sentence each. */
export function warningsOf(nodes: readonly Facts[]): string[] {
  return [...new Set(nodes.flatMap(warningsOfOne))]
}

function warningsOfOne({ policy, maxmemory, aof, appendfsync, replicas, minReplicas }: Facts): string[] {
  const warnings: (string | false)[] = [
    policy !== 'noeviction' &&
      `maxmemory-policy is ${policy}: the store may evict data that was confirmed; set noeviction`,
    maxmemory === 0 &&
      'no maxmemory is set: the system kills a full store instead of it rejecting calls; set maxmemory',
    !aof &&
      'the append-only file is off: ' +
        'a restart of the store loses everything since its last snapshot; set appendonly yes',
    aof && appendfsync === 'unknown' && 'CONFIG is denied: it is unknown what a power loss can lose',
    aof &&
      appendfsync !== 'always' &&
      appendfsync !== 'unknown' &&
      `appendfsync is ${appendfsync}: ` +
        `${appendfsync === 'no' ? 'everything since the last flush of the system' : 'the last second or two'} ` +
        'may be lost on power loss; set appendfsync always',
    replicas > 0 &&
      minReplicas === 0 &&
      'there are replicas and min-replicas-to-write is 0: ' +
        'a primary that was cut off keeps accepting changes, which a failover discards; set min-replicas-to-write 1',
  ]
  return warnings.filter((each) => each !== false)
}

// ── Rights ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Arguments of a harmless call of each command that the scripts use, without the key. A wrong type does not matter: the
 * server checks rights first.
 */
const SAMPLES: Readonly<Record<string, readonly string[]>> = {
  BITFIELD: ['GET', 'u1', '0'],
  DEL: [],
  EXISTS: [],
  GETBIT: ['0'],
  HDEL: ['f'],
  HEXISTS: ['f'],
  HGET: ['f'],
  HGETALL: [],
  HINCRBY: ['f', '1'],
  HKEYS: [],
  HLEN: [],
  HMGET: ['f'],
  HSET: ['f', 'v'],
  HSETNX: ['f', 'v'],
  HSCAN: ['0'],
  HSTRLEN: ['f'],
  LINDEX: ['0'],
  LLEN: [],
  LPOP: [],
  LPUSH: ['v'],
  LRANGE: ['0', '0'],
  LSET: ['0', 'v'],
  LTRIM: ['0', '0'],
  RENAME: [],
  RPOP: [],
  RPUSH: ['v'],
  SADD: ['v'],
  SETBIT: ['0', '0'],
  SMISMEMBER: ['v'],
  SREM: ['v'],
  UNLINK: [],
  ZADD: ['1', 'v'],
  ZCARD: [],
  ZCOUNT: ['0', '1'],
  ZINCRBY: ['1', 'v'],
  ZLEXCOUNT: ['-', '+'],
  ZMSCORE: ['v'],
  ZPOPMAX: [],
  ZPOPMIN: [],
  ZRANGE: ['0', '0'],
  ZRANGEBYLEX: ['-', '+', 'LIMIT', '0', '1'],
  ZRANGEBYSCORE: ['0', '1'],
  ZRANK: ['v'],
  ZREM: ['v'],
  ZREMRANGEBYRANK: ['0', '0'],
  ZREMRANGEBYSCORE: ['0', '1'],
  ZREVRANGE: ['0', '0'],
  ZREVRANGEBYSCORE: ['1', '0'],
  ZSCORE: ['v'],
}
/** Those without a key. */
const KEYLESS = new Set(['INFO', 'PUBLISH', 'SPUBLISH', 'TIME', 'PUBSUB'])

const USES = /\b(?:p?call|read|write)\(\s*'(?<command>[A-Z_]+)'/g

/** Every command that some script calls. */
export function commandsInUse(): string[] {
  return [
    ...new Set(
      scripts().flatMap(({ source }) => [...source.matchAll(USES)].map(({ groups }) => groups?.['command'] ?? '')),
    ),
  ].toSorted()
}

/** Those that have no sample; a test holds it empty. */
export const commandsWithoutSample = (): string[] =>
  commandsInUse().filter((name) => SAMPLES[name] === undefined && !KEYLESS.has(name))

const RIGHTS = script('rights')

/** The arguments of {@link RIGHTS}. */
function rightsArguments(channel: string, isCluster: boolean): string[] {
  return [
    channel,
    isCluster ? '1' : '0',
    ...commandsInUse().flatMap((name) => {
      const sample = SAMPLES[name]
      return sample === undefined ? [] : [name, `${sample.length}`, ...sample]
    }),
  ]
}

/** @throws {FleetError} STORAGE_UNAVAILABLE if the user of the store may not call a command that the scripts use. */
export async function checkRights(run: Caller['run'], channel: string, { form, prefix }: StoreUrl): Promise<void> {
  const denied = await run(RIGHTS, [metaKey('probe')], rightsArguments(channel, form === 'cluster'))
  if (!Array.isArray(denied) || denied.length === 0) return
  throw unavailable(
    `the store's user may not call ${denied.join(', ')} on keys and channels of ${prefix}:*; grant it these rights`,
    'not_sent',
  )
}
