/**
 * @module storage/redis/revisions
 * The `revisions` of the contract. Their use lies beside the labels of the workers, so that a change of a label counts
 * in the same step (workers-layout.ts).
 */
import type { RevisionPutResult, RevisionRow, Revisions, Tally } from '../index.ts'
import type { Caller } from './caller.ts'
import { keysOfType } from './keys.ts'
import { script } from './script.ts'
import { escaped, revisionRow } from './workers-layout.ts'

const PUT = script('revisions.put')
const GET = script('revisions.get')
const LIST = script('revisions.list')
const ADD_TALLIES = script('revisions.add-tallies')

type Texts = readonly (string | null)[]

export function createRevisions(caller: Caller): Revisions {
  return {
    put: async (type, { name, config, managedBy, actor }) => {
      const args = [name, `${escaped(managedBy ?? '')}:${escaped(actor)}`, config]
      // A repeat would return "exists", which means the same: the revision is stored.
      return (await caller.run(PUT, keysOfType(PUT, type), args, { repeatable: true })) as RevisionPutResult
    },
    get: async (type, names) =>
      names.length === 0
        ? []
        : ((await caller.run(GET, keysOfType(GET, type), names, { repeatable: true })) as readonly (string | null)[]),
    list: async (type) => {
      const reply = await caller.run(LIST, keysOfType(LIST, type), [], { repeatable: true })
      const [names, uses, tallies] = reply as readonly [readonly string[], Texts, Texts]
      return names.map((name, at): RevisionRow => ({
        ...revisionRow(name, uses[at] ?? ''),
        tally: JSON.parse(tallies[at] ?? '{}') as Tally,
      }))
    },
    addTallies: async (type, increments) => {
      if (increments.length === 0) return
      const args = increments.flatMap(({ revision, counters }) => {
        const pairs = Object.entries(counters)
        return [revision, pairs.length, ...pairs.flat()]
      })
      await caller.run(ADD_TALLIES, keysOfType(ADD_TALLIES, type), args)
    },
  }
}
