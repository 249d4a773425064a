/** Searches seeds of the simulation for violations. */
import { describe, expect, it } from '@jest/globals'
import { MUST_HAPPEN } from './must-happen.ts'
import { simulate } from './simulate.ts'

/** At commit. `make simulate SEEDS=10000` searches more. */
const SEEDS = process.env['SOAK'] === '1' ? 5_000 : 40
const TWICE = process.env['SOAK'] === '1' ? 100 : 5
const SEARCH_MS = process.env['SOAK'] === '1' ? 7_200_000 : 300_000

describe('simulation', () => {
  it(
    'finds no violation, gives the same hash for the same seed, and leaves nothing open (G1 to G18, G26)',
    async () => {
      const args = ['--base', '0', '--seeds', String(SEEDS), '--twice', String(TWICE), '--shrink']
      const { counted, plan, shrunk, ...result } = await simulate(args)
      const repeat =
        plan === null
          ? ''
          : `make simulate SEED=0x${plan.seed.toString(16)} repeats it: ${JSON.stringify(shrunk?.plan)}`
      expect({ ...result, repeat }).toMatchObject({ violation: null, repeat: '', differing: null, leftOpen: [] })
      const missing = Object.entries(MUST_HAPPEN).filter(([situation, least]) => (counted[situation] ?? 0) < least)
      expect(missing).toEqual([])
    },
    SEARCH_MS,
  )
})
