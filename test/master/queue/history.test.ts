import { afterEach, describe, expect, it } from '@jest/globals'
import { rangeOf, readFromMs, stepsOf } from '../../../src/master/queue/history.ts'
import { HISTORY_RESOLUTIONS, type FleetHistoryBody, type QueueHistoryBody } from '../../../src/protocol/index.ts'
import type { RollupStep } from '../../../src/storage/index.ts'
import { entryOf, QueueFixture, settled, UNAVAILABLE } from './fixture.ts'
import { Watched } from './watched.ts'

const DAY = 86_400
const NOW = 1_767_225_600 + 7
const EVERY_MS = 15_000

const range = (query: Parameters<typeof rangeOf>[0], most = 1_000) => {
  const { fromMs, toMs, stepMs, resolution } = rangeOf(query, NOW * 1_000, most)
  return [NOW - fromMs / 1_000, toMs / 1_000 - NOW, stepMs / 1_000, resolution.stepMs / 1_000]
}

describe('the range of a history', () => {
  it('is the last hour, and ends now', () => {
    expect(range({})).toEqual([3_607, 8, 15, 15])
    expect(range({ seconds: 900 })).toEqual([907, 8, 15, 15])
    expect(range({ from: NOW - 600 })).toEqual([607, 8, 15, 15])
    expect(range({ from: NOW - 7_207, seconds: 600, step: 60 })).toEqual([7_207, -6_607, 60, 60])
    expect(range({ to: NOW - 7, seconds: 600, step: 300 })).toEqual([607, -7, 300, 60])
  })

  it.each([
    [900, 15, 15],
    [3_600, 15, 15],
    [6 * 3_600, 60, 60],
    [DAY, 300, 60],
    [7 * DAY, 3_600, 900],
    [30 * DAY, 14_400, 900],
  ])('of %d s has by default steps of %d s, read from those of %d s', (seconds, step, base) => {
    expect(range({ seconds }).slice(2)).toEqual([step, base])
  })

  it('has longer default steps for all types', () => {
    expect(range({ seconds: 6 * 3_600 }, 250).slice(2)).toEqual([300, 60])
  })

  it.each([
    [{ from: 5, to: 5 }, '/from', 'must be before "to"'],
    [{ from: 5, to: 9, seconds: 60 }, '/seconds', 'cannot be combined'],
    [{ seconds: 15_015, step: 15 }, '/step', 'gives 1002 steps'],
    [{ seconds: 10_000, step: 15 }, '/step', 'which are kept for 7200 s; use a later "from" or a multiple of 60'],
    [
      { from: NOW - 3 * DAY, seconds: 600, step: 300 },
      '/step',
      'kept for 172800 s; use a later "from" or a multiple of 900',
    ],
  ] as const)('rejects %j and names the field', (query, path, message) => {
    const failing = (): unknown => rangeOf(query, NOW * 1_000, 1_000)
    expect(failing).toThrow(expect.objectContaining({ code: 'INVALID' }))
    try {
      failing()
    } catch (error) {
      expect(error).toMatchObject({ detail: [{ path, message: expect.stringContaining(message) }] })
    }
  })
})

