/**
 * A store of Redis without what surrounds its scripts: one connection that all tests share, no group commit, no bus, no
 * check at the start. To open it costs nothing, where RedisBackend opens two connections and checks the server; so most
 * tests of the contract take a millisecond of processor time instead of twenty.
 */
import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import type { Clock } from '../../../src/runtime/index.ts'
import type { Backend, Groups } from '../../../src/storage/index.ts'
import type { Caller, Reply } from '../../../src/storage/redis/caller.ts'
import { checkedGroups } from '../../../src/storage/redis/checked-groups.ts'
import { createAudit } from '../../../src/storage/redis/audit.ts'
import { createConfigs } from '../../../src/storage/redis/configs.ts'
import { createCounters } from '../../../src/storage/redis/counters.ts'
import { createEnrolments } from '../../../src/storage/redis/enrolments.ts'
import { createOperations } from '../../../src/storage/redis/operations.ts'
import { createRollouts } from '../../../src/storage/redis/rollouts.ts'
import { createRollups } from '../../../src/storage/redis/rollups.ts'
import { faultOf, isMissingScript } from '../../../src/storage/redis/errors.ts'
import { PREFIX } from '../../../src/storage/redis/keys.ts'
import { createKv } from '../../../src/storage/redis/kv.ts'
import { createLocks } from '../../../src/storage/redis/locks.ts'
import { createMeta } from '../../../src/storage/redis/meta.ts'
import { createPools } from '../../../src/storage/redis/pools.ts'
import { createRevisions } from '../../../src/storage/redis/revisions.ts'
import type { Script } from '../../../src/storage/redis/script.ts'
import { createStats } from '../../../src/storage/redis/stats.ts'
import { createStreams } from '../../../src/storage/redis/streams.ts'
import { createTasks } from '../../../src/storage/redis/tasks.ts'
import { RedisWorkers } from '../../../src/storage/redis/workers.ts'

let serial = 0

/** Returns a store with a prefix of its own. It has no bus and no events. */
export function directStore(client: Redis, clock: Clock): Backend {
  serial += 1
  const caller = callerOn(client, clock, `direct-${serial}`)
  const meta = createMeta(caller, () => Promise.resolve(), 1)
  const parts: Groups = {
    meta: meta,
    workers: new RedisWorkers(caller, () => meta.live()),
    configs: createConfigs(caller),
    revisions: createRevisions(caller),
    enrolments: createEnrolments(caller),
    rollouts: createRollouts(caller),
    operations: createOperations(caller),
    audit: createAudit(caller),
    rollups: createRollups(caller),
    stats: createStats(caller),
    streams: createStreams(caller, () => 'asked'),
    tasks: createTasks(caller, randomUUID(), clock),
    pools: createPools(caller),
    kv: createKv(caller, clock),
    locks: createLocks(caller, clock),
    counters: createCounters(caller, clock),
  }
  const store: Omit<Backend, 'bus' | 'events'> = {
    capabilities: { durable: true, shared: true, pubsub: true },
    open: () => Promise.resolve(),
    close: () => meta.leave(),
    health: () => ({ ok: true, profile: 'durable', detail: '', sinceMs: 0 }),
    ...checkedGroups(parts, (call) => call()),
  }
  return store as Backend
}

function callerOn(client: Redis, clock: Clock, prefix: string): Caller {
  const startMs = clock.wallMs() - clock.monotonicMs()
  const send = async (command: string, text: string, keys: readonly string[], args: readonly (string | number)[]) =>
    (await client.call(
      command,
      text,
      keys.length,
      ...keys.map((key) => `${prefix}:${key.slice(PREFIX.length)}`),
      Math.floor(startMs + clock.monotonicMs()),
      ...args,
    )) as Reply
  return {
    runId: () => 'run-1',
    channel: (name) => `${prefix}:${name}`,
    publisher: 'direct',
    run: async ({ sha, source }: Script, keys, args) => {
      try {
        return await send('EVALSHA', sha, keys, args)
      } catch (error) {
        if (isMissingScript(error)) return await send('EVAL', source, keys, args)
        const fault = faultOf(error)
        throw fault.kind === 'refused' ? fault.error : error
      }
    },
  }
}
