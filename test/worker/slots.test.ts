import { beforeEach, describe, expect, it } from '@jest/globals'
import { SlotStopped, type AppliedConfig, type SlotControl } from '../../src/automation/index.ts'
import { seededRandom, VirtualTime } from '../../src/runtime/index.ts'
import { Slots } from '../../src/worker/slots.ts'
import { recordingLog, type RecordingLog } from './fixtures.ts'

interface Run {
  readonly slotId: number
  readonly why: () => string | null
  readonly killed: () => boolean
  readonly end: (error?: Error) => void
}

let time: VirtualTime
let log: RecordingLog
let runs: Run[]
let spawnErrors: (string | null)[]
let endsImmediately: boolean
let failing: boolean
let slots: Slots

beforeEach(() => {
  time = new VirtualTime()
  log = recordingLog()
  runs = []
  spawnErrors = []
  endsImmediately = true
  failing = false
  slots = make(null)
})

/** Creates slots whose runs end when they are stopped, or when the test ends them. */
function make(endWithinMs: number | null): Slots {
  return new Slots({
    clock: time,
    timers: time,
    random: seededRandom(2),
    log,
    workerId: 'w1',
    endWithinMs,
    run: (control) => (failing ? Promise.reject(new Error('no memory')) : running(control)),
    onSpawnError: (message) => void spawnErrors.push(message),
    onChange: () => {},
    onGone: () => {},
  })
}

function running({ slotId, stopping, killed }: SlotControl): Promise<void> {
  return new Promise((resolve, reject) => {
    const why = (): string | null => (stopping.aborted ? (stopping.reason as SlotStopped).why : null)
    runs.push({
      slotId,
      why,
      killed: () => killed.aborted,
      end: (error) => (error === undefined ? resolve() : reject(error)),
    })
    stopping.addEventListener('abort', () => void (endsImmediately && resolve()), { once: true })
    killed.addEventListener('abort', () => resolve(), { once: true })
  })
}

const config = (more: Partial<AppliedConfig>): AppliedConfig => ({
  enabled: true,
  slots: 1,
  max_attempts: 3,
  recycle_seconds: 0,
  ...more,
})
const apply = async (more: Partial<AppliedConfig>): Promise<void> => {
  slots.apply(config(more))
  await time.advance(0)
}
const alive = (): readonly number[] => runs.filter((run) => run.why() === null).map(({ slotId }) => slotId)

describe('the slots', () => {
  it('runs as many slots as requested, and none when disabled', async () => {
    await apply({ enabled: false, slots: 5 })
    expect(runs).toEqual([])
    await apply({ slots: 3 })
    expect(alive()).toEqual([0, 1, 2])
  })

  it('starts the missing slots when the target is raised, and leaves running ones alone', async () => {
    await apply({ slots: 2 })
    await apply({ slots: 5 })
    expect(runs.map((run) => [run.slotId, run.why()])).toEqual([0, 1, 2, 3, 4].map((id) => [id, null]))
  })

  it('stops the oldest slots first when the target is lowered', async () => {
    await apply({ slots: 1 })
    await time.advance(1_000)
    await apply({ slots: 4 })
    await apply({ slots: 2 })
    expect(runs.map((run) => run.why())).toEqual(['slots', 'slots', null, null])
  })

  it('stops its slots with "disabled" when the config is disabled', async () => {
    await apply({ slots: 2 })
    await apply({ slots: 2, enabled: false })
    expect(runs.map((run) => run.why())).toEqual(['disabled', 'disabled'])
    expect(slots.size).toBe(0)
  })

  it('never runs more than `slots` slots, including those that are stopping', async () => {
    endsImmediately = false
    await apply({ slots: 3 })
    await apply({ slots: 1 })
    await apply({ slots: 3 })
    expect([runs.length, slots.size]).toEqual([3, 3])
    runs[0]?.end()
    await time.advance(0)
    expect([runs.length, slots.size, runs[3]?.slotId]).toEqual([4, 3, 0])
  })

  it('replaces a slot at the age of recycle_seconds, after the old one has ended', async () => {
    endsImmediately = false
    await apply({ slots: 1, recycle_seconds: 60 })
    await time.advance(59_000)
    expect(runs[0]?.why()).toBeNull()
    await time.advance(1_000)
    expect(runs.map((run) => run.why())).toEqual(['recycle'])
    runs[0]?.end()
    await time.advance(0)
    expect(runs.map((run) => run.why())).toEqual(['recycle', null])
    await apply({ slots: 1, recycle_seconds: 0 })
    await time.advance(600_000)
    expect(runs).toHaveLength(2)
  })

  it('logs a failed spawn and retries with growing delays until it succeeds', async () => {
    failing = true
    await apply({ slots: 2 })
    expect(spawnErrors).toContain('slot 0 failed to start: no memory')
    await time.advance(120_000)
    const tries = log.lines.filter(({ level }) => level === 'error').length
    expect(tries).toBeGreaterThan(3)
    expect(tries).toBeLessThan(12)
    failing = false
    await time.advance(60_000)
    expect(alive()).toEqual([0, 1])
    await time.advance(10_000)
    expect(spawnErrors.at(-1)).toBeNull()
  })

  it('treats a slot that ended by itself as a failed spawn, and leaves the others alone (G25)', async () => {
    await apply({ slots: 3 })
    runs[1]?.end(new Error('torn'))
    await time.advance(0)
    expect([slots.size, spawnErrors]).toEqual([2, ['slot 1 failed to start: torn']])
    await time.advance(1_000)
    expect(runs.map(({ slotId }) => slotId)).toEqual([0, 1, 2, 1])
    expect([runs[0]?.why(), runs[2]?.why()]).toEqual([null, null])
  })

  it('kills a continuous slot that does not stop in time, but never a batch slot (D53)', async () => {
    endsImmediately = false
    await apply({ slots: 1 })
    await apply({ slots: 0 })
    await time.advance(3_600_000)
    expect(runs[0]?.killed()).toBe(false)
    slots = make(30_000)
    await apply({ slots: 1 })
    await apply({ slots: 0 })
    await time.advance(29_000)
    expect(runs[1]?.killed()).toBe(false)
    await time.advance(1_000)
    expect([runs[1]?.killed(), slots.size]).toEqual([true, 0])
  })

  it('starts no slots while draining, even after a new config', async () => {
    await apply({ slots: 2 })
    let over = false
    void slots.drain('drain').then(() => {
      over = true
    })
    await apply({ slots: 9 })
    expect([over, runs.length, runs.map((run) => run.why())]).toEqual([true, 2, ['drain', 'drain']])
  })
})
