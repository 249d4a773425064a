/** Commands on rollups. */
import fc from 'fast-check'
import { command } from './command.ts'
import type { AnyCommand } from './command.ts'
import { TYPES, same } from './fixture.ts'

const value = fc.oneof({ weight: 5, arbitrary: fc.nat(9) }, { weight: 1, arbitrary: fc.constant(2 ** 53 - 1) })

const addRollups = command(
  'add rollups',
  fc.array(
    fc.record({
      type: fc.constantFrom(...TYPES),
      peaks: fc.dictionary(fc.constantFrom('p', 'wa'), value),
      sums: fc.dictionary(fc.constantFrom('w0', 'w12', 'r7'), value),
    }),
    { maxLength: 3 },
  ),
  async (increments, { store }, { backend }) => {
    same(await backend.rollups.add(increments), store.fleet.rollups.add(increments))
  },
)

export const rollupCommands: AnyCommand[] = [addRollups]
