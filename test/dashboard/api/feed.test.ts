import { mock } from 'node:test'
import { describe, expect, it } from '@jest/globals'
import { EventReader } from '../../../src/protocol/event-stream/index.ts'
import { Feed, type FleetEvent } from '../../../src/dashboard/api/feed.ts'
import { Problem } from '../../../src/dashboard/api/problem.ts'
import { VirtualTime } from '../../../src/runtime/index.ts'

interface Stream {
  readonly lastId: string
  readonly signal: AbortSignal
  send(text: string): void
  end(): void
}

/** Creates a feed on virtual time; the test writes its streams. */
function setUp(open: (n: number) => Problem | null = () => null) {
  const time = new VirtualTime()
  const streams: Stream[] = []
  const batches: (readonly FleetEvent[])[] = []
  let tries = 0
  const feed = new Feed({
    open: async (lastId, signal) => {
      tries += 1
      const problem = open(tries)
      if (problem !== null) throw problem
      return new ReadableStream<Uint8Array>({
        start: (controller) => {
          signal.addEventListener('abort', () => controller.error(signal.reason))
          streams.push({
            lastId,
            signal,
            send: (text) => controller.enqueue(new TextEncoder().encode(text)),
            end: () => controller.close(),
          })
        },
      })
    },
    reader: (lastId) => new EventReader(lastId),
    asProblem: (error) => (error instanceof Problem ? error : new Problem((error as Error).message)),
    localMs: time.wallMs,
    random: () => 1,
    after: time.after,
  })
  feed.listen((events) => batches.push(events))
  const names = (): string[] => batches.flat().map(({ name }) => name)
  return { time, feed, streams, batches, names, tries: () => tries }
}

const event = (id: string, name: string): string => `id: ${id}\nevent: ${name}\ndata: {"type":"mailer"}\n\n`

