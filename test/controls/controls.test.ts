/**
 * Shows that each control is found by its invariant. At commit its recorded seed finds it; with SOAK=1 a search from a
 * new base has to find it as well.
 */
import { describe, expect, it } from '@jest/globals'
import { countMatches, readControls, searchWith, type NamedControl } from './control.ts'

const CONTROL_MS = process.env['SOAK'] === '1' ? 1_800_000 : 120_000
const FRESH_SEEDS = 300
const CONTROLS = await readControls()

const finderOf = async (control: NamedControl, seeds = control.seeds): Promise<string> => {
  const { violation, seeds: tried } = await searchWith(control, seeds)
  return violation?.invariant ?? `nothing within ${tried} seeds`
}

describe('controls', () => {
  it('each matches the source exactly once', async () => {
    const matches = await Promise.all(CONTROLS.map(async (each) => [each.name, await countMatches(each)]))
    expect(matches.filter(([, count]) => count !== 1)).toEqual([])
  })

  for (const control of CONTROLS) {
    it(
      `"${control.name}" is found by ${control.invariant} from its recorded seed`,
      async () => expect(await finderOf(control)).toBe(control.invariant),
      CONTROL_MS,
    )

    if (process.env['SOAK'] === '1')
      it(
        `"${control.name}" is found by ${control.invariant} from a new seed`,
        async () => {
          const base = Math.floor(Math.random() * 0x1000_0000)
          expect({ base, found: await finderOf(control, { base, count: FRESH_SEEDS }) }).toEqual({
            base,
            found: control.invariant,
          })
        },
        CONTROL_MS,
      )
  }
})
