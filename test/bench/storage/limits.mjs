/**
 * Measures the limits of the machine with the same bytes: commands without decisions, sent by the same client. A share
 * of 1 would mean that the logic of a queue costs nothing.
 */
import { randomUUID } from 'node:crypto'
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { inFlight, perSecond } from '../load.mjs'
import { redisCosts, startRedis } from '../stores.mjs'
import { PAYLOAD, timed } from './life.mjs'

const PIPELINE = 64
const BATCH = 100
const UNDER_WAY = 4
const BODY = JSON.stringify({ payload: PAYLOAD, priority: 0, submitted_at: 1_700_000_000 })
const TICKET = '1700000000000|250||1|||0|0|0:'
const LEASE = '1234567890123456:5:3:w-1'

/** Runs `measure(client, costs)` on a fresh Redis. */
async function withRedis(bench, measure) {
  const redis = await startRedis(bench.directory)
  const client = new Redis({ host: '127.0.0.1', port: redis.port })
  try {
    await client.ping()
    return await measure({ client, costs: () => redisCosts(redis.port) })
  } finally {
    client.disconnect()
    await redis.stop()
  }
}

/** Pipelines of 64 commands, 4 of them in flight. */
async function pipelined(client, items, commandsPerItem, fill) {
  const each = PIPELINE / commandsPerItem
  await inFlight(Math.ceil(items / each), UNDER_WAY, async () => {
    const pipeline = client.pipeline()
    for (let i = 0; i < each; i += 1) fill(pipeline)
    await pipeline.exec()
  })
}

/** Stores a task as a field and a list entry. */
export const hsetAndRpush = (bench) =>
  bench.once('limit: HSET + RPUSH', () =>
    withRedis(bench, ({ client, costs }) => {
      const items = bench.count(60_000)
      return timed({ costs }, items, () =>
        pipelined(client, items, 2, (pipeline) => {
          const id = randomUUID()
          pipeline.hset('t', id, BODY).rpush('p', TICKET + id)
        }),
      )
    }),
  )

export const rpush = (bench, entry) =>
  withRedis(bench, ({ client, costs }) => {
    const items = bench.count(60_000)
    return timed({ costs }, items, () => pipelined(client, items, 1, (pipeline) => pipeline.rpush('l', entry)))
  })

export const lpop = (bench, entry) =>
  withRedis(bench, async ({ client, costs }) => {
    const items = bench.count(160_000)
    await pipelined(client, items, 1, (pipeline) => pipeline.rpush('l', entry))
    return timed({ costs }, items, () => inFlight(items / BATCH, UNDER_WAY, () => client.lpop('l', BATCH)))
  })

/** One EVALSHA per item, 100 in flight, as libraries send them that make one call per task. */
export const emptyEvalsha = (bench) =>
  withRedis(bench, async ({ client, costs }) => {
    const sha = await client.script('LOAD', '#!lua\nreturn 0')
    const items = bench.count(60_000)
    const figures = await timed({ costs }, items, () => inFlight(items, BATCH, () => client.evalsha(sha, 0)))
    return { ...figures, value: figures.redisCpuUs }
  })

/** As many inner calls as the submit of Muster, with the same writes. ARGV: id, ticket, body of each task. */
const SUBMIT = `#!lua
local call, n, ids, bodies, tickets = redis.call, #ARGV / 3, {}, {}, {}
for i = 1, n do
  ids[i], tickets[i] = ARGV[3 * i - 2], ARGV[3 * i - 1]
  bodies[2 * i - 1], bodies[2 * i] = ids[i], ARGV[3 * i]
end
call('TIME')
call('HMGET', 't', unpack(ids))
call('HLEN', 'dt')
call('HLEN', 't')
call('RPUSH', 'p1', unpack(tickets))
call('HSET', 't', unpack(bodies))
call('HINCRBY', 'm', 'submitted', n)
return false`