describe('the feed', () => {
  it('delivers the changes of a batch one by one, and resumes after it (D135)', async () => {
    const { time, feed, streams, batches } = setUp()
    feed.start()
    await time.advance(0)
    const items = ['a', 'b'].map((id) => ({ type: 'mailer', worker_id: id, connected: false }))
    const data = JSON.stringify({ type: 'mailer', items })
    streams[0]?.send(`id: 7\nevent: workers.disconnected\ndata: ${data}\n\n`)
    await time.advance(250)
    expect(batches.flat()).toEqual(items.map((each) => ({ name: 'worker.disconnected', data: each })))
    streams[0]?.end()
    await time.advance(1_000)
    expect(streams[1]?.lastId).toBe('7')
  })

  it('delivers events in batches, four a second', async () => {
    const { time, feed, streams, batches } = setUp()
    feed.start()
    await time.advance(0)
    expect(feed.state.kind).toBe('live')
    streams[0]?.send(event('1', 'worker.state') + event('2', 'queue.totals'))
    await time.advance(100)
    expect(batches).toEqual([])
    streams[0]?.send(event('3', 'worker.state'))
    await time.advance(150)
    expect(batches.map((batch) => batch.length)).toEqual([3])
  })

  it('resumes after the last event, with a backoff of 1, 2, 4 … 30 s', async () => {
    const { time, feed, streams, tries } = setUp((n) => (n === 2 || n === 3 ? new Problem('unavailable') : null))
    feed.start()
    await time.advance(0)
    streams[0]?.send(event('41', 'worker.state'))
    await time.advance(300)
    streams[0]?.end()
    await time.advance(0)
    expect(feed.state).toMatchObject({ kind: 'lost', problem: { message: 'the master closed the event stream' } })
    const since = feed.state.kind === 'lost' ? feed.state.sinceMs : 0
    await time.advance(1_000)
    expect([tries(), feed.state.kind === 'lost' && feed.state.sinceMs]).toEqual([2, since])
    await time.advance(2_000)
    expect(tries()).toBe(3)
    await time.advance(4_000)
    expect([tries(), feed.state.kind, streams.at(-1)?.lastId]).toEqual([4, 'live', '41'])
  })

  it('releases the listeners of finished waits', async () => {
    const hear = mock.method(AbortSignal.prototype, 'addEventListener')
    const leave = mock.method(AbortSignal.prototype, 'removeEventListener')
    const { time, feed, tries } = setUp(() => new Problem('unavailable'))
    feed.start()
    await time.advance(600_000)
    expect(tries()).toBeGreaterThan(20)
    const left = new Set(leave.mock.calls.map(({ arguments: [, listener] }) => listener))
    expect(hear.mock.calls.filter(({ arguments: [, listener] }) => !left.has(listener)).length).toBeLessThan(3)
    feed.end()
    mock.restoreAll()
  })

  it('respects Retry-After', async () => {
    const { time, feed, tries } = setUp((n) =>
      n === 1 ? new Problem('full', { status: 503, retryAfterSeconds: 9 }) : null,
    )
    feed.start()
    await time.advance(8_999)
    expect(tries()).toBe(1)
    await time.advance(2_251) // Jitter adds up to a quarter.
    expect(feed.state.kind).toBe('live')
  })

  it('emits a reset when it reconnects without an event ID', async () => {
    const { time, feed, streams, names } = setUp()
    feed.start()
    await time.advance(0)
    streams[0]?.end()
    await time.advance(1_250)
    expect(names()).toEqual(['reset'])
  })

  it('replaces a stream without data for 45 s and keeps one that sends comments', async () => {
    const { time, feed, streams } = setUp()
    feed.start()
    for (let n = 0; n < 5; n += 1) {
      await time.advance(15_000)
      streams[0]?.send(':\n\n')
    }
    await time.advance(44_000)
    expect(streams).toHaveLength(1)
    await time.advance(2_500)
    expect([streams.length, streams[0]?.signal.aborted, feed.state.kind]).toEqual([2, true, 'live'])
  })

  it('closes the stream 15 s after the tab was hidden and resumes when it is shown', async () => {
    const { time, feed, streams } = setUp()
    feed.start()
    await time.advance(0)
    streams[0]?.send(event('5', 'worker.state'))
    await time.advance(300)
    feed.show(false)
    await time.advance(14_999)
    expect(feed.state.kind).toBe('live')
    await time.advance(1)
    expect([feed.state.kind, streams[0]?.signal.aborted]).toEqual(['hidden', true])
    feed.show(true)
    await time.advance(0)
    expect([feed.state.kind, streams.at(-1)?.lastId]).toEqual(['live', '5'])
  })

  it('keeps the stream if the tab is shown again within 15 s', async () => {
    const { time, feed, streams } = setUp()
    feed.start()
    await time.advance(0)
    feed.show(false)
    await time.advance(10_000)
    feed.show(true)
    await time.advance(20_000)
    expect([feed.state.kind, streams.length]).toEqual(['live', 1])
  })

  it('stays paused when the tab is hidden or shown', async () => {
    const { time, feed, streams, names } = setUp()
    feed.start()
    await time.advance(0)
    streams[0]?.send(event('5', 'worker.state'))
    await time.advance(100)
    feed.pause()
    expect([feed.state.kind, names()]).toEqual(['paused', ['worker.state']]) // Received events are not lost.
    feed.show(false)
    feed.show(true)
    feed.retry()
    await time.advance(60_000)
    expect([feed.state.kind, streams.length]).toEqual(['paused', 1])
    feed.resume()
    await time.advance(0)
    expect([feed.state.kind, streams.at(-1)?.lastId]).toEqual(['live', '5'])
  })

  it('retries immediately on request and stops when it is ended', async () => {
    const { time, feed, tries } = setUp((n) => (n === 1 ? new Problem('unavailable', { retryAfterSeconds: 60 }) : null))
    feed.start()
    await time.advance(0)
    feed.retry()
    await time.advance(0)
    expect([tries(), feed.state.kind]).toEqual([2, 'live'])
    feed.end()
    await time.advance(120_000)
    expect(tries()).toBe(2)
  })

  it('closes a stream whose events are not JSON', async () => {
    const { time, feed, streams } = setUp()
    feed.start()
    await time.advance(0)
    streams[0]?.send('data: not json\n\n')
    await time.advance(0)
    expect(feed.state.kind).toBe('lost')
    feed.end()
  })
})
