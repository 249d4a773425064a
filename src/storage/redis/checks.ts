/**
 * @module storage/redis/checks
 * What a server says of itself, and what that means: whether it may be used at all, what its operator should be told,
 * and how much survives what. A setting that the server hides is "unknown", never guessed.
 */
import type { Reply } from './caller.ts'
import { isReply } from './errors.ts'
import { script, scripts } from './script.ts'

/** From best to worst. */
const PROFILES = ['durable', 'last-seconds', 'unknown', 'unsafe'] as const
export type Profile = (typeof PROFILES)[number]

const LEAST_MAJOR = 7

export interface Facts {
  readonly version: string
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
    runId: said.get('run_id') ?? '',
    clusterEnabled: said.get('cluster_enabled') === '1',
    replicas: Number(said.get('connected_slaves') ?? 0),
    aof: said.get('aof_enabled') === '1',
    appendfsync: settings.get('appendfsync') ?? 'unknown',
    policy: said.get('maxmemory_policy') ?? 'unknown',
    maxmemory: Number(said.get('maxmemory') ?? 0),
    minReplicas: minReplicas === undefined ? null : Number(minReplicas),
  }
}

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

/** Why this server cannot be used; null: it can. */
export function refusalOf(facts: Facts, isClusterUrl: boolean): string | null {
  if (isTooOld(facts))
    return `the server is version ${facts.version || 'unknown'}; Redis ${LEAST_MAJOR}.0 or a compatible server is needed`
  if (facts.clusterEnabled && !isClusterUrl)
    return 'the server is a node of a cluster; use kvstore+cluster://host:port,host:port'
  if (!facts.clusterEnabled && isClusterUrl) return 'the server is no node of a cluster; use kvstore://host:port'
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

/** What the operator of the store should know, one sentence each. */
export function warningsOf(nodes: readonly Facts[]): string[] {
  return [...new Set(nodes.flatMap(warningsOfOne))]
}

function warningsOfOne({ policy, maxmemory, aof, appendfsync, replicas, minReplicas }: Facts): string[] {
  const warnings: (string | false)[] = [
    policy !== 'noeviction' &&
      `maxmemory-policy is ${policy}: the store may drop what it promised to keep; set noeviction`,
    maxmemory === 0 &&
      'no maxmemory is set: a full store is ended by the system instead of refusing calls; set maxmemory',
    !aof &&
      'the append-only file is off: a restart of the store loses what its last snapshot lacks; set appendonly yes',
    aof && appendfsync === 'unknown' && 'CONFIG is refused: what a power loss takes is unknown',
    aof &&
      appendfsync !== 'always' &&
      appendfsync !== 'unknown' &&
      `appendfsync is ${appendfsync}: ${appendfsync === 'no' ? 'everything since the last flush of the system' : 'the last second or two'} may be lost on power loss; set appendfsync always`,
    replicas > 0 &&
      minReplicas === 0 &&
      'there are replicas and min-replicas-to-write is 0: a primary that was cut off goes on accepting changes that a failover throws away',
  ]
  return warnings.filter((each) => each !== false)
}

// ── Rights ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** One harmless call of each command that our scripts use, behind the key. A wrong type is no fault: rights are looked at first. */
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
const KEYLESS = new Set(['PUBLISH', 'TIME', 'PUBSUB'])

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

/** Tries each command on a key of its own; answers the names of those that the user of the store may not call. */
export const RIGHTS = script(
  'rights',
  [],
  `
local denied = {}
local function try(name, ...)
  local reply = redis.pcall(name, ...)
  if type(reply) == 'table' and reply.err and (reply.err:find('NOPERM', 1, true) or reply.err:find("executing the script can't", 1, true)) then denied[#denied + 1] = name end
end
try('PUBLISH', ARGV[2], '')
try('PUBSUB', 'NUMPAT')
if denied[#denied] ~= 'PUBSUB' then try('PUBSUB', 'NUMSUB', ARGV[2]) end
local i = 3
while i <= #ARGV do
  local name, count = ARGV[i], tonumber(ARGV[i + 1])
  try(name, KEYS[1], unpack(ARGV, i + 2, i + 1 + count))
  i = i + 2 + count
end
redis.pcall('UNLINK', KEYS[1])
return denied
`,
)

/** The arguments of {@link RIGHTS}. */
export function rightsArguments(channel: string): string[] {
  return [
    channel,
    ...commandsInUse().flatMap((name) => {
      const sample = SAMPLES[name]
      return sample === undefined ? [] : [name, `${sample.length}`, ...sample]
    }),
  ]
}
