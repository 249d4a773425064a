/**
 * @module storage/redis/meta
 * The store as a whole, under `{m}`:
 *
 *   info  HASH  epoch, run (the life of the store it was last seen with), schema
 *   live  ZSET  masters by their last beat
 *
 * A life of the store ends with a restart of a server. Where such a restart may have lost something, the next life gets
 * another epoch in the same step that notes it, so that one of several masters does it, once (D15, D46).
 */
import { FleetError } from '../../protocol/index.ts'
import type { Meta } from '../index.ts'
import type { Caller, Reply } from './caller.ts'
import { metaKey } from './keys.ts'
import { script } from './script.ts'

/** Version of the layout of all keys. */
const SCHEMA = 1
/** Three beats. */
const ALIVE_MS = 15_000

const INFO_KEY = metaKey('info')
const LIVE_KEY = metaKey('live')

/** ARGV: run, whether a restart loses nothing (1), an epoch in reserve, our schema. Answers the epoch, or the newer schema. */
const ADMIT = script(
  'meta.admit',
  ['allow-oom'],
  `
local run, keeps, fresh, schema = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local known = redis.call('HMGET', KEYS[1], 'epoch', 'run', 'schema')
local epoch = known[1]
if known[3] and tonumber(known[3]) > schema then return {'schema', known[3]} end
if epoch and known[2] == run then return {'known', epoch} end
if not epoch or keeps ~= '1' then epoch = fresh end
redis.call('HSET', KEYS[1], 'epoch', epoch, 'run', run, 'schema', int(schema))
return {epoch == known[1] and 'known' or 'new', epoch}
`,
)

const INFO = script(
  'meta.info',
  ['no-writes'],
  `
local known = redis.call('HMGET', KEYS[1], 'epoch', 'schema')
return {known[1], known[2], int(now)}
`,
)

const BEAT = script(
  'meta.beat',
  ['allow-oom'],
  `
redis.call('ZADD', KEYS[1], int(now), ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', int(now - ${ALIVE_MS}))
return redis.call('ZRANGE', KEYS[1], 0, -1)
`,
)

const LIVE = script(
  'meta.live',
  ['no-writes'],
  `
return redis.call('ZRANGE', KEYS[1], '(' .. int(now - ${ALIVE_MS}), '+inf', 'BYSCORE')
`,
)

const LEAVE = script(
  'meta.leave',
  ['allow-oom'],
  `
redis.call('ZREM', KEYS[1], unpack(ARGV, 2))
`,
)

export interface StoreMeta extends Meta {
  /** Ids of the masters that live. */
  live(): Promise<readonly string[]>
  /** Takes out the masters that beat through this backend. */
  leave(): Promise<void>
}

/** @param readmit gives a store that was emptied under us an epoch again. */
export function createMeta(caller: Caller, readmit: () => Promise<void>): StoreMeta {
  const ours = new Set<string>()
  const read = async (): Promise<readonly (Reply | undefined)[]> =>
    listOf(await caller.run(INFO, [INFO_KEY], [], { repeatable: true }))
  return {
    async info() {
      let [epoch, schema, nowMs] = await read()
      if (epoch === null) {
        await readmit()
        ;[epoch, schema, nowMs] = await read()
      }
      return { epoch: String(epoch), schema: Number(schema), nowMs: Number(nowMs) }
    },
    async beat(masterId) {
      ours.add(masterId)
      return listOf(await caller.run(BEAT, [LIVE_KEY], [masterId], { repeatable: true })).map(String)
    },
    live: async () => listOf(await caller.run(LIVE, [LIVE_KEY], [], { repeatable: true })).map(String),
    async leave() {
      if (ours.size === 0) return
      await caller.run(LEAVE, [LIVE_KEY], [...ours])
      ours.clear()
    },
  }
}

export interface Admission {
  readonly runId: string
  readonly survivesRestart: boolean
  readonly freshEpoch: string
}

/**
 * Notes the life of the store, before anything else is asked of it.
 * @returns whether the epoch is a new one.
 * @throws {FleetError} STORAGE_SCHEMA when a newer release has written the store.
 */
export async function admitStore(
  run: Caller['run'],
  { runId, survivesRestart, freshEpoch }: Admission,
): Promise<{ readonly epoch: string; readonly isNew: boolean }> {
  const [kind, value] = listOf(await run(ADMIT, [INFO_KEY], [runId, survivesRestart ? 1 : 0, freshEpoch, SCHEMA]))
  if (kind === 'schema')
    throw new FleetError(
      'STORAGE_SCHEMA',
      `the store was written by a newer release (layout ${String(value)}, this one knows ${SCHEMA}); upgrade this program`,
    )
  return { epoch: String(value), isNew: kind === 'new' }
}

const listOf = (reply: Reply): readonly Reply[] => (Array.isArray(reply) ? (reply as readonly Reply[]) : [])
