/** Limits of running and waiting inspections, and their cancellation when the client disconnects. */
import { describe, expect, it } from '@jest/globals'
import { Registry } from 'prom-client'
import { Inspections, type InspectionBody } from '../../../src/master/inspections/index.ts'
import { JsonChunks } from '../../../src/master/http/route.ts'
import { RESPONSE_PIECE_BYTES, INSPECTIONS, MAX_RESPONSE_BYTES } from '../../../src/protocol/index.ts'
import { VirtualTime } from '../../../src/runtime/index.ts'

const PIECE = 'x'.repeat(RESPONSE_PIECE_BYTES)

function makeInspections() {
  const time = new VirtualTime()
  const metrics = new Registry()
  const inspections = new Inspections({ clock: time, timers: time, metrics })
  const caller = (key: string, signal = new AbortController().signal) => ({ principal: { key }, signal })
  const held = async (): Promise<number> =>
    Number(/^svc_inspection_bytes (?<bytes>\d+)$/m.exec(await metrics.metrics())?.groups?.['bytes'])
  return { time, inspections, caller, held, metrics }
}

/** Reads `pieces` of 1 MiB each, and counts them. */
function reader(pieces: number): {
  readonly read: (out: InspectionBody) => Promise<void>
  readonly counts: { begun: number }
} {
  const counts = { begun: 0 }
  const read = async (out: InspectionBody): Promise<void> => {
    for (let i = 0; i < pieces; i += 1) {
      out.items([
        await out.read(async () => {
          counts.begun += 1
          return PIECE
        }),
      ])
    }
  }
  return { read, counts }
}

const forever = (): Promise<void> => new Promise(() => {})

describe('inspections', () => {
  it('run a few at a time per token, while another token gets a place (D82)', async () => {
    const { inspections, caller, time } = makeInspections()
    let running = 0
    const begin = (): Promise<void> => {
      running += 1
      return forever()
    }
    for (let i = 0; i < 8; i += 1) void inspections.respond(caller('loud'), begin)
    await time.advance(0)
    expect(running).toBe(INSPECTIONS.runningPerToken)
    void inspections.respond(caller('quiet'), begin)
    await time.advance(0)
    expect(running).toBe(INSPECTIONS.runningPerToken + 1)
  })

  it('are rejected with 503 when too many of the same token wait, but not for another token (D82)', async () => {
    const { inspections, caller, metrics } = makeInspections()
    for (let i = 0; i < INSPECTIONS.runningPerToken + INSPECTIONS.waitingPerToken; i += 1)
      void inspections.respond(caller('loud'), forever)
    await expect(inspections.respond(caller('loud'), forever)).rejects.toMatchObject({
      code: 'OVERLOADED',
      retryAfterSeconds: 1,
    })
    expect(await metrics.metrics()).toContain('svc_inspections_refused_total{scope="token"} 1')
    expect(await inspections.respond(caller('quiet'), async () => {})).toBeDefined()
  })

  it('do not reach the store when their client disconnects before the start, or between two pieces (D82)', async () => {
    const { inspections, caller, time } = makeInspections()
    const [first, second] = [new AbortController(), new AbortController()]
    for (let i = 0; i < INSPECTIONS.runningPerToken; i += 1)
      void inspections.respond(caller('t', first.signal), forever)
    const late = reader(1)
    const waiting = inspections.respond(caller('t', second.signal), late.read)
    second.abort(new Error('gone'))
    await expect(waiting).rejects.toThrow('gone')
    expect(late.counts.begun).toBe(0)

    const abort = new AbortController()
    const { read, counts } = reader(MAX_RESPONSE_BYTES / RESPONSE_PIECE_BYTES)
    const reading = inspections.respond(caller('other', abort.signal), read)
    reading.catch(() => {})
    await time.advance(0)
    const begun = counts.begun
    expect(begun).toBeGreaterThan(0)
    abort.abort(new Error('gone'))
    await expect(reading).rejects.toThrow('gone')
    await time.advance(10_000)
    expect(counts.begun).toBe(begun)
  })

  it('read at most the bytes per second of their token (D82)', async () => {
    const { inspections, caller, time } = makeInspections()
    const { read, counts } = reader(30)
    void inspections.respond(caller('t'), read)
    await time.advance(0)
    const burst = counts.begun
    expect(burst).toBeLessThanOrEqual(INSPECTIONS.burstBytesPerToken / RESPONSE_PIECE_BYTES + 1)
    await time.advance(1_000)
    expect(counts.begun - burst).toBeLessThanOrEqual(INSPECTIONS.bytesPerSecondPerToken / RESPONSE_PIECE_BYTES + 1)
    expect(counts.begun - burst).toBeGreaterThanOrEqual(INSPECTIONS.bytesPerSecondPerToken / RESPONSE_PIECE_BYTES - 1)
  })

  it('buffer a bounded number of bytes for slow clients, and none after those disconnect (D82)', async () => {
    const { inspections, caller, time, held } = makeInspections()
    const bodies: JsonChunks[] = []
    for (let i = 0; i < 10; i += 1) {
      void inspections.respond(caller('t'), reader(31).read).then(({ body }) => {
        if (body instanceof JsonChunks) bodies.push(body)
      })
    }
    await time.advance(60_000)
    expect(bodies).toHaveLength(INSPECTIONS.runningPerToken) // One more would exceed the share of the token.
    expect(await held()).toBeLessThanOrEqual(INSPECTIONS.bytesPerToken)
    for (let sent = 0; sent < 10; sent += 1) {
      bodies[sent]?.onSent()
      await time.advance(60_000)
    }
    expect(bodies).toHaveLength(10)
    expect(await held()).toBe(0)
  })
})
