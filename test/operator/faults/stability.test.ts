/** Runs many random sequences. SOAK=1: ten thousand, or SEEDS=… sequences from SEED=…; SEED=… alone repeats one. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Mixture } from './mixture.ts'
import { startMasters, type Masters } from './fixture.ts'

const isSoak = process.env['SOAK'] === '1'
const { SEED, SEEDS } = process.env
const BASE = Number(SEED ?? 1)
const DEFAULT_COUNT = isSoak ? 10_000 : 300
const COUNT = Number(SEEDS ?? (SEED === undefined ? DEFAULT_COUNT : 1))
const PER_TEST = 50
const TIMEOUT_MS = 300_000

let masters: Masters
beforeAll(async () => {
  masters = await startMasters()
})
afterAll(() => masters.stop())

describe('a fleet under any mixture of faults', () => {
  it.each(Array.from({ length: Math.ceil(COUNT / PER_TEST) }, (_, n) => BASE + n * PER_TEST))(
    'is in sync with its FleetWorker a minute after they stop, and stays so: seeds from %i (G19, G20, G21)',
    async (from) => {
      const failed: string[] = []
      for (let seed = from; seed < Math.min(from + PER_TEST, BASE + COUNT); seed += 1) {
        const mixture = new Mixture(masters, seed)
        const wrong = await mixture.run()
        if (wrong !== undefined)
          failed.push(
            `SEED=${seed} npm test -- test/operator/faults/stability\n  ${mixture.deeds.join(', ')}\n  ${wrong}`,
          )
      }
      expect(failed).toEqual([])
    },
    TIMEOUT_MS,
  )
})
