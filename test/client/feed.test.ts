import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { ServerResponse } from 'node:http'
import { EventReader } from '../../src/protocol/event-stream/index.ts'
import type { FeedItem } from '../../src/client/index.ts'
import { VirtualTime } from '../../src/runtime/index.ts'
import type { Deed } from './faulty-proxy.ts'
import { advancing, throughProxy } from './fixture.ts'

/** A stream that writes `text`, and then ends or stays open. */
const stream =
  (text: string, then: 'end' | 'stay' | 'break' = 'stay', keep?: (response: ServerResponse) => void): Deed =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'muster-epoch': 'e1' }).write(text)
    keep?.(response)
    if (then === 'end') response.end()
    if (then === 'break') setImmediate(() => response.destroy())
  }
const event = (id: string, name: string, data: object): string =>
  `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`

/** Reads items until `enough` returns true. Advances virtual time while nothing arrives. */
async function take(
  feed: AsyncGenerator<FeedItem>,
  time: VirtualTime,
  enough: (items: readonly FeedItem[]) => boolean,
): Promise<FeedItem[]> {
  const items: FeedItem[] = []
  while (!enough(items)) {
    const { value, done } = await advancing(time, feed.next())
    if (done === true) break
    items.push(value)
  }
  return items
}
const kinds = (items: readonly FeedItem[]): string[] =>
  items.map((item) => (item.kind === 'event' ? item.name : item.kind))

describe('the feed', () => {
  it('yields events in order and resumes after the last one when the stream breaks (D31)', async () => {
    const time = new VirtualTime()
    const { proxy, client } = await throughProxy(
      [
        stream(
          `: hello\n\n${event('7', 'worker.state', { type: 'mailer', worker_id: 'w1', ts: 1, state: 'ERROR' })}`,
          'end',
        ),
        'reset before',
        {
          status: 503,
          headers: { 'content-type': 'application/json', 'muster-epoch': 'e1', 'retry-after': '8' },
          body: '{"detail":"too many listeners"}',
        },
        stream(event('8', 'queue.totals', { type: 'mailer', ts: 2 })),
      ],
      { clock: time, timers: time },
    )
    const end = new AbortController()
    const items = await take(client.events({ signal: end.signal, lastEventId: '6' }), time, (got) =>
      kinds(got).includes('queue.totals'),
    )
    end.abort()
    expect(kinds(items)).toEqual(['open', 'worker.state', 'lost', 'lost', 'lost', 'open', 'queue.totals'])
    expect(items[1]).toEqual({
      kind: 'event',
      id: '7',
      name: 'worker.state',
      data: { type: 'mailer', worker_id: 'w1', ts: 1, state: 'ERROR' },
    })
    expect(items[4]).toMatchObject({
      error: { code: 'UNAVAILABLE', message: 'too many listeners' },
      retryInMs: expect.any(Number),
    })
    expect((items[4] as { retryInMs: number }).retryInMs).toBeGreaterThanOrEqual(8_000)
    expect((items[4] as { retryInMs: number }).retryInMs).toBeLessThanOrEqual(10_000)
    expect(proxy.seen.map(({ path, headers }) => [path, headers['last-event-id']])).toEqual([
      ['/api/v1/events', '6'],
      ['/api/v1/events', '7'],
      ['/api/v1/events', '7'],
      ['/api/v1/events', '7'],
    ])
  })

  it('resumes without an event from the start position of the master, and reports whether it does', async () => {
    const time = new VirtualTime()
    const { proxy, client } = await throughProxy(
      [stream('id: 5\n\n', 'end'), stream('id: 6\ndata: {"half', 'end'), stream(event('7', 'reset', { ts: 1 }))],
      { clock: time, timers: time },
    )
    const feed = client.events({ signal: new AbortController().signal })
    const items = await take(feed, time, (got) => kinds(got).includes('reset'))
    expect(items.flatMap((item) => (item.kind === 'open' ? [item.isResumed] : []))).toEqual([false, true, true])
    expect(proxy.seen.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '5', '5'])
    await feed.return(undefined)
  })

  it('replaces a stream without data for 45 s, and keeps one with comments', async () => {
    const time = new VirtualTime()
    let response: ServerResponse | undefined
    const { client } = await throughProxy(
      [stream(': hello\n\n', 'stay', (each) => (response = each)), stream(event('1', 'reset', { ts: 1 }))],
      { clock: time, timers: time },
    )
    const feed = client.events({ signal: new AbortController().signal })
    expect(kinds(await take(feed, time, (got) => got.length === 1))).toEqual(['open'])
    const next = take(feed, time, (got) => kinds(got).includes('reset'))
    for (let comment = 0; comment < 6; comment += 1) {
      const until = time.monotonicMs() + 15_000
      while (time.monotonicMs() < until) await new Promise((resolve) => setImmediate(resolve))
      response?.write(': still here\n\n')
    }
    const aliveMs = time.monotonicMs()
    const [lost, ...rest] = await next
    expect(lost).toMatchObject({
      kind: 'lost',
      error: { code: 'TIMED_OUT', message: 'the event stream was silent for 45 s' },
    })
    expect(time.monotonicMs() - aliveMs).toBeGreaterThanOrEqual(40_000)
    expect(time.monotonicMs() - aliveMs).toBeLessThan(60_000)
    expect(kinds(rest)).toEqual(['open', 'reset'])
    await feed.return(undefined)
  })

  it('reports a response that is not a stream, and retries', async () => {
    const time = new VirtualTime()
    const { client } = await throughProxy(
      [
        { status: 200, headers: { 'content-type': 'text/html' }, body: '<p>hello' },
        { status: 403, headers: { 'content-type': 'application/json', 'muster-epoch': 'e' }, body: '{"detail":"no"}' },
        stream('data: no json\n\n'),
        stream(event('1', 'reset', {})),
      ],
      { clock: time, timers: time },
    )
    const feed = client.events({ signal: new AbortController().signal })
    const items = await take(feed, time, (got) => kinds(got).includes('reset'))
    expect(items.flatMap((item) => (item.kind === 'lost' ? [item.error.code] : []))).toEqual([
      'FOREIGN',
      'FORBIDDEN',
      'BROKEN',
    ])
    await feed.return(undefined)
  })

  it('leaves nothing open when its listener stops or aborts', async () => {
    const time = new VirtualTime()
    const closed: Promise<void>[] = []
    const keep = (response: ServerResponse): void =>
      void closed.push(new Promise((resolve) => void response.on('close', () => resolve())))
    const { client } = await throughProxy([stream(': x\n\n', 'stay', keep), stream(': x\n\n', 'stay', keep)], {
      clock: time,
      timers: time,
    })
    for await (const item of client.events({ signal: new AbortController().signal })) if (item.kind === 'open') break
    const end = new AbortController()
    for await (const item of client.events({ signal: end.signal })) if (item.kind === 'open') end.abort()
    await Promise.all(closed)
    expect([closed.length, time.pending]).toEqual([2, 0])
  })
})

