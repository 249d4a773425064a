/** Tests the collector of one type alone: its pushes and retries, when it is full, and what it reports. */
import { beforeEach, describe, expect, it } from '@jest/globals'
import { Collector, type DropReason } from '../../../src/master/streams/collector.ts'
import { FleetError, type ErrorCode } from '../../../src/protocol/index.ts'
import { seededRandom, VirtualTime } from '../../../src/runtime/index.ts'
import type { Streams } from '../../../src/storage/index.ts'
import { recordingLog } from '../../kit/index.ts'

const MIB = 1_048_576

let time: VirtualTime
let giveUp: AbortController
/** Number of entries, sequence number and time of each push. */
let pushes: (readonly [count: number, sequence: number, atMs: number])[]
/** What the next pushes fail with; the store accepts all others. */
let failures: unknown[]
let events: unknown[]
/** Whether the collector was full during each push. */
let fullAtPush: boolean[]
let collector: Collector

beforeEach(() => {
  time = new VirtualTime()
  giveUp = new AbortController()
  pushes = []
  failures = []
  events = []
  fullAtPush = []
  const push: Streams['push'] = async (type, producer, sequence, entries) => {
    expect([type, producer]).toEqual(['mailer', 'm1'])
    pushes.push([entries.length, sequence, time.monotonicMs()])
    fullAtPush.push(collector.full)
    const failure = failures.shift()
    if (failure !== undefined) throw failure
    return { length: entries.length, trimmed: sequence }
  }
  collector = new Collector('mailer', {
    streams: { push } as Streams,
    timers: time,
    random: { ...seededRandom(1), unit: () => 0 },
    log: recordingLog(),
    producer: 'm1',
    giveUp: giveUp.signal,
    onDropped: (type: string, count: number, reason: DropReason, cause: unknown) =>
      void events.push(['dropped', type, count, reason, cause]),
    onStored: (type, bytes, trimmed) => void events.push(['stored', type, bytes, trimmed]),
    onRemoved: (type, bytes) => void events.push(['removed', type, bytes]),
  })
})

const add = (count: number, bytes = 1): void => {
  for (let i = 0; i < count; i += 1) collector.add('1', bytes)
}
const failure = (code: ErrorCode): FleetError => new FleetError(code, 'of the test')

describe('Collector', () => {
  it('reports what was stored and removed, and resolves when nothing is pending', async () => {
    await collector.settled()
    add(2, 10)
    expect(collector.bytes).toBe(20)
    await collector.settled()
    add(1, 5)
    await collector.settled()
    expect(pushes).toEqual([
      [2, 1, 0],
      [1, 2, 0],
    ])
    expect(events).toEqual([
      ['stored', 'mailer', 20, 1],
      ['removed', 'mailer', 20],
      ['stored', 'mailer', 5, 2],
      ['removed', 'mailer', 5],
    ])
    expect(collector.bytes).toBe(0)
  })

  it('pushes at most 1,000 entries and 1 MiB, or one larger entry', async () => {
    add(1_000)
    add(1)
    await collector.settled()
    add(2, MIB / 2)
    add(1)
    add(1, MIB + 1)
    add(1)
    await collector.settled()
    expect(pushes.map(([count]) => count)).toEqual([1_000, 1, 2, 1, 1, 1])
    expect(collector.bytes).toBe(0)
  })

  it.each(['STORAGE_UNAVAILABLE', 'STORAGE_OVERLOADED', 'STORAGE_NOT_OPEN'] as const)(
    'repeats a push after %s with the same sequence number, at growing distances up to 2 s',
    async (code) => {
      failures = Array.from({ length: 8 }, () => failure(code))
      add(3)
      await time.advance(60_000)
      expect(pushes.map(([count, sequence]) => [count, sequence])).toEqual(Array.from({ length: 9 }, () => [3, 1]))
      const pauses = pushes.slice(1).map(([, , atMs], i) => atMs - (pushes[i]?.[2] ?? 0))
      expect(pauses).toEqual([50, 100, 200, 400, 800, 1_000, 1_000, 1_000])
      expect(events).toEqual([
        ['stored', 'mailer', 3, 1],
        ['removed', 'mailer', 3],
      ])
    },
  )

  it.each<[string, unknown, DropReason]>([
    ['a full store', failure('STORAGE_FULL'), 'store_full'],
    ['a store that refuses', failure('STORAGE_CORRUPT'), 'store_failed'],
    ['an error of another kind', new TypeError('no'), 'store_failed'],
    ['an error that only names a code', Object.assign(new Error('no'), { code: 'STORAGE_FULL' }), 'store_failed'],
    ['a foreign outage', Object.assign(new Error('no'), { code: 'STORAGE_UNAVAILABLE' }), 'store_failed'],
  ])('drops a push after %s without repeating it, and continues', async (_, cause, reason) => {
    failures = [cause]
    add(1_001)
    await collector.settled()
    expect(pushes.map(([count, sequence]) => [count, sequence])).toEqual([
      [1_000, 1],
      [1, 2],
    ])
    expect(events).toEqual([
      ['dropped', 'mailer', 1_000, reason, cause],
      ['removed', 'mailer', 1_000],
      ['stored', 'mailer', 1, 2],
      ['removed', 'mailer', 1],
    ])
  })

  it('makes one last try when it has to give up, and then drops what fails', async () => {
    const outage = failure('STORAGE_UNAVAILABLE')
    failures = [outage, outage, failure('STORAGE_CORRUPT')]
    add(1_001)
    await time.advance(0)
    giveUp.abort()
    await collector.settled()
    expect(pushes.map(([, sequence, atMs]) => [sequence, atMs])).toEqual([
      [1, 0],
      [1, 0],
      [2, 0],
    ])
    expect(events.filter((event) => (event as string[])[0] === 'dropped')).toEqual([
      ['dropped', 'mailer', 1_000, 'shutdown', outage],
      ['dropped', 'mailer', 1, 'store_failed', expect.objectContaining({ code: 'STORAGE_CORRUPT' })],
    ])
  })

  it('is full from 20,000 entries on, until half of them are taken', async () => {
    add(19_999)
    expect(collector.full).toBe(false)
    add(1)
    expect(collector.full).toBe(true)
    await collector.settled()
    expect(fullAtPush).toEqual(Array.from({ length: 20 }, (_, i) => i < 9))
  })

  it('is full from 8 MiB on, until half of them are stored', async () => {
    add(7, MIB)
    add(1, MIB - 1)
    expect(collector.full).toBe(false)
    add(1)
    expect(collector.full).toBe(true)
    await collector.settled()
    expect(fullAtPush).toEqual([true, true, true, true, false, false, false, false])
    expect([collector.full, collector.bytes]).toEqual([false, 0])
  })
})
