/**
 * Tests the event bus of the built command (D23): messages of plugins and outputs of workers reach subscribers at any
 * master.
 */
import { afterEach, describe, expect, it } from '@jest/globals'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { withRedisServer } from '../kit/redis-server.ts'
import { Fleet, WORKER_TOKEN } from './fleet.ts'
import { allGone, lengthOf, Masters, submit, submitMany } from './masters.ts'
import { rpc, SocketWorker, tryRpc } from './socket-worker.ts'
import { eventually } from '../kit/index.ts'

const WORKER = { type: 'talk', id: 'w' }
const BUS = '/api/v1/automations/talk/workers/w/bus'
const AUTHORIZATION = `Bearer ${WORKER_TOKEN}`

interface Message<T = unknown> {
  readonly topic: string
  readonly message: T
}
interface Said {
  readonly slot_id: number
  readonly payload: { readonly task_id: string; readonly pid: number; readonly n: number }
}

const open: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close()
})

async function mastersOf(count: number): Promise<Masters> {
  const masters = await Masters.start(count)
  open.push(() => masters.stop())
  return masters
}

/** Subscribes to the topics at this master as a worker does, and records the messages. */
async function listen<T = unknown>(
  fleet: Fleet,
  ...topics: readonly string[]
): Promise<{ readonly received: readonly Message<T>[] }> {
  const end = new AbortController()
  const response = await fetch(
    `${fleet.url}${BUS}?${topics.map((topic) => `topic=${encodeURIComponent(topic)}`).join('&')}`,
    { headers: { authorization: AUTHORIZATION }, signal: end.signal },
  )
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  const received: Message<T>[] = []
  let listens = false
  const read = async (): Promise<void> => {
    let text = ''
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const events = (text + chunk).split('\n\n')
      text = events.pop() ?? ''
      for (const event of events) {
        if (event.startsWith(':')) listens = true
        else received.push(JSON.parse(event.slice('data: '.length)) as Message<T>)
      }
    }
  }
  const reading = read().catch(() => undefined) // Ended by the test or by its master.
  open.push(async () => {
    end.abort()
    await reading
  })
  await eventually('the subscription is active', async () => listens)
  return { received }
}

const publish = (fleet: Fleet, topic: string, message: unknown): Promise<object> =>
  rpc(fleet, WORKER, 'bus.publish', { topic, message })
const range = (count: number): readonly number[] => Array.from({ length: count }, (_, n) => n)

