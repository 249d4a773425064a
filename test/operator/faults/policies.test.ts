/**
 * Runs one fault at a time at every point of the scenarios. SOAK=1 runs all scenarios and all faulty responses.
 * POINT='…' repeats one point.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { failedWrites, interrupted, intermediate, record, run, stale, unobserved, type Policy } from './policies.ts'
import { FIRST, INTERRUPTED, RECREATION, REST, type Scenario } from './scenarios.ts'
import { startMasters, type Masters } from './fixture.ts'

const isSoak = process.env['SOAK'] === '1'
const { POINT } = process.env
const SCENARIOS = isSoak ? [...FIRST, ...REST] : FIRST
const TIMEOUT_MS = isSoak ? 600_000 : 120_000

let masters: Masters
beforeAll(async () => {
  masters = await startMasters()
})
afterAll(() => masters.stop())

/** @returns the failures, by point. */
async function failures(scenario: Scenario, policy: Policy): Promise<readonly string[]> {
  const recording = await record(masters, scenario)
  if (scenario.next === undefined) expect(await run(masters, scenario)).toBeUndefined()
  const points = policy(recording, scenario).map((point) => ({ ...point, name: `${scenario.name}: ${point.name}` }))
  expect(points.length).toBeGreaterThan(0)
  const found: string[] = []
  for (const point of points.filter(({ name }) => POINT === undefined || name === POINT)) {
    const wrong = await run(masters, scenario, point)
    if (wrong !== undefined) found.push(`POINT='${point.name}' npm test -- test/operator/faults/policies\n  ${wrong}`)
  }
  return found
}

describe('the operator, with a fault at any point of', () => {
  it.each(SCENARIOS)(
    '$name: is killed, and another operator continues (G19, G20)',
    async (scenario) => {
      expect(await failures(scenario, intermediate)).toEqual([])
    },
    TIMEOUT_MS,
  )

  it.each(SCENARIOS)(
    '$name: misses one event (G22)',
    async (scenario) => {
      expect(await failures(scenario, unobserved)).toEqual([])
    },
    TIMEOUT_MS,
  )

  it.each(isSoak ? SCENARIOS : [...SCENARIOS, RECREATION])(
    '$name: reads an older view after a restart (G21)',
    async (scenario) => {
      expect(await failures(scenario, stale)).toEqual([])
    },
    TIMEOUT_MS,
  )

  it.each(INTERRUPTED)(
    '$name: users continue to edit while a write is lost or late (G19, G21)',
    async (scenario) => {
      expect(await failures(scenario, interrupted)).toEqual([])
    },
    TIMEOUT_MS,
  )

  it.each(SCENARIOS)(
    '$name: gets a faulty response (G19)',
    async (scenario) => {
      expect(await failures(scenario, failedWrites)).toEqual([])
    },
    TIMEOUT_MS,
  )
})
