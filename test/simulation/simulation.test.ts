/** Searches seeds of the simulation for violations. */
import { describe, expect, it } from '@jest/globals'
import { MUST_HAPPEN } from './must-happen.ts'
import { simulate } from './simulate.ts'

/** At commit, and nightly as `make simulate SEEDS=10000` does. */
const SEEDS = process.env['SOAK'] === '1' ? 10_000 : 40
const TWICE = process.env['SOAK'] === '1' ? 100 : 5
const SEARCH_MS = process.env['SOAK'] === '1' ? 7_200_000 : 660_000

describe('simulation', () => {
  it(
    'finds no violation, gives the same hash for the same seed, and leaves nothing open (G1 to G18, G26)',
    async () => {
      const numbers = { base: 0, seeds: SEEDS, twice: TWICE, processes: 2 }
      const args = Object.entries(numbers).flatMap(([name, value]) => [`--${name}`, String(value)])
      const { counted, plan, shrunk, ...result } = await simulate([...args, '--shrink'])
      const repeat =
        plan === null
          ? ''
          : `make simulate SEED=0x${plan.seed.toString(16)} repeats it: ${JSON.stringify(shrunk?.plan)}`
      expect({ ...result, repeat }).toMatchObject({
        violation: null,
        repeat: '',
        differing: null,
        leftOpen: [],
        neverReached: [],
      })
      const missing = Object.entries(MUST_HAPPEN).filter(([situation, least]) => (counted[situation] ?? 0) < least)
      expect(missing).toEqual([])
    },
    SEARCH_MS,
  )
})
