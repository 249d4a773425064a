/** Commands on revisions and bulk changes of configs. */
import fc from 'fast-check'
import type { BulkPut, Ref } from '../../../src/storage/index.ts'
import { command } from './command.ts'
import type { AnyCommand } from './command.ts'
import { REVISIONS, TYPES, WORKERS, same } from './fixture.ts'
import type { ModelFixture } from './fixture.ts'

const type = fc.constantFrom(...TYPES)
const manager = fc.option(fc.constantFrom('kubernetes:a/b', 'me:%3a'))

const putRevision = command(
  'put revision',
  fc.record({ type, name: fc.constantFrom(...REVISIONS), managedBy: manager }),
  async (args, fixture, { backend }) => {
    const revision = {
      name: args.name,
      config: `{"slots":${fixture.serial()}}`,
      managedBy: args.managedBy,
      actor: 'a:b',
    }
    same(await backend.revisions.put(args.type, revision), fixture.store.fleet.revisions.put(args.type, revision))
  },
)

/** Stores so many revisions that those out of use are dropped. */
const putMore = command('put 32 revisions', type, async (of, fixture, { backend }) => {
  for (let i = 0; i < 32; i += 1) {
    const revision = { name: `n${fixture.serial()}`, config: '{}', managedBy: null, actor: 'a' }
    same(await backend.revisions.put(of, revision), fixture.store.fleet.revisions.put(of, revision))
  }
})

interface Item {
  readonly id: string
  readonly off: number
  readonly isOther: boolean
  readonly isForeign: boolean
  readonly keeps: boolean
  readonly variant: string
}
const item: fc.Arbitrary<Item> = fc.record({
  id: fc.constantFrom(...WORKERS),
  off: fc.constantFrom(0, 0, 0, 0, 1),
  isOther: fc.constantFrom(false, false, false, true),
  isForeign: fc.constantFrom(false, false, false, true),
  keeps: fc.boolean(),
  variant: fc.constantFrom('-', 'v2'),
})

function putOf(of: Ref, { off, isOther, isForeign, keeps, variant }: Item, fixture: ModelFixture): BulkPut {
  const stored = fixture.store.fleet.managed(of)
  const text = `{"slots":${fixture.serial()}}`
  return {
    id: of.id,
    expectGen: (stored?.gen ?? 0) + off,
    expectConfig: isOther ? '{"other":1}' : (stored?.config ?? '{}'),
    expectManagedBy: isForeign ? 'foreign' : (stored?.managedBy ?? null),
    variant,
    change: keeps ? null : { config: text, patch: text, changed: ['slots', '__proto__'] },
  }
}

const putMany = command(
  'put many',
  fc.record({
    type,
    revision: fc.constantFrom(...REVISIONS, REVISIONS[0]),
    managedBy: manager,
    items: fc.uniqueArray(item, { selector: ({ id }) => id, minLength: 1 }),
  }),
  async ({ type: of, revision, managedBy, items }, fixture, { backend }) => {
    const bulk = { revision, managedBy, actor: 'a:b' }
    const puts = items.map((each) => putOf({ type: of, id: each.id }, each, fixture))
    same(await backend.configs.putMany(of, bulk, puts), fixture.store.fleet.putMany(of, bulk, puts))
  },
)

const counter = fc.constantFrom('runs_ok', 'run_ms_le.3', 'counter.__proto__', 'counter."\\é')
const addTallies = command(
  'add tallies',
  fc.record({
    type,
    increments: fc.array(
      fc.record({
        revision: fc.constantFrom(...REVISIONS),
        counters: fc.dictionary(counter, fc.constantFrom(0, 1, 0.1, 1e-7, 9007199254740991)),
      }),
      { maxLength: 3 },
    ),
  }),
  async ({ type: of, increments }, fixture, { backend }) => {
    await backend.revisions.addTallies(of, increments)
    fixture.store.fleet.revisions.addTallies(of, increments)
  },
)

export const bulkCommands: AnyCommand[] = [
  putRevision,
  putRevision,
  putMany,
  putMany,
  putMany,
  putMore,
  addTallies,
  addTallies,
]
