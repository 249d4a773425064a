import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { Backoff, seededRandom } from '../../src/runtime/index.ts'

describe('Backoff', () => {
  it('doubles from the base up to the cap, and restarts after a reset', () => {
    const backoff = new Backoff({ baseMs: 1_000, capMs: 30_000, random: { ...seededRandom(1), unit: () => 1 } })
    expect(Array.from({ length: 7 }, () => backoff.nextMs())).toEqual([
      1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000,
    ])
    backoff.reset()
    expect(backoff.nextMs()).toBe(1_000)
  })

  it('draws each delay from [floor·d, d], after any number of failures', () => {
    fc.assert(
      fc.property(fc.nat({ max: 5_000 }), fc.integer(), fc.constantFrom(0, 0.5), (failures, seed, floor) => {
        const backoff = new Backoff({ baseMs: 100, capMs: 10_000, random: seededRandom(seed), floor })
        for (let failure = 0; failure < failures; failure += 1) backoff.nextMs()
        const full = Math.min(10_000, 100 * 2 ** Math.min(failures, 20))
        const delay = backoff.nextMs()
        expect(delay).toBeGreaterThanOrEqual(full * floor)
        expect(delay).toBeLessThanOrEqual(full)
      }),
      { numRuns: 50 },
    )
  })
})

describe('seededRandom', () => {
  it('repeats for the same seed and differs for another', () => {
    const draw = (seed: number) => {
      const random = seededRandom(seed)
      return [random.unit(), random.uuid(), [...random.bytes(4)]]
    }
    expect(draw(7)).toEqual(draw(7))
    expect(draw(7)).not.toEqual(draw(8))
    expect(draw(7)[1]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/)
  })
})
