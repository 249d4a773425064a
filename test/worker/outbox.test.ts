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
import { payloadsOf } from '../../src/worker-test/index.ts'

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
let canNameTasks: boolean

beforeEach(() => {
  time = new VirtualTime()
  log = recordingLog()
  wire = new Wire()
  made = 0
  canNameTasks = true
  outbox = make(WORKER_BUFFER_FRAMES)
})

function make(maxFrames: number): Outbox {
  const state = (): string =>
    JSON.stringify({ type: 'state', state: 'IDLE', config_gen: (made += 1), ts: 1, last_error: null })
  const stats = (): string => JSON.stringify({ type: 'stats', slots: 0, cpu_pct: 0, rss_mb: 1, ts: 1, metrics: {} })
  return new Outbox({
    clock: time,
    timers: time,
    log,
    reports: { state, stats },
    canNameTasks: () => canNameTasks,
    maxFrames,
  })
}

const emit = (from: number, to: number): void => {
  for (let n = from; n < to; n += 1) outbox.output(0, { n })
}
const numbers = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from }, (_, index) => from + index)
const big = (n: number): { n: number; pad: string } => ({ n, pad: 'x'.repeat(MAX_FRAME_BYTES / 2 + 1) })

describe('the outbox', () => {
  it('names the task of an output only to a master that reads it (D188)', async () => {
    const outputsIn = (frame: WorkerFrame): readonly unknown[] => {
      if (frame.type === 'output_batch') return frame.outputs
      return frame.type === 'output' ? [frame] : []
    }
    const sent = (): readonly unknown[] => wire.frames.flatMap(outputsIn)
    outbox.output(0, { n: 1 }, 't "1"')
    outbox.output(1, { n: 2 })
    await time.advance(10)
    canNameTasks = false
    outbox.attach(wire)
    expect(sent()).toEqual([
      { slot_id: 0, ts: expect.any(Number), payload: { n: 1 } },
      { slot_id: 1, ts: expect.any(Number), payload: { n: 2 } },
    ])
    canNameTasks = true
    outbox.output(0, { n: 3 }, 't "1"')
    await time.advance(10)
    expect(sent().at(-1)).toEqual({
      type: 'output',
      slot_id: 0,
      ts: expect.any(Number),
      task_id: 't "1"',
      payload: { n: 3 },
    })
  })

  it('leaves the task out of an output that would become larger than a frame', async () => {
    const beside = Buffer.byteLength('{"type":"output_batch","outputs":[{"slot_id":0,"ts":0,"payload":{"pad":""}}]}')
    outbox.attach(wire)
    outbox.output(0, { pad: 'x'.repeat(MAX_FRAME_BYTES - beside - 40) }, 't'.repeat(256))
    await time.advance(10)
    expect(wire.frames.at(-1)).toEqual({
      type: 'output',
      slot_id: 0,
      ts: expect.any(Number),
      payload: expect.anything(),
    })
  })

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

  it('sends a report immediately, except to a full socket, which gets it when it has drained', () => {
    outbox.attach(wire)
    outbox.report('state')
    expect(wire.frames.map(({ type }) => type)).toEqual(['state', 'stats', 'state'])
    wire.stuck = true
    outbox.report('stats')
    wire.bufferedAmount = SOCKET_HIGH_BYTES
    outbox.report('state')
    expect(wire.frames.slice(3).map(({ type }) => type)).toEqual(['stats'])
    wire.drain()
    expect(wire.frames.slice(3).map(({ type }) => type)).toEqual(['stats', 'state'])
  })

  it('sends state before stats to a new connection, whatever was due', () => {
    outbox.report('stats')
    outbox.attach(wire)
    expect(wire.frames.map(({ type }) => type)).toEqual(['state', 'stats'])
  })

  it('keeps outputs together for 10 ms while a full socket drains, and sends older ones then', async () => {
    wire.stuck = true
    outbox.attach(wire)
    emit(0, 1)
    await time.advance(5)
    wire.drain()
    emit(1, 2)
    expect(wire.outputs).toEqual([])
    await time.advance(5)
    expect(wire.outputs).toEqual([0, 1])
    wire.stuck = true
    outbox.report('state')
    wire.bufferedAmount = SOCKET_HIGH_BYTES
    emit(2, 3)
    await time.advance(10)
    expect(wire.outputs).toEqual([0, 1])
    wire.drain()
    expect(wire.outputs).toEqual([0, 1, 2])
  })

  it('sends nothing to a connection that was detached', async () => {
    outbox.attach(wire)
    outbox.detach()
    outbox.report('state')
    emit(0, 1)
    await time.advance(10)
    expect([wire.texts.length, outbox.frames]).toEqual([2, 1])
  })

  it('is idle without a connection only when nothing waits, and sends what waits when asked', async () => {
    await outbox.idle()
    emit(0, 1)
    let idle = false
    const waited = outbox.idle().then(() => {
      idle = true
    })
    await time.advance(1_000)
    expect(idle).toBe(false)
    outbox.attach(wire)
    await waited
    emit(1, 2)
    await outbox.idle()
    expect(wire.outputs).toEqual([0, 1])
  })

  it('fills frames to the last byte of their maximum', async () => {
    outbox.attach(wire)
    outbox.output(0, { pad: '' })
    await time.advance(1_000)
    const entry = // Whole seconds keep the length of `ts`.
      Buffer.byteLength(wire.texts[2] ?? '') - '"type":"output",'.length
    const room = MAX_FRAME_BYTES - '{"type":"output_batch","outputs":[]}'.length
    const pad = (bytes: number) => ({ pad: 'x'.repeat(bytes) })
    expect(() => outbox.output(0, pad(room - entry))).toThrow(
      new RangeError(
        `the output has ${room + 1} bytes as JSON, and the maximum is ${MAX_FRAME_BYTES}; ` +
          'emit it in parts, or emit a reference to it',
      ),
    )
    outbox.output(0, pad(room - entry - 1))
    await time.advance(1_000)
    for (const more of [0, 1]) {
      outbox.output(0, pad(1_000))
      outbox.output(0, pad(room - 2 * entry - 1_000 - 2 + more))
      await time.advance(1_000)
    }
    expect(wire.frames.slice(3).map(({ type }) => type)).toEqual(['output', 'output_batch', 'output', 'output'])
  })

  it('counts only waiting frames towards its bound (G11)', async () => {
    outbox.attach(wire)
    for (let n = 0; n < 40; n += 1) {
      outbox.output(0, big(n))
      await time.advance(10)
    }
    outbox.detach()
    for (let n = 40; n < 60; n += 1) outbox.output(0, big(n))
    expect([outbox.frames, outbox.outputsEvicted]).toEqual([20, 0])
  })

  it('warns about dropped outputs at most once a minute, with their number (G11)', async () => {
    outbox = make(1)
    for (const waitMs of [59_999, 1, 60_000]) {
      emit(0, 1_001)
      await time.advance(waitMs)
    }
    emit(0, 1_001)
    const message = 'output buffer full: dropping the oldest outputs until the master is reachable'
    expect(log.lines).toEqual(
      [1_000, 3_000, 4_000].map((evicted) => ({ level: 'warn', message, fields: { outputs_evicted: evicted } })),
    )
  })
})