/** Like the reserve of Muster. ARGV: count, deadline, prefix of a lease. */
const RESERVE = `#!lua
local call, n, ids, leases, deadlines, reply = redis.call, tonumber(ARGV[1]), {}, {}, {}, {}
call('TIME')
call('ZRANGE', 'd', 0, 0)
local tickets = call('LRANGE', 'p1', 0, n - 1)
for i = 1, #tickets do
  ids[i] = string.sub(tickets[i], ${TICKET.length + 1})
  leases[2 * i - 1], leases[2 * i] = ids[i], ARGV[3] .. tickets[i]
  deadlines[2 * i - 1], deadlines[2 * i] = ARGV[2], ids[i]
end
local bodies = call('HMGET', 't', unpack(ids))
call('HMGET', 'm', 'f', 'run', 'n')
for i = 1, #tickets do reply[2 * i - 1], reply[2 * i] = tickets[i], bodies[i] end
call('HSET', 'm', 'f', 1)
call('HSET', 'l', unpack(leases))
call('ZADD', 'v', unpack(deadlines))
call('LTRIM', 'p1', n, -1)
return reply`

/** Like the ack of Muster. ARGV: the ids. */
const ACK = `#!lua
local call = redis.call
call('TIME')
call('HMGET', 'l', unpack(ARGV))
call('HMGET', 'm', 's0', 's1', 's2', 's3')
call('BITFIELD', 'k0', 'SET', 'u32', 0, 1, 'SET', 'u32', 32, 1, 'SET', 'u32', 64, 1, 'SET', 'u4', 96, 1)
call('HDEL', 't', unpack(ARGV))
call('HDEL', 'l', unpack(ARGV))
call('ZREM', 'v', unpack(ARGV))
call('HINCRBY', 'm', 'acked', #ARGV)
return false`

/** Adds and processes in batches of 100, with scripts without decisions: `{ submit, process, cycle }`. */
const scriptedLife = (bench) =>
  bench.once('limit: scripts', () =>
    withRedis(bench, async ({ client, costs }) => {
      const [submit, reserve, ack] = await Promise.all(
        [SUBMIT, RESERVE, ACK].map((source) => client.script('LOAD', source)),
      )
      const items = bench.count(60_000)
      const added = await timed({ costs }, items, () =>
        inFlight(items / BATCH, UNDER_WAY, () =>
          client.evalsha(
            submit,
            0,
            ...Array.from({ length: BATCH }, () => {
              const id = randomUUID()
              return [id, TICKET + id, BODY]
            }).flat(),
          ),
        ),
      )
      const processed = await timed({ costs }, items, () =>
        inFlight(items / BATCH, UNDER_WAY, async () => {
          const reply = await client.evalsha(reserve, 0, BATCH, 1_700_000_000_000, LEASE)
          await client.evalsha(
            ack,
            0,
            ...reply.filter((_, i) => i % 2 === 0).map((ticket) => ticket.slice(TICKET.length)),
          )
        }),
      )
      return { submit: added, process: processed, cycle: { value: perSecond(items, added.ms + processed.ms) } }
    }),
  )

export const scripted = (part) => async (bench) => (await scriptedLife(bench))[part]

/** Measures the speed of this disk for one long file, and its number of synced writes of 4 KiB per second. */
export function diskRates(directory) {
  const folder = mkdtempSync(join(directory, 'disk-'))
  try {
    return {
      bytesPerSecond: written(join(folder, 'long'), 1_048_576, 256, false),
      flushesPerSecond: written(join(folder, 'short'), 4_096, 200, true) / 4_096,
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function written(path, bytes, times, flushEach) {
  const [file, block] = [openSync(path, 'w'), Buffer.alloc(bytes, 1)]
  const began = performance.now()
  for (let i = 0; i < times; i += 1) {
    writeSync(file, block)
    if (flushEach) fdatasyncSync(file)
  }
  fdatasyncSync(file)
  const rate = perSecond(bytes * times, performance.now() - began)
  closeSync(file)
  return rate
}
