/** Searches seeds of the simulation for violations. */
import { describe, expect, it } from '@jest/globals'
import { simulate } from './simulate.ts'

/** At commit. `make simulate SEEDS=10000` searches more. */
const SEEDS = process.env['SOAK'] === '1' ? 5_000 : 40
const TWICE = process.env['SOAK'] === '1' ? 100 : 5
const SEARCH_MS = process.env['SOAK'] === '1' ? 7_200_000 : 300_000

/** Situations that the seeds at commit must reach, or they would not test much. */
const MUST_HAPPEN = [
  'ack acknowledged',
  'ack repeated',
  'dead',
  'duplicate',
  'lease expired',
  'leased again',
  'stale settle',
  'store restarted',
  'submit acknowledged',
]

describe('simulation', () => {
  it(
    'finds no violation, gives the same hash for the same seed, and leaves nothing open (G1, G2, G3, G4, G5)',
    async () => {
      const args = ['--base', '0', '--seeds', String(SEEDS), '--twice', String(TWICE), '--shrink']
      const { counted, plan, shrunk, ...result } = await simulate(args)
      const repeat =
        plan === null
          ? ''
          : `make simulate SEED=0x${plan.seed.toString(16)} repeats it: ${JSON.stringify(shrunk?.plan)}`
      expect({ ...result, repeat }).toMatchObject({ violation: null, repeat: '', differing: null, leftOpen: [] })
      expect(MUST_HAPPEN.filter((what) => counted[what] === undefined)).toEqual([])
    },
    SEARCH_MS,
  )
})