describe('the steps of a history', () => {
  const [fine] = HISTORY_RESOLUTIONS
  const of = (rows: readonly RollupStep[], stepMs = 15_000) =>
    stepsOf(rows, { fromMs: 60_000, toMs: 240_000, stepMs, resolution: fine })
  const row = (second: number, peaks: Record<string, number>, sums = {}): RollupStep => ({
    startMs: second * 1_000,
    peaks: { n: 1, ...peaks },
    sums,
  })

  it('count from the last sample before, also over a gap', () => {
    expect(readFromMs({ fromMs: 600_000, toMs: 0, stepMs: 15_000, resolution: fine })).toBe(540_000)
    const steps = of([
      row(45, { su: 10, ac: 4 }),
      row(60, { su: 13, ac: 4, na: 1, wa: 5, ol: 1_500 }),
      { startMs: 75_000, peaks: {}, sums: { w31: 1 } },
      row(120, { su: 13, ac: 8, na: 1, di: 1 }),
    ])
    expect(steps).toMatchObject([
      { ts: 60, seconds: 15, submitted: 3, done: 0, failed: 1, died: 0, waiting: 5, oldest_seconds: 1.5, wait: null },
      { ts: 75, seconds: null, submitted: null, waiting: null, oldest_seconds: null, wait: { count: 1 } },
      { ts: 120, seconds: 60, submitted: 0, done: 4, failed: 0, died: 1, cancelled: 0, waiting: 0 },
    ])
  })

  it('know no counts before the first sample, and after the totals have fallen', () => {
    const steps = of([row(60, { su: 9 }), row(75, { su: 3 }), row(90, { su: 4 })])
    expect(steps.map(({ submitted }) => submitted)).toEqual([null, null, 1])
  })

  it('join steps of the store: sums, peaks, and all buckets', () => {
    const steps = of(
      [
        row(45, { su: 1 }),
        row(60, { su: 3, wa: 2, hi: 2 }, { r31: 98, w1: 1 }),
        row(105, { su: 5, wa: 9, hi: 0 }, { r41: 1, r51: 1 }),
      ],
      60_000,
    )
    expect(steps).toEqual([
      expect.objectContaining({
        ts: 60,
        seconds: 60,
        submitted: 4,
        waiting: 9,
        high: 2,
        run: { count: 100, p50: 1.12, p95: 1.12, p99: 11.2 },
        wait: { count: 1, p50: 0.00112, p95: 0.00112, p99: 0.00112 },
      }),
    ])
  })
})

