/**
 * Tests the default gates on simulated rollouts. Of an equal config hardly any rollout is stopped by noise, also if
 * runs of one worker are correlated. Of a config with which 30 % of the runs fail instead of 2 %, nearly every one is
 * stopped in the first two stages. SOAK=1 simulates ten times as many rollouts.
 *
 * A correlation of 0.02 is much: at 2 % failed runs, the shares of most workers lie between 0 and 4 %.
 */
import { describe, expect, it } from '@jest/globals'
import { createRandom, simulateRollout, type Scenario } from './simulated-rollout.ts'

const IS_SOAK = process.env['SOAK'] === '1'
const ROLLOUTS = IS_SOAK ? 100_000 : 10_000
const LIMIT_MS = IS_SOAK ? 600_000 : 30_000
const RATES = [0.001, 0.01, 0.02, 0.05, 0.2]
const RUNS_PER_WORKER = [20, 100, 500, 3_000]
const MAX_WORKERS = 300

type Fixed = Pick<Scenario, 'correlation'> & { readonly minWorkers: number; readonly rates?: readonly [number, number] }

/** @returns the share of rollouts that a gate stopped in one of the first `stages` stages. */
function stoppedShare({ correlation, minWorkers, rates }: Fixed, stages: number): number {
  let stopped = 0
  for (let seed = 0; seed < ROLLOUTS; seed += 1) {
    const random = createRandom(seed)
    const pick = (values: readonly number[]): number => values[Math.floor(random() * values.length)] ?? 0
    const rate = pick(RATES)
    const outcome = simulateRollout(
      {
        workers: Math.round(minWorkers * (MAX_WORKERS / minWorkers) ** random()),
        currentRate: rates?.[0] ?? rate,
        updatedRate: rates?.[1] ?? rate,
        correlation,
        runsPerWorker: pick(RUNS_PER_WORKER),
        gates: {},
      },
      random,
    )
    if (outcome.kind === 'stopped' && outcome.stage <= stages) stopped += 1
  }
  return stopped / ROLLOUTS
}

describe('the default gates', () => {
  it.each([
    [0, 0.001],
    [0.02, 0.01],
  ])(
    'roll back at most 1 %% of rollouts of an equal config, with a correlation of %d',
    (correlation, share) => {
      expect(stoppedShare({ correlation, minWorkers: 2 }, Infinity)).toBeLessThanOrEqual(share)
    },
    LIMIT_MS,
  )

  it.each([0, 0.02])(
    'stop 99 %% of bad rollouts in the first two stages, with a correlation of %d',
    (correlation) => {
      expect(stoppedShare({ correlation, minWorkers: 5, rates: [0.02, 0.3] }, 2)).toBeGreaterThanOrEqual(0.99)
    },
    LIMIT_MS,
  )
})
