import { beforeEach, describe, expect, it } from '@jest/globals'
import { VirtualTime } from '../../src/runtime/index.ts'
import { Drain } from '../../src/worker/drain.ts'
import { recordingLog, type RecordingLog } from './fixtures.ts'

const forever = (): Promise<void> => new Promise(() => {})

let time: VirtualTime
let log: RecordingLog
let steps: string[]
let slotsGone: () => void
let lastSettle: () => Promise<void>
let lastOutput: () => Promise<void>
let drain: Drain

beforeEach(() => {
  time = new VirtualTime()
  log = recordingLog()
  steps = []
  slotsGone = () => {}
  lastSettle = async () => void steps.push('settled')
  lastOutput = async () => void steps.push('sent')
  drain = new Drain({
    timers: time,
    log,
    drainTimeoutMs: 30_000,
    visibilityMs: 60_000,
    slots: {
      drain: (why) => {
        steps.push(`slots stopped: ${why}`)
        return new Promise((resolve) => {
          slotsGone = resolve
        })
      },
      kill: () => {
        steps.push('killed')
        slotsGone()
      },
    },
    feed: { stop: async (graceMs) => void steps.push(`reserving ends within ${graceMs}`) },
    leases: { size: 0, releaseAll: () => void steps.push('released'), stop: () => {} },
    outcomes: { idle: () => lastSettle() },
    outbox: { idle: () => lastOutput() },
    close: async () => void steps.push('closed'),
  })
})

async function overAt(form: 'drain' | 'shutdown' | 'crash'): Promise<() => number | undefined> {
  let atMs: number | undefined
  void drain.begin(form, 'a test').then(() => {
    atMs = time.monotonicMs()
  })
  await time.advance(0)
  return () => atMs
}

describe('the drain of a worker', () => {
  it('waits for slots without deadline after a drain frame, then releases, settles, sends, closes (G14)', async () => {
    const over = await overAt('drain')
    await time.advance(86_400_000)
    expect(over()).toBeUndefined()
    slotsGone()
    await time.advance(0)
    expect(steps).toEqual([
      'reserving ends within 1000',
      'slots stopped: drain',
      'released',
      'settled',
      'sent',
      'closed',
    ])
    expect([over(), time.pending]).toEqual([86_400_000, 0])
  })

  it('interrupts the slots at the deadline after SIGTERM (D53)', async () => {
    const over = await overAt('shutdown')
    await time.advance(29_999)
    expect(steps).not.toContain('killed')
    await time.advance(1)
    expect([steps.includes('killed'), over(), time.pending]).toEqual([true, 30_000, 0])
  })

  it('interrupts the slots immediately after a crash, even during a SIGTERM drain (D95)', async () => {
    const over = await overAt('shutdown')
    await time.advance(1_000)
    void drain.begin('crash', 'uncaught exception')
    await time.advance(0)
    expect([over(), steps]).toEqual([
      1_000,
      ['reserving ends within 250', 'slots stopped: shutdown', 'killed', 'released', 'settled', 'sent', 'closed'],
    ])
    expect(time.pending).toBe(0)
  })

  it('waits at most 6 s for the last outcomes after a crash (D95)', async () => {
    lastSettle = forever
    const over = await overAt('crash')
    await time.advance(6_000)
    expect(over()).toBe(6_000)
  })

  it('adds the deadline of a SIGTERM during a drain, once (D53)', async () => {
    const over = await overAt('drain')
    await time.advance(100_000)
    void drain.begin('shutdown', 'SIGTERM')
    void drain.begin('shutdown', 'SIGTERM again')
    await time.advance(30_000)
    expect([over(), steps.filter((step) => step === 'killed')]).toEqual([130_000, ['killed']])
  })

  it('stops waiting for an unavailable master', async () => {
    lastSettle = forever
    lastOutput = forever
    const over = await overAt('shutdown')
    await time.advance(40_000)
    expect(over()).toBe(39_000)
    expect(log.lines.filter(({ level }) => level !== 'info').map(({ message }) => message)).toEqual([
      expect.stringContaining('outcomes'),
      expect.stringContaining('outputs'),
    ])
  })

  it('waits for outcomes after a drain frame until their leases have expired', async () => {
    lastSettle = forever
    const over = await overAt('drain')
    slotsGone()
    await time.advance(59_999)
    expect(over()).toBeUndefined()
    await time.advance(1)
    expect(over()).toBe(60_000)
  })
})
