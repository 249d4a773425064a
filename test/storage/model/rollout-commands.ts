/** Commands on rollout reports. */
import fc from 'fast-check'
import { command } from './command.ts'
import type { AnyCommand } from './command.ts'
import { TYPES, same } from './fixture.ts'

const type = fc.constantFrom(...TYPES)
const name = fc.constantFrom('r1', '__proto__', `{'"\\:/`)

const putReport = command(
  'put rollout report',
  fc.record({
    type,
    name,
    head: fc.constantFrom('', '1:2', '{"phase":"Baking"}'),
    body: fc.constantFrom('{}', '{"stage":1}'),
    reportedAtMs: fc.nat(9),
  }),
  async ({ type: of, ...report }, { store }, { backend }) => {
    same(await backend.rollouts.put(of, report), store.fleet.rollouts.put(of, report))
  },
)

const removeReport = command(
  'remove rollout report',
  fc.record({ type, name }),
  async ({ type: of, name: removed }, { store }, { backend }) => {
    same(await backend.rollouts.remove(of, removed), store.fleet.rollouts.remove(of, removed))
  },
)

export const rolloutCommands: AnyCommand[] = [putReport, removeReport]
