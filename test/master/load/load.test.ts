import { describe, expect, it } from '@jest/globals'
import { loadOf, type LoadOptions } from '../../../src/master/load/load.ts'
import { LoadSamples, type LoadSample } from '../../../src/master/load/load-samples.ts'
import { systemRandom, VirtualTime } from '../../../src/runtime/index.ts'
import type { Counts } from '../../../src/storage/index.ts'
import { MemoryBackend } from '../../../src/storage/memory/index.ts'
import { task } from '../../storage/contract/fixture.ts'

const STEP_MS = 5_000
const OPTIONS: LoadOptions = { targetWaitSeconds: 30, slotsPerWorker: null }
const STAFF = { slots: 64, workers: 16 }

interface Numbers {
  readonly submitted?: number
  readonly acked?: number
  readonly nacked?: number
  readonly pending?: number
  readonly inFlight?: number
  readonly due?: number
}

function sample(at: number, { submitted = 0, acked = 0, nacked = 0, pending = 0, inFlight = 0, due = 0 }: Numbers) {
  const counts: Counts = {
    tiers: [0, pending, 0],
    scheduled: due,
    inFlight,
    dead: 0,
    oldestSubmittedAtMs: pending === 0 ? null : 1_000_000 + at * STEP_MS - 4_100,
    totals: { submitted, acked, nacked, died: 0 },
  }
  return { atMs: at * STEP_MS, wallMs: 1_000_000 + at * STEP_MS, counts, due } satisfies LoadSample
}
/** Samples of a steady queue. */
const steady = (count: number, perStep: Numbers, now: Numbers = {}): readonly LoadSample[] =>
  Array.from({ length: count }, (_, at) =>
    sample(at, {
      ...now,
      submitted: at * (perStep.submitted ?? 0),
      acked: at * (perStep.acked ?? 0),
      nacked: at * (perStep.nacked ?? 0),
    }),
  )

describe('the load (D139)', () => {
  it('advises the slots for the target wait, by arrivals, backlog and the time of a run', () => {
    const samples = steady(13, { submitted: 105, acked: 102 }, { pending: 812, inFlight: 39, due: 3 })
    expect(loadOf(samples, STAFF, OPTIONS)).toEqual({
      ts: 1_060,
      window_seconds: 60,
      pending: 812,
      in_flight: 39,
      scheduled_due: 3,
      backlog: 854,
      oldest_wait_seconds: 4.1,
      arrivals_per_second: 21,
      completions_per_second: 20.4,
      mean_run_seconds: 1.912,
      ...STAFF,
      wanted_slots: 109, // (21 · 1.912 + 815 · 1.912 ÷ 30) ÷ 0.85
      wanted_workers: 28,
    })
    const { wanted_slots: urgent } = loadOf(samples, STAFF, { targetWaitSeconds: 5, slotsPerWorker: 10 })
    expect(urgent).toBe(414)
    expect(loadOf(samples, STAFF, { targetWaitSeconds: 30, slotsPerWorker: 10 }).wanted_workers).toBe(11)
  })

  it('advises no scale-in until it has sampled for a minute', () => {
    for (const count of [1, 2, 12]) {
      const idle = loadOf(steady(count, {}), STAFF, OPTIONS)
      expect(idle).toMatchObject({ arrivals_per_second: null, mean_run_seconds: null, wanted_slots: 64 })
      expect(idle.wanted_workers).toBe(16)
      const few = steady(count, { submitted: 1, acked: 1 }, { inFlight: 1, pending: 1 })
      expect(loadOf(few, STAFF, OPTIONS).wanted_slots).toBe(64)
    }
    expect(loadOf(steady(13, {}), STAFF, OPTIONS)).toMatchObject({ wanted_slots: 0, wanted_workers: 0 })
  })

  it('advises at least the tasks in flight, and 0 only without backlog and arrivals', () => {
    const running = steady(13, { acked: 1 }, { inFlight: 7 })
    expect(loadOf(running, STAFF, OPTIONS).wanted_slots).toBe(7)
    const short = steady(13, { submitted: 5, acked: 5 })
    expect(loadOf(short, STAFF, OPTIONS)).toMatchObject({ mean_run_seconds: 0, wanted_slots: 1, wanted_workers: 1 })
    expect(loadOf(steady(13, { acked: 1 }, { due: 1 }), STAFF, OPTIONS).wanted_slots).toBe(1)
  })

  it('keeps the slots while tasks wait and no run has ended', () => {
    const stuck = steady(24, {}, { pending: 100, inFlight: 10 })
    expect(loadOf(stuck, STAFF, OPTIONS)).toMatchObject({ mean_run_seconds: null, wanted_slots: 64 })
    expect(loadOf(stuck, { slots: 0, workers: 0 }, OPTIONS).wanted_slots).toBe(10)
    const fromZero = steady(24, {}, { pending: 100 })
    expect(loadOf(fromZero, { slots: 0, workers: 0 }, OPTIONS)).toMatchObject({ wanted_slots: 1, wanted_workers: 1 })
  })

  it('takes the time of a run from all samples if none ended in the last minute', () => {
    const early = steady(24, {}, { inFlight: 4, pending: 30 }).map((each, at) =>
      sample(at, { acked: Math.min(at, 5), inFlight: 4, pending: each.counts.tiers[1] }),
    )
    expect(loadOf(early, STAFF, OPTIONS)).toMatchObject({ completions_per_second: 0, mean_run_seconds: 92 })
  })

  it('asks for one worker if there is none whose slots are known', () => {
    const samples = steady(13, { submitted: 105, acked: 102 }, { pending: 812, inFlight: 39 })
    const none = { slots: 0, workers: 0 }
    expect(loadOf(samples, none, OPTIONS)).toMatchObject({ wanted_slots: 109, wanted_workers: 1 })
    expect(loadOf(samples, none, { ...OPTIONS, slotsPerWorker: 4 }).wanted_workers).toBe(28)
  })
})

