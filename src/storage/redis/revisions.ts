/**
 * @module storage/redis/revisions
 * The `revisions` of the contract. Their use lies beside the labels of the workers, so that a change of a label counts
 * in the same step (workers-layout.ts).
 */
import type { RevisionPutResult, RevisionRow, Revisions } from '../index.ts'
import type { Caller } from './caller.ts'
import { keysOfType } from './keys.ts'
import { script } from './script.ts'
import { escaped, revisionRow } from './workers-layout.ts'

const PUT = script('revisions.put')
const GET = script('revisions.get')
const LIST = script('revisions.list')

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
      const [names, uses] = reply as readonly [readonly string[], readonly (string | null)[]]
      return names.map((name, at): RevisionRow => revisionRow(name, uses[at] ?? ''))
    },
  }
}
