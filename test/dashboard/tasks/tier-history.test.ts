import { describe, expect, it } from '@jest/globals'
import type { QueueSample } from '../../../src/protocol/index.ts'
import { areaPoints, mostWaiting, ratesOf, runsOf } from '../../../src/dashboard/tasks/tier-history.ts'

const sample = (ts: number, part: Partial<QueueSample> = {}): QueueSample => ({
  ts,
  high: 1,
  normal: 2,
  low: 3,
  in_flight: 0,
  scheduled: 0,
  dead: 0,
  submitted: ts * 2,
  acked: ts,
  nacked: 0,
  died: 0,
  ...part,
})

describe('the history of a queue', () => {
  it('has a gap where samples are missing', () => {
    expect(
      runsOf([sample(0), sample(15), sample(60), sample(120), sample(135)]).map((run) => run.map(({ ts }) => ts)),
    ).toEqual([
      [0, 15, 60],
      [120, 135],
    ])
    expect(runsOf([])).toEqual([])
  })

  it('stacks the tiers with high at the bottom', () => {
    const box = { width: 100, height: 60, fromTs: 0, toTs: 20, most: 6 }
    const run = [sample(0), sample(20)]
    expect(areaPoints(run, 'high', box)).toBe('0,50 100,50 100,60 0,60')
    expect(areaPoints(run, 'normal', box)).toBe('0,30 100,30 100,50 0,50')
    expect(areaPoints(run, 'low', box)).toBe('0,0 100,0 100,30 0,30')
    expect(mostWaiting(run)).toBe(6)
  })

  it('computes rates per minute from the totals, and none if a total decreased', () => {
    expect(ratesOf([sample(0), sample(30), sample(60), sample(75)])).toEqual({
      submitted: 120,
      acked: 60,
      nacked: 0,
      died: 0,
    })
    expect(ratesOf([sample(0), sample(15, { submitted: 0, acked: -1 })])).toBeNull()
    expect(ratesOf([sample(0)])).toBeNull()
    expect(ratesOf([sample(0), sample(100)])).toBeNull()
  })
})