describe('GET history', () => {
  let fixture: QueueFixture
  afterEach(() => fixture.close())
  const open = async (options: Parameters<typeof QueueFixture.open>[0] = {}): Promise<void> => {
    fixture = await QueueFixture.open(options)
    await settled(fixture)
  }
  const history = async (query = '', type = 'mailer'): Promise<QueueHistoryBody> =>
    (await fixture.call('GET', `/automations/${type}/history${query}`)).json as QueueHistoryBody

  it('has counts, gauges, and wait and run times of both ends (D166, D167)', async () => {
    await open()
    await fixture.workers(['w'])
    for (let n = 0; n < 4; n += 1) await fixture.submit()
    await fixture.time.advance(4_000)
    const leases = await fixture.take('w', 3)
    await fixture.time.advance(2_000)
    const settle = (at: number) => ({ task_id: leases[at]?.task_id ?? '', token: leases[at]?.token ?? 0 })
    await fixture.rpc('w', 'tasks.ack', { tasks: [settle(0)] })
    await fixture.rpc('w', 'tasks.nack', { tasks: [{ ...settle(1), error: 'never', permanent: true }] })
    await fixture.rpc('w', 'tasks.release', { tasks: [settle(2)] })
    await fixture.time.advance(9_000)
    const { steps, step } = await history('?seconds=60')
    expect(step).toBe(15)
    expect(steps.at(-1)).toEqual({
      ts: fixture.time.wallMs() / 1_000,
      seconds: 15,
      submitted: 4,
      done: 1,
      failed: 1,
      died: 1,
      cancelled: 0,
      waiting: 2,
      high: 0,
      normal: 2,
      low: 0,
      in_flight: 0,
      scheduled: 0,
      dead: 1,
      oldest_seconds: 15,
      wait: { count: 3, p50: 4.47, p95: 4.47, p99: 4.47 },
      run: { count: 2, p50: 2.24, p95: 2.24, p99: 2.24 },
    })
  })

  it('shows the same in minutes, and what all masters measured', async () => {
    await open()
    await fixture.workers(['w'])
    await fixture.submit()
    await fixture.time.advance(EVERY_MS)
    await fixture.deps.backend.rollups.add([{ type: 'mailer', peaks: {}, sums: { w21: 3 } }])
    await fixture.take('w', 1)
    await fixture.time.advance(4 * EVERY_MS)
    const { steps } = await history('?seconds=600&step=60')
    expect(steps).toMatchObject([
      { submitted: null, wait: { count: 4, p95: 14.1 } },
      { submitted: 0, wait: null },
    ])
  })

  it('adds latencies later if the store is unavailable, and drops them if the outcome is unknown', async () => {
    const store = new Watched()
    await open({ backend: store.wrap })
    const failing = async (outcome: 'not_sent' | 'unknown'): Promise<number> => {
      await fixture.workers([outcome])
      await fixture.submit()
      await fixture.take(outcome, 1)
      store.failure = (name) => (name === 'rollups.add' ? Object.assign(UNAVAILABLE, { outcome }) : undefined)
      await fixture.time.advance(EVERY_MS)
      store.failure = () => undefined
      await fixture.time.advance(EVERY_MS)
      return (await history('?seconds=60')).steps.reduce((sum, { wait }) => sum + (wait?.count ?? 0), 0)
    }
    expect(await failing('not_sent')).toBe(1)
    expect(await failing('unknown')).toBe(1)
  })

  it('is the same for all types, limited to those of the token, and read once for all callers', async () => {
    const store = new Watched()
    await open({ backend: store.wrap, entries: [entryOf('mailer'), entryOf('other')] })
    await fixture.submit()
    await fixture.time.advance(EVERY_MS)
    const fleet = async () => (await fixture.call('GET', '/history?seconds=60')).json as FleetHistoryBody
    const { automations, step } = await fleet()
    expect(step).toBe(15)
    expect(automations['mailer']?.at(-1)).toEqual({
      ts: fixture.time.wallMs() / 1_000,
      seconds: 15,
      submitted: 1,
      done: 0,
      failed: 0,
      died: 0,
      waiting: 1,
    })
    expect(automations['other']?.at(-1)).toMatchObject({ submitted: 0, waiting: 0 })
    const reads = store.named('rollups.read').length
    await fleet()
    expect(store.named('rollups.read')).toHaveLength(reads)
    await fixture.time.advance(5_000)
    await fleet()
    expect(store.named('rollups.read')).toHaveLength(reads + 2)
  })

  it.each(['step=16', 'step=0', 'step=86415', 'seconds=59', 'from=x', 'to=-1', 'from=5&to=5', 'seconds=9000&step=15'])(
    'refuses %s',
    async (query) => {
      await open()
      for (const path of ['/automations/mailer/history', '/history'])
        expect(await fixture.call('GET', `${path}?${query}`)).toMatchObject({ status: 422 })
    },
  )

  it('writes what was measured when the master stops', async () => {
    const store = new Watched()
    await open({ backend: store.wrap })
    await fixture.workers(['w'])
    await fixture.submit()
    await fixture.take('w', 1)
    const before = store.named('rollups.add').length
    await fixture.queue.stop()
    expect(store.named('rollups.add').slice(before)).toEqual([[[{ type: 'mailer', peaks: {}, sums: { w0: 1 } }]]])
  })
})

describe('a master that does not sample', () => {
  it('adds its latencies alone, and nothing without any', async () => {
    const store = new Watched()
    const fixture = await QueueFixture.open({ backend: store.wrap, isSampling: () => false })
    await fixture.time.advance(2 * EVERY_MS)
    expect(store.named('rollups.add')).toEqual([])
    await fixture.workers(['w'])
    await fixture.submit()
    await fixture.take('w', 1)
    await fixture.time.advance(EVERY_MS)
    expect(store.named('rollups.add')).toEqual([[[{ type: 'mailer', peaks: {}, sums: { w0: 1 } }]]])
    expect(store.named('tasks.counts')).toEqual([])
    await fixture.close()
  })
})
