import { beforeEach, describe, expect, it } from '@jest/globals'
import {
  decodeWorkerFrame,
  MAX_FRAME_BYTES,
  WORKER_BUFFER_BYTES,
  WORKER_BUFFER_FRAMES,
  type WorkerFrame,
} from '../../src/protocol/index.ts'
import { VirtualTime } from '../../src/runtime/index.ts'
import { Outbox, SOCKET_HIGH_BYTES, type Sink } from '../../src/worker/outbox.ts'
import { recordingLog, type RecordingLog } from './fixtures.ts'
import { payloadsOf } from './peer.ts'

/** A socket whose unsent bytes the test controls. */
class Wire implements Sink {
  readonly texts: string[] = []
  bufferedAmount = 0
  stuck = false
  #dones: (() => void)[] = []

  send(text: string, done: () => void): void {
    this.texts.push(text)
    if (!this.stuck) return done()
    this.bufferedAmount += Buffer.byteLength(text)
    this.#dones.push(done)
  }

  drain(): void {
    this.stuck = false
    this.bufferedAmount = 0
    for (const done of this.#dones.splice(0)) done()
  }

  get frames(): readonly WorkerFrame[] {
    return this.texts.map((text) => decodeWorkerFrame(text))
  }

  get outputs(): readonly unknown[] {
    return this.frames.flatMap(payloadsOf).map((payload) => payload['n'])
  }
}

let time: VirtualTime
let log: RecordingLog
let wire: Wire
let made: number
let outbox: Outbox

beforeEach(() => {
  time = new VirtualTime()
  log = recordingLog()
  wire = new Wire()
  made = 0
  outbox = make(WORKER_BUFFER_FRAMES)
})

function make(maxFrames: number): Outbox {
  const state = (): string =>
    JSON.stringify({ type: 'state', state: 'IDLE', config_gen: (made += 1), ts: 1, last_error: null })
  const stats = (): string => JSON.stringify({ type: 'stats', slots: 0, cpu_pct: 0, rss_mb: 1, ts: 1, metrics: {} })
  return new Outbox({ clock: time, timers: time, log, reports: { state, stats }, maxFrames })
}

const emit = (from: number, to: number): void => {
  for (let n = from; n < to; n += 1) outbox.output(0, { n })
}
const numbers = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from }, (_, index) => from + index)
const big = (n: number): { n: number; pad: string } => ({ n, pad: 'x'.repeat(MAX_FRAME_BYTES / 2 + 1) })

describe('the outbox', () => {
  it('sends outputs of 10 ms in one frame, and a single one as an output frame (D37)', async () => {
    outbox.attach(wire)
    emit(0, 3)
    await time.advance(9)
    expect(wire.outputs).toEqual([])
    await time.advance(1)
    emit(3, 4)
    await time.advance(10)
    expect(wire.frames.map(({ type }) => type)).toEqual(['state', 'stats', 'output_batch', 'output'])
    expect(wire.outputs).toEqual([0, 1, 2, 3])
  })

  it('sends at most 1,000 outputs, and at most the maximum frame size, in one batch (D37)', async () => {
    outbox.attach(wire)
    emit(0, 2_500)
    for (const n of [2_500, 2_501, 2_502]) outbox.output(0, big(n))
    await time.advance(10)
    const sizes = wire.frames.slice(2).map((frame) => (frame.type === 'output_batch' ? frame.outputs.length : 1))
    expect(sizes).toEqual([1_000, 1_000, 501, 1, 1])
    expect(wire.outputs).toEqual(numbers(0, 2_503))
    expect(Math.max(...wire.texts.map((text) => Buffer.byteLength(text)))).toBeLessThanOrEqual(MAX_FRAME_BYTES)
  })

  it('rejects an output that is larger than a frame, with both sizes', () => {
    expect(() => outbox.output(0, { pad: 'x'.repeat(MAX_FRAME_BYTES) })).toThrow(RangeError)
    expect(outbox.frames).toBe(0)
  })

  it('buffers outputs while disconnected and sends them in order after new state and stats (G11)', async () => {
    emit(0, 5_000)
    await time.advance(60_000)
    expect(outbox.frames).toBe(5)
    outbox.attach(wire)
    expect(wire.frames.slice(0, 2)).toMatchObject([{ type: 'state', config_gen: 1 }, { type: 'stats' }])
    expect(wire.outputs).toEqual(numbers(0, 5_000))
    expect(outbox.outputsEvicted).toBe(0)
  })

  it('drops the oldest frames above 16 MiB and counts their outputs (G11)', () => {
    const each = Buffer.byteLength(JSON.stringify(big(0)))
    const fit = Math.floor(WORKER_BUFFER_BYTES / (each + 100))
    for (let n = 0; n < fit + 7; n += 1) outbox.output(0, big(n))
    expect(outbox.outputsEvicted).toBe(7)
    outbox.attach(wire)
    expect(wire.outputs).toEqual(numbers(7, fit + 7))
    expect(log.lines.filter(({ level }) => level === 'warn')).toHaveLength(1)
  })

  it('drops the oldest frames above the maximum number of frames (G11)', () => {
    outbox = make(3)
    emit(0, 5_000)
    expect([outbox.frames, outbox.outputsEvicted]).toEqual([3, 2_000])
    outbox.attach(wire)
    expect(wire.outputs).toEqual(numbers(2_000, 5_000))
  })

  it('stops sending to a full socket and continues when it has drained', async () => {
    outbox.attach(wire)
    wire.stuck = true
    for (let n = 0; n < 8; n += 1) outbox.output(0, big(n))
    await time.advance(10)
    expect(wire.bufferedAmount).toBeLessThan(2 * SOCKET_HIGH_BYTES)
    expect(wire.outputs).toEqual([0, 1])
    wire.drain()
    expect(wire.outputs).toEqual(numbers(0, 8))
  })

  it('keeps only the newest state and stats, outside of the frame limit (G11)', async () => {
    for (let n = 0; n < 10; n += 1) {
      outbox.report('state')
      outbox.report('stats')
      await time.advance(15_000)
    }
    expect([made, outbox.frames]).toEqual([0, 0])
    outbox.attach(wire)
    expect(wire.frames.map(({ type }) => type).toSorted()).toEqual(['state', 'stats'])
    expect(made).toBe(1)
  })

  it('never sends a frame twice, even if its connection broke (G10)', async () => {
    outbox.attach(wire)
    emit(0, 10)
    await time.advance(10)
    outbox.detach()
    emit(10, 20)
    const second = new Wire()
    outbox.attach(second)
    expect([wire.outputs, second.outputs]).toEqual([numbers(0, 10), numbers(10, 20)])
  })

  it('is idle when the socket has sent everything', async () => {
    outbox.attach(wire)
    wire.stuck = true
    emit(0, 1)
    let idle = false
    const waited = outbox.idle().then(() => {
      idle = true
    })
    await time.advance(50)
    expect(idle).toBe(false)
    wire.drain()
    await waited
    expect(idle).toBe(true)
  })
})