describe('the reader of server-sent events', () => {
  it('reads the same events for any split of the bytes and any line ending', () => {
    const sent = [
      { id: '1', name: 'worker.state', data: '{"ü":1}\nsecond line' },
      { id: '1', name: 'message', data: ' kept' },
      { id: '', name: 'a', data: '' },
    ]
    const text =
      'data:dropped? no\r\n' +
      'id:0\n' +
      ':comment\n\n' +
      'event: worker.state\n' +
      'id: 1\n' +
      'data: {"ü":1}\rdata: second line\r\n' +
      '\r\n' +
      'data:  kept\n\n' +
      'event:only a name\n\n' +
      'id\n' +
      'event: a\n' +
      'data\n\n'
    const expected = [{ id: '0', name: 'message', data: 'dropped? no' }, ...sent]
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1 }), (sizes) => {
        const reader = new EventReader()
        const bytes = Buffer.from(text)
        const events = []
        for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
          const size = sizes[turn % sizes.length] ?? 1
          events.push(...reader.read(bytes.subarray(at, at + size)))
          at += size
        }
        expect(events).toEqual(expected)
      }),
    )
  })

  it('rejects an event that never ends', () => {
    const reader = new EventReader()
    expect(() => {
      for (let chunk = 0; chunk < 20; chunk += 1) reader.read(Buffer.from(`data: ${'x'.repeat(100_000)}\n`))
    }).toThrow('longer than')
  })
})
