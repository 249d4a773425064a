import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { RefusalLimiter, seededRandom, VirtualTime } from '../../src/runtime/index.ts'
import { workerAddress } from '../../src/worker/address.ts'
import { BusClient } from '../../src/worker/bus.ts'
import { Peer } from '../../src/worker-test/index.ts'
import { recordingLog, advanceUntil, type RecordingLog } from './fixtures.ts'

let time: VirtualTime
let log: RecordingLog
let peer: Peer
let bus: BusClient

beforeEach(async () => {
  time = new VirtualTime()
  log = recordingLog()
  peer = await new Peer().start()
  const { origin, busPath } = workerAddress(peer.url, 'render', 'w1')
  bus = new BusClient({
    clock: time,
    timers: time,
    random: seededRandom(1),
    log,
    origin,
    busPath,
    token: () => 'worker-token',
    refusals: new RefusalLimiter({ clock: time, timers: time, random: seededRandom(1) }),
  })
})

afterEach(async () => {
  await bus.close()
  await peer.close()
})

/** Reads until the signal aborts, and collects the messages in `read`. */
function reader(topic: string): { readonly read: unknown[]; readonly over: Promise<void>; readonly stop: () => void } {
  const abort = new AbortController()
  const read: unknown[] = []
  const over = (async () => {
    for await (const message of bus.subscribe(topic, abort.signal)) read.push(message)
  })()
  return { read, over, stop: () => abort.abort() }
}

const say = (text: string, stream = 0): void => void peer.busStreams[stream]?.response.write(text)

describe('a bus subscription', () => {
  it('yields messages as they arrive, whole or in parts, and ends when its signal aborts', async () => {
    const { read, over, stop } = reader('news & more')
    await advanceUntil(time, 'the stream opens', () => peer.busStreams.length === 1)
    expect(peer.busStreams[0]?.topic).toBe('news & more')
    say('data: {"topic":"news & more","message":{"n":1}}\n\n:\n\ndata: {"topic":"news')
    await advanceUntil(time, 'the first', () => read.length === 1)
    say(' & more","message":"zwei ä"}\n\n')
    await advanceUntil(time, 'the second', () => read.length === 2)
    expect(read).toEqual([{ n: 1 }, 'zwei ä'])
    stop()
    await over
    await advanceUntil(time, 'the stream ends', () => peer.busStreams[0]?.response.closed === true)
  })

  it('shares one stream between all subscribers of a topic', async () => {
    const readers = [reader('a'), reader('a'), reader('b')]
    await advanceUntil(time, 'two streams', () => peer.busStreams.length === 2)
    say(
      'data: {"topic":"a","message":1}\n\n',
      peer.busStreams.findIndex(({ topic }) => topic === 'a'),
    )
    await advanceUntil(time, 'both hear it', () => readers.slice(0, 2).every(({ read }) => read.length === 1))
    expect(readers[2]?.read).toEqual([])
    for (const each of readers) each.stop()
    await Promise.all(readers.map(({ over }) => over))
  })

  it('reconnects after the stream broke', async () => {
    const { read, over, stop } = reader('a')
    await advanceUntil(time, 'the stream opens', () => peer.busStreams.length === 1)
    peer.busStreams[0]?.response.destroy()
    await advanceUntil(time, 'a second stream', () => peer.busStreams.length === 2)
    say('data: {"topic":"a","message":2}\n\n', 1)
    await advanceUntil(time, 'a message arrived', () => read.length === 1)
    stop()
    await over
  })

  it('closes a stream without data for 45 s', async () => {
    const { over, stop } = reader('a')
    await advanceUntil(time, 'the stream opens', () => peer.busStreams.length === 1)
    await time.advance(46_000)
    await advanceUntil(time, 'a second stream', () => peer.busStreams.length === 2)
    stop()
    await over
  })

  it('drops the oldest of more than 1,000 unread messages and logs a warning', async () => {
    const abort = new AbortController()
    const iterator = bus.subscribe('a', abort.signal)[Symbol.asyncIterator]()
    const first = iterator.next()
    await advanceUntil(time, 'the stream opens', () => peer.busStreams.length === 1)
    say(Array.from({ length: 1_500 }, (_, n) => `data: {"topic":"a","message":${n}}\n\n`).join(''))
    await advanceUntil(time, 'the warning', () =>
      log.lines.some(({ message }) => message.includes('dropping the oldest')),
    )
    await advanceUntil(time, 'the first read', () => true)
    expect((await first).done).toBe(false)
    abort.abort()
    expect((await iterator.next()).done).toBe(true)
  })
})
