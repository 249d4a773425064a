/** Outputs: entries are pushed, then popped. Compared with a Redis Stream with the same bound. */
import { Redis } from 'ioredis'
import { checkDelivery, inFlight } from '../load.mjs'
import { redisCosts, startRedis } from '../stores.mjs'
import { timed } from './life.mjs'
import { lpop, rpush } from './limits.mjs'
import { openBackend } from './muster.mjs'

const ENTRIES = 160_000
const BATCH = 100
/** Each caller has its own stream, which keeps 50,000 entries. */
const CALLERS = 4
const MAX_LENGTH = 50_000
const LONG_NUMBER = 1e9

/** About 200 bytes, different for each entry. */
const entryOf = (n) =>
  `{"slot_id":0,"ts":1700000000.123,"payload":{"n":${LONG_NUMBER + n},"text":"${'x'.repeat(135)}"}}`
const numberOf = (entry) => Number(/"n":(\d+)/.exec(entry)[1]) - LONG_NUMBER
const streamOf = (call) => `s${call % CALLERS}`
const entriesOf = (call) => Array.from({ length: BATCH }, (_, i) => entryOf(call * BATCH + i))

/**
 * @param open returns `push(stream, entries)`, `pop(stream)` ─▶ entries, `costs`, `close`. @returns `{ push, pop }`.
 */
function lifeOfEntries(bench, name, open) {
  return bench.once(`stream, ${name}`, async () => {
    const queue = await open(bench)
    const entries = bench.count(ENTRIES)
    try {
      const push = await timed(queue, entries, () =>
        inFlight(entries / BATCH, CALLERS, (call) => queue.push(streamOf(call), entriesOf(call))),
      )
      const popped = []
      const pop = await timed(queue, entries, () =>
        Promise.all(
          Array.from({ length: CALLERS }, async (_, caller) => {
            const stream = streamOf(caller)
            for (let some = await queue.pop(stream); some.length > 0; some = await queue.pop(stream))
              popped.push(...some)
          }),
        ),
      )
      checkDelivery(
        Array.from({ length: entries }, (_, n) => n),
        popped.map(numberOf),
      )
      return { push, pop }
    } finally {
      await queue.close()
    }
  })
}

const openMuster = (store) => async (bench) => {
  const { backend, ...rest } = await openBackend(store, bench)
  let pushes = 0
  return {
    ...rest,
    push: (stream, entries) => backend.streams.push(stream, 'master-1', (pushes += 1), entries),
    pop: async (stream) => (await backend.streams.pop(stream, BATCH)).map(({ entry }) => entry),
  }
}

/** Removing entries from a Stream needs a read without acknowledgement, then a deletion. */
async function openRedisStream(bench) {
  const redis = await startRedis(bench.directory)
  const client = new Redis({ host: '127.0.0.1', port: redis.port })
  for (let call = 0; call < CALLERS; call += 1) await client.xgroup('CREATE', streamOf(call), 'g', '0', 'MKSTREAM')
  return {
    push: async (stream, entries) => {
      const pipeline = client.pipeline()
      for (const entry of entries) pipeline.xadd(stream, 'MAXLEN', '~', MAX_LENGTH, '*', 'e', entry)
      await pipeline.exec()
    },
    pop: async (stream) => {
      const reply = await client.xreadgroup('GROUP', 'g', 'c', 'COUNT', BATCH, 'NOACK', 'STREAMS', stream, '>')
      if (reply === null) return []
      const [[, entries]] = reply
      await client.xdel(stream, ...entries.map(([id]) => id))
      return entries.map(([, [, entry]]) => entry)
    },
    costs: () => redisCosts(redis.port),
    close: async () => {
      client.disconnect()
      await redis.stop()
    },
  }
}

const OPEN = {
  'Muster, Redis': openMuster('redis'),
  'Muster, SQLite': openMuster('sqlite'),
  'Muster, memory': openMuster('memory'),
  'Redis Stream': openRedisStream,
}
const subjects = (part) =>
  Object.fromEntries(
    Object.entries(OPEN).map(([name, open]) => [name, async (bench) => (await lifeOfEntries(bench, name, open))[part]]),
  )

export const streamRows = [
  {
    id: 'push-100',
    level: 'storage',
    title: 'push outputs, batches of 100',
    unit: 'outputs/s',
    better: 'higher',
    note:
      'one process, entries of 200 bytes, 4 batches in flight; ' +
      'a Redis Stream by XADD MAXLEN ~ 50000 in pipelines of 100',
    subjects: { ...subjects('push'), 'limit: RPUSH, pipeline 64': (bench) => rpush(bench, entryOf(0)) },
    aim: 260_000,
    gates: [{ subject: 'Muster, Redis', over: 'Redis Stream', atLeast: 2 }],
  },
  {
    id: 'pop-100',
    level: 'storage',
    title: 'pop outputs, 100 a call',
    unit: 'outputs/s',
    better: 'higher',
    note:
      'what the row above pushed, 4 callers; from a Redis Stream by XREADGROUP NOACK and XDEL. ' +
      'One pop is one script in Muster and two round trips there',
    subjects: { ...subjects('pop'), 'limit: LPOP 100': (bench) => lpop(bench, entryOf(0)) },
    aim: 500_000,
    gates: [{ subject: 'Muster, Redis', over: 'Redis Stream', atLeast: 2 }],
  },
]
