import { describe, expect, it } from '@jest/globals'
import { axisText, axisTop } from '../../../src/dashboard/charts/figures.ts'
import { tickText } from '../../../src/dashboard/charts/ticks.ts'

describe('the axis of values', () => {
  it('has compact labels with units', () => {
    const labels = [axisText(346_897, 'per second'), axisText(300, 'MB'), axisText(0.4, '%'), axisText(90, 'seconds')]
    expect(labels).toEqual(['346.9K', '300 MB', '0.4 %', '1.5 min'])
  })

  it('of a small share ends near it, not at 100 %', () => {
    expect([0, 0.4, 4, 30, 90, 100].map((max) => axisTop('%', max))).toEqual([1, 1, 5, 50, 100, 100])
  })

  it('ends above the largest value', () => {
    for (const unit of ['', 'MB', 'seconds']) expect(axisTop(unit, 250)).toBeGreaterThan(250)
    expect(axisTop('%', 640)).toBeGreaterThan(640) // A worker on several processors.
    expect([axisTop('', 0), axisTop('seconds', 0)]).toEqual([1, 1])
  })
})

describe('the axis of times', () => {
  const at = (hour: number): number => Date.UTC(2026, 10, 22, hour) / 1_000

  it('has times, with seconds where steps are short, and the date where a day begins', () => {
    const labels = [tickText(at(14), 900, true), tickText(at(14), 15, true), tickText(at(0), 3_600, true)]
    expect(labels).toEqual(['14:00', '14:00:00', '22 Nov'])
    expect(tickText(at(14), 86_400, true)).toBe('22 Nov')
  })
})
