/** @module storage/redis/rollups  The `rollups` of the contract: one hash for each type (workers-layout.ts). */
import { HISTORY_RESOLUTIONS } from '../../protocol/index.ts'
import { numbersOf, resolutionOf, type RollupNumbers, type Rollups } from '../index.ts'
import type { Caller } from './caller.ts'
import { keysOfType } from './keys.ts'
import { script } from './script.ts'

const ADD = script('rollups.add')
const READ = script('rollups.read')

const RESOLUTIONS = HISTORY_RESOLUTIONS.flatMap(({ stepMs, steps }) => [stepMs, steps])

export function createRollups(caller: Caller): Rollups {
  return {
    add: async (increments) => {
      await Promise.all(
        increments.map(async ({ type, peaks, sums }) => {
          const raised = pairsOf(peaks)
          const args = [HISTORY_RESOLUTIONS.length, ...RESOLUTIONS, raised.length, ...raised, ...pairsOf(sums)]
          await caller.run(ADD, keysOfType(ADD, type), args)
        }),
      )
    },
    read: async (type, stepMs, fromMs, toMs) => {
      const { steps } = resolutionOf(stepMs)
      const args = [stepMs, steps, fromMs, toMs]
      const texts = await caller.run(READ, keysOfType(READ, type), args, { repeatable: true })
      return (texts as readonly string[]).map((text) => {
        const colon = text.indexOf(':')
        return { startMs: Number(text.slice(0, colon)) * stepMs, ...numbersOf(text.slice(colon + 1)) }
      })
    },
  }
}

const pairsOf = (numbers: RollupNumbers): readonly (string | number)[] =>
  Object.entries(numbers).flatMap(([name, value]) => (value > 0 ? [name, value] : []))
