/** What a master records and signals together: events of 50 ms, and signals of one turn to one master (D135). */
import { beforeEach, describe, expect, it } from '@jest/globals'
import type { MasterDeps } from '../../../src/master/deps.ts'
import { EventPublisher } from '../../../src/master/registry/events.ts'
import { Signals, type SocketSignal } from '../../../src/master/registry/signals.ts'
import { systemRandom, VirtualTime } from '../../../src/runtime/index.ts'
import { itemsOf, type NewEvent } from '../../../src/storage/index.ts'
import { MemoryBackend } from '../../../src/storage/memory/index.ts'
import { recordingLog } from '../../kit/index.ts'

let time: VirtualTime
let deps: MasterDeps
let appends: (readonly NewEvent[])[]
let messages: [masterId: string, ...conns: string[]][]
let mayBatch: boolean

beforeEach(() => {
  time = new VirtualTime()
  ;[appends, messages, mayBatch] = [[], [], true]
  const backend = new MemoryBackend({ clock: time, random: systemRandom })
  backend.events.append = async (events) => void appends.push(events)
  backend.bus.signal = async (masterId, ...signals) =>
    void messages.push([masterId, ...signals.map((each) => ('conn' in each ? each.conn : ''))])
  deps = { backend, clock: time, timers: time, log: recordingLog(), masterId: 'here' } as unknown as MasterDeps
})

const workersIn = (events: readonly NewEvent[] = []): readonly (readonly string[])[] =>
  events.map((entry) => itemsOf(entry).map((data) => (JSON.parse(data) as { worker_id: string }).worker_id))

describe('published events', () => {
  const publisher = (): EventPublisher => new EventPublisher(deps, () => mayBatch)
  const announce = (to: EventPublisher, ...ids: readonly string[]): void => {
    for (const id of ids) to.announce('worker.connected', { type: 'mailer', id }, { connected: true })
  }

  it('are appended immediately after a pause, then gathered for 50 ms, in one entry (D135)', async () => {
    const to = publisher()
    announce(to, 'a', 'b')
    await time.advance(0)
    expect(appends.map(workersIn)).toEqual([[['a', 'b']]])
    announce(to, 'c')
    await time.advance(30)
    announce(to, 'd')
    await time.advance(19)
    expect(appends).toHaveLength(1)
    await time.advance(1)
    expect(workersIn(appends[1])).toEqual([['c', 'd']])
    await time.advance(50)
    announce(to, 'e')
    await time.advance(0)
    expect(workersIn(appends[2])).toEqual([['e']])
  })

  it('are appended when the master stops, and once', async () => {
    const to = publisher()
    announce(to, 'a')
    await time.advance(0)
    announce(to, 'b')
    to.flush()
    await time.advance(1_000)
    expect(appends.map(workersIn)).toEqual([[['a']], [['b']]])
  })

  it('have an entry each while a live master does not read batches (D120)', async () => {
    mayBatch = false
    announce(publisher(), 'a', 'b')
    await time.advance(0)
    expect(workersIn(appends[0])).toEqual([['a'], ['b']])
  })
})

describe('signals to other masters', () => {
  const drain = (conn: string): SocketSignal => ({ kind: 'drain', ref: { type: 'mailer', id: conn }, conn })

  it('share a message if they are sent in the same turn, up to 500 (D135)', async () => {
    const signals = new Signals(deps, () => mayBatch)
    for (const conn of ['m2/1', 'm3/1', 'm2/2']) signals.send(drain(conn))
    await time.advance(0)
    signals.send(drain('m2/3'))
    await time.advance(0)
    expect(messages).toEqual([
      ['m2', 'm2/1', 'm2/2'],
      ['m3', 'm3/1'],
      ['m2', 'm2/3'],
    ])
    for (let n = 0; n < 501; n += 1) signals.send(drain(`m2/${n}`))
    await time.advance(0)
    expect(messages.slice(3).map(({ length }) => length - 1)).toEqual([500, 1])
  })

  it('have a message each while a live master does not read batches (D120)', async () => {
    mayBatch = false
    const signals = new Signals(deps, () => mayBatch)
    for (const conn of ['m2/1', 'm2/2']) signals.send(drain(conn))
    await time.advance(0)
    expect(messages).toEqual([
      ['m2', 'm2/1'],
      ['m2', 'm2/2'],
    ])
  })
})
