/** Searches seeds of the simulation for violations, and shows that each control is found by its invariant. */
import { describe, expect, it } from '@jest/globals'
import { readControls, searchWith, simulate } from './control.ts'

/** At commit. `make simulate SEEDS=10000` searches more. */
const SEEDS = process.env['SOAK'] === '1' ? 5_000 : 40
const TWICE = process.env['SOAK'] === '1' ? 100 : 5
const SEARCH_MS = process.env['SOAK'] === '1' ? 7_200_000 : 300_000
const CONTROL_MS = 300_000
const CONTROLS = await readControls()

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
      const { counted, plan, ...result } = await simulate(['--seeds', String(SEEDS), '--twice', String(TWICE)])
      const repeat =
        plan === null ? '' : `make simulate SEED=${plan.seed} repeats it. The plan: ${JSON.stringify(plan)}`
      expect({ ...result, repeat }).toMatchObject({ violation: null, repeat: '', differing: null, leftOpen: [] })
      expect(MUST_HAPPEN.filter((what) => counted[what] === undefined)).toEqual([])
    },
    SEARCH_MS,
  )
})

describe('simulation: controls', () => {
  for (const control of CONTROLS) {
    it(
      `finds "${control.name}" by ${control.invariant}`,
      async () => {
        const { violation, seeds } = await searchWith(control)
        expect(violation?.invariant ?? `nothing within ${seeds} seeds`).toBe(control.invariant)
      },
      CONTROL_MS,
    )
  }
})
