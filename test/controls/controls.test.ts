/**
 * Shows that each control is found by its invariant, or by its test. At commit the recorded seed of a control finds it.
 * With SOAK=1 a search from a new base has to find it as well, and the controls of single tests run. Their tests also
 * run without the defect, because a test that always fails finds nothing.
 */
import { readFile } from 'node:fs/promises'
import { afterAll, describe, expect, it } from '@jest/globals'
import { overlapping } from '../kit/overlapping.ts'
import { recordRun } from '../kit/record-run.ts'
import { countMatches, readControls, searchWith, type NamedControl } from './control.ts'
import { pageWithTable, README } from './table.ts'
import {
  failureWithout,
  findWithTest,
  hasTitle,
  readElsewhere,
  readTestControls,
  type NamedTest,
} from './test-control.ts'

const CONTROL_MS = process.env['SOAK'] === '1' ? 1_800_000 : 120_000
const FRESH_SEEDS = 300
const CONTROLS = await readControls()
const TEST_CONTROLS = await readTestControls()
const ELSEWHERE = await readElsewhere()
/** Each test of TEST_CONTROLS once. */
const NAMED_TESTS = new Map<string, NamedTest>(TEST_CONTROLS.map((each) => [`${each.test}: ${each.title}`, each]))

const finderOf = async (control: NamedControl, seeds = control.seeds): Promise<string> => {
  const { violation, seeds: tried } = await searchWith(control, seeds)
  return violation?.invariant ?? `nothing within ${tried} seeds`
}

describe('controls', () => {
  it('each matches the source exactly once', async () => {
    const all = [...CONTROLS, ...TEST_CONTROLS, ...ELSEWHERE]
    const matches = await Promise.all(all.map(async (each) => [each.safeguard, await countMatches(each)]))
    expect(matches.filter(([, count]) => count !== 1)).toEqual([])
  })

  it('each has its own safeguard, and names a test that exists', async () => {
    const safeguards = [...CONTROLS, ...TEST_CONTROLS, ...ELSEWHERE].map(({ safeguard }) => safeguard)
    expect(safeguards.filter((each, at) => safeguards.indexOf(each) !== at)).toEqual([])
    const named = [...TEST_CONTROLS, ...ELSEWHERE]
    const titled = await Promise.all(named.map(hasTitle))
    expect(named.filter((_, at) => titled[at] !== true)).toEqual([])
  })

  it('are listed in the page of the controls; make controls ARGS=--table writes the list', async () => {
    expect(await readFile(README, 'utf8')).toBe(await pageWithTable())
  })

  for (const control of CONTROLS) {
    overlapping(
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

  if (process.env['SOAK'] === '1') {
    const counts = { run: 0, caught: 0 }

    for (const control of TEST_CONTROLS)
      it(
        `without "${control.safeguard}" a test of ${control.test} fails`,
        async () => {
          counts.run += 1
          expect(await findWithTest(control)).toMatchObject({ title: expect.stringContaining(control.title) })
          counts.caught += 1
        },
        CONTROL_MS,
      )

    for (const [name, test] of NAMED_TESTS)
      it(
        `without a defect this test passes: ${name}`,
        async () => expect(await failureWithout(test)).toBeUndefined(),
        CONTROL_MS,
      )

    afterAll(() => {
      if (counts.run === 0) return
      recordRun({
        layer: 'controls',
        command: 'SOAK=1 npm test -- test/controls',
        count: counts.run,
        counted: 'safeguards removed one at a time, each found by its test',
        found: counts.run - counts.caught,
      })
    })
  }
})