withRedisServer('the event bus', () => {
  describe.each([2, 3])('the event bus of %i masters', (count) => {
    it('delivers messages to subscribers at all masters, in order and only for their topics (D23, D33)', async () => {
      const masters = await mastersOf(count)
      const listeners = await Promise.all(masters.all.map((fleet) => listen(fleet, 'orders', 'a b/{c}:*')))
      for (const n of range(30)) {
        expect(await publish(masters.at(n % count), n % 3 === 0 ? 'a b/{c}:*' : 'orders', { n })).toEqual({})
        await publish(masters.at(n % count), 'other', { n })
      }
      for (const { received } of listeners) {
        await eventually('all messages are received', async () => received.length >= 30)
        expect(received).toEqual(
          range(30).map((n) => ({ topic: n % 3 === 0 ? 'a b/{c}:*' : 'orders', message: { n } })),
        )
      }
    }, 60_000)

    it('accepts topics with and without `event:`, and lets only the master publish outputs (S13)', async () => {
      const masters = await mastersOf(count)
      const [bare, full] = [
        await listen(masters.at(0), 'orders', 'talk.emit'),
        await listen(masters.at(-1), 'event:orders', 'event:talk.emit'),
      ]
      await publish(masters.at(1), 'orders', 1)
      await publish(masters.at(0), 'event:orders', 2)
      for (const topic of ['talk.emit', 'event:talk.emit']) {
        expect(await tryRpc(masters.at(0), WORKER, 'bus.publish', { topic, message: 'false' })).toMatchObject({
          error: { code: -32_602, data: { errors: [{ path: '/topic' }] } },
        })
      }
      const worker = await SocketWorker.join(masters.at(0), 'talk', 'w')
      open.push(() => worker.leave())
      worker.emit([{ slot: 3, payload: { task_id: 't', pid: 1, n: 1 } }])
      const output = { slot_id: 3, ts: 1, worker_id: 'w', payload: { task_id: 't', pid: 1, n: 1 } }
      for (const [{ received }, form] of [
        [bare, ''],
        [full, 'event:'],
      ] as const) {
        await eventually('all messages are received', async () => received.length >= 3)
        expect(received).toEqual([
          { topic: `${form}orders`, message: 1 },
          { topic: `${form}orders`, message: 2 },
          { topic: `${form}talk.emit`, message: output },
        ])
      }
    }, 60_000)

    it('publishes every output once, in the order in which its slot emitted it (D23, G10)', async () => {
      const masters = await mastersOf(count)
      await masters.workers(1, 4, 'talk')
      const listeners = await Promise.all(masters.all.map((fleet) => listen<Said>(fleet, 'event:talk.emit')))
      const [each, tasks] = [25, 40 * count]
      const ids = (
        await Promise.all(
          masters.all.map((fleet) =>
            submitMany(
              fleet,
              range(40).map(() => ({ count: each })),
              'talk',
            ),
          ),
        )
      ).flat()
      await allGone(masters.at(0), ids, { type: 'talk' })
      await eventually(
        'every output is stored',
        async () => (await lengthOf(masters.at(0), '/automations/talk/output/length')) === each * tasks,
      )
      const stored = await masters.at(0).ok<Said[]>('GET', '/automations/talk/output/peek?n=10000')
      const inStore = stored.map(({ slot_id, payload }) => `${payload.pid} ${slot_id} ${payload.task_id} ${payload.n}`)
      expect(new Set(inStore).size).toBe(each * tasks)
      for (const { received } of listeners) {
        await eventually('every output is received', async () => received.length >= each * tasks, {
          context: () => `${received.length} of ${each * tasks}`,
        })
        const reported = received.map(
          ({ message: { slot_id, payload } }) => `${payload.pid} ${slot_id} ${payload.task_id} ${payload.n}`,
        )
        expect(reported).toEqual(inStore) // The same order as in the stream.
        for (const id of ids)
          expect(received.flatMap(({ message: { payload } }) => (payload.task_id === id ? [payload.n] : []))).toEqual(
            range(each).map((n) => n + 1),
          )
      }
      expect(new Set(stored.map(({ payload }) => payload.pid)).size).toBe(count)
    }, 60_000)

    it('connects plugins on workers of different masters', async () => {
      const masters = await mastersOf(count)
      for (const at of masters.all.keys()) masters.worker(at, `h-${at}`, 'hear')
      masters.worker(-1, 'w', 'talk')
      await Promise.all(
        [...masters.all.keys()].map((at) =>
          masters.at(0).configure('hear', `h-${at}`, { enabled: true, topic: 'chat' }),
        ),
      )
      await masters.at(0).configure('talk', 'w', { enabled: true, slots: 1 })
      const receivedBy = async (): Promise<number> => lengthOf(masters.at(0), '/automations/hear/output/length')
      await eventually('all of them are subscribed', async () => {
        await masters.at(0).ok('POST', '/automations/hear/output/pop', { n: 10_000 })
        await publish(masters.at(0), 'chat', 'ping')
        return eventually('they respond', async () => (await receivedBy()) === count, { withinMs: 200 }).then(
          () => true,
          () => false,
        )
      })
      await masters.at(0).ok('POST', '/automations/hear/output/pop', { n: 10_000 })
      await submit(masters.at(0), { count: 10, topic: 'chat' }, 'talk')
      await eventually('all workers receive all messages', async () => (await receivedBy()) >= 10 * count)
      const outputs = await masters
        .at(0)
        .ok<{ payload: Message<{ n: number }> }[]>('GET', '/automations/hear/output/peek?n=10000')
      expect(outputs.map(({ payload }) => payload.message.n).toSorted((a, b) => a - b)).toEqual(
        range(10 * count).map((n) => Math.floor(n / count) + 1),
      )
    }, 60_000)

    it('delivers to existing subscribers again after a restart of Redis', async () => {
      const masters = await mastersOf(count)
      const listeners = await Promise.all(masters.all.map((fleet) => listen(fleet, 'news')))
      await publish(masters.at(0), 'news', 0)
      for (const { received } of listeners)
        await eventually('the message is received', async () => received.length === 1)
      await masters.redis.kill()
      await masters.redis.start()
      let sent = 0
      await eventually(
        'it is received everywhere again',
        async () => {
          await tryRpc(masters.at(-1), WORKER, 'bus.publish', { topic: 'news', message: ++sent })
          return listeners.every(({ received }) => received.length > 1)
        },
        { withinMs: 10_000 },
      )
      await publish(masters.at(0), 'news', 'last')
      for (const { received } of listeners) {
        await eventually('the last message is received', async () => received.at(-1)?.message === 'last')
        // No duplicates: each has one subscription.
        expect(new Set(received.map(({ message }) => message)).size).toBe(received.length)
      }
    }, 60_000)

    it('closes the connection of a subscriber that does not read, and keeps the others (G17)', async () => {
      const masters = await mastersOf(count)
      const reader = await listen(masters.at(0), 'flood')
      const sleeper = connect(Number(new URL(masters.at(0).url).port), '127.0.0.1')
      open.push(() => void sleeper.destroy())
      await once(sleeper, 'connect')
      sleeper.write(`GET ${BUS}?topic=flood HTTP/1.1\r\nhost: test\r\nauthorization: ${AUTHORIZATION}\r\n\r\n`)
      await once(sleeper, 'readable') // It is subscribed and reads no further.
      const message = 'x'.repeat(60_000)
      let sent = 0
      await eventually('it is closed', async () => {
        await Promise.all(range(20).map(() => publish(masters.at(-1), 'flood', message)))
        sent += 20
        return masters.output(0).includes('reads too slowly')
      })
      let bytes = 0
      sleeper.on('data', (chunk: Buffer) => void (bytes += chunk.length))
      await once(
        sleeper.resume().on('error', () => undefined),
        'close',
      )
      expect(bytes).toBeLessThan(sent * message.length)
      await eventually('the other subscriber has received every message', async () => reader.received.length === sent)
    }, 60_000)
  })
})

describe.each(['memory', 'SQLite'])('a master on %s', (store) => {
  it('accepts a publish but delivers no message, because it has no bus', async () => {
    const fleet = new Fleet(store === 'memory' ? 'memory://' : undefined)
    open.push(() => fleet.stop())
    await fleet.startMaster({ SVC_AUTOMATIONS: join(process.cwd(), 'test/e2e/automations/talking.mjs') })
    expect(await fleet.ok('GET', '/me')).toMatchObject({ backend: { pubsub: false } })
    const { received } = await listen(fleet, 'orders', 'event:orders', 'talk.emit')
    expect(await publish(fleet, 'orders', 1)).toEqual({})
    expect(await publish(fleet, 'event:orders', 1)).toEqual({})
    const worker = await SocketWorker.join(fleet, 'talk', 'w')
    open.push(() => worker.leave())
    worker.emit([{ slot: 0, payload: { task_id: 't', pid: 1, n: 1 } }])
    await eventually(
      'the output is stored',
      async () => (await lengthOf(fleet, '/automations/talk/output/length')) === 1,
    )
    await expect(
      eventually('a message is received', async () => received.length > 0, { withinMs: 500 }),
    ).rejects.toThrow()
  }, 60_000)
})