describe('the samples of the load (D139)', () => {
  const delayed = (id: string, notBeforeMs: number) => task(id, { notBeforeMs })

  async function fixture() {
    const time = new VirtualTime()
    const backend = new MemoryBackend({ clock: time, random: systemRandom })
    await backend.open(AbortSignal.timeout(5_000))
    const failures: unknown[] = []
    const samplesOf = () =>
      new LoadSamples(['mailer'], {
        clock: time,
        timers: time,
        tasks: backend.tasks,
        onFailed: (error) => void failures.push(error),
      })
    return { time, backend, failures, samplesOf }
  }

  it('are taken every 5 s, at most 24, and have a gap while the store fails', async () => {
    const { time, backend, failures, samplesOf } = await fixture()
    const samples = samplesOf()
    samples.start()
    await time.advance(0)
    expect(samples.of('mailer')).toHaveLength(1)
    const counts = backend.tasks.counts.bind(backend.tasks)
    backend.tasks.counts = () => Promise.reject(new Error('store'))
    await time.advance(STEP_MS)
    backend.tasks.counts = counts
    expect([samples.of('mailer').length, failures.length]).toEqual([1, 1])
    await time.advance(40 * STEP_MS)
    expect(samples.of('mailer')).toHaveLength(24)
    expect(samples.of('other')).toEqual([])
    await samples.stop()
    await time.advance(STEP_MS)
    expect(samples.of('mailer')).toHaveLength(24)
  })

  it('count tasks that are due within 30 s, and begin anew when the store lost changes', async () => {
    const { time, backend, samplesOf } = await fixture()
    const samples = samplesOf()
    const now = time.wallMs()
    await backend.tasks.submit('mailer', 60_000, [delayed('a', now + 20_000), delayed('b', now + 90_000), task('c')])
    samples.start()
    await time.advance(0)
    expect(samples.of('mailer')).toMatchObject([{ due: 1, counts: { scheduled: 2, totals: { submitted: 3 } } }])
    const counts = backend.tasks.counts.bind(backend.tasks)
    backend.tasks.counts = async (types) =>
      (await counts(types)).map((each) => ({ ...each, totals: { ...each.totals, submitted: 1 } }))
    await time.advance(STEP_MS)
    expect(samples.of('mailer')).toMatchObject([{ counts: { totals: { submitted: 1 } } }])
    await samples.stop()
  })

  it('of two masters give the same advice within one sample', async () => {
    const { time, backend, samplesOf } = await fixture()
    const [one, other] = [samplesOf(), samplesOf()]
    one.start()
    await time.advance(2_300)
    other.start()
    let serial = 0
    for (let second = 0; second < 90; second += 1) {
      const tasks = Array.from({ length: 4 }, () => task(`t${(serial += 1)}`))
      await backend.tasks.submit('mailer', 60_000, tasks)
      await time.advance(1_000)
    }
    const [first, second] = [one, other].map((each) => loadOf(each.of('mailer'), STAFF, OPTIONS))
    expect(first?.arrivals_per_second).toBeCloseTo(4, 0)
    expect(second?.arrivals_per_second).toBeCloseTo(4, 0)
    expect(Math.abs((first?.pending ?? 0) - (second?.pending ?? 0))).toBeLessThanOrEqual(4 * 5)
    expect(first?.wanted_slots).toBe(second?.wanted_slots)
    await Promise.all([one.stop(), other.stop()])
  })
})
