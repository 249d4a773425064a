/** Commands on operations. */
import fc from 'fast-check'
import { command } from './command.ts'
import type { AnyCommand } from './command.ts'
import { OPERATIONS, TYPES, same } from './fixture.ts'

const type = fc.constantFrom(...TYPES)
const id = fc.constantFrom(...OPERATIONS)
const head = fc.constantFrom('', '{"state":"running"}', '7:8:x\n')
const text = fc.constantFrom('', 'p', '{"items":[]}')

const create = command(
  'create operation',
  fc.record({ type, id, head, parts: fc.array(text, { maxLength: 3 }) }),
  async ({ type: of, id: created, head: first, parts }, { store: { operations } }, { backend }) => {
    const result = await backend.operations.create(of, created, first, parts)
    same(result, operations.create(of, created, first, parts))
  },
)

/** `step`: how far the version is from the stored one. */
const update = command(
  'update operation',
  fc.record({
    type,
    id,
    head,
    step: fc.constantFrom(0, 0, 0, 0, -1, 1),
    parts: fc.uniqueArray(fc.record({ n: fc.nat(3), text }), { selector: ({ n }) => n, maxLength: 3 }),
  }),
  async ({ type: of, id: changed, head: next, step, parts }, { store: { operations } }, { backend }) => {
    const version = Math.max(1, (operations.find(of, changed)?.version ?? 1) + step)
    const result = await backend.operations.update(of, changed, version, next, parts)
    same(result, operations.update(of, changed, { version, head: next, parts }))
  },
)

const remove = command(
  'remove operation',
  fc.record({ type, id }),
  async ({ type: of, id: removed }, { store: { operations } }, { backend }) => {
    same(await backend.operations.remove(of, removed), operations.remove(of, removed))
  },
)

export const operationCommands: AnyCommand[] = [create, update, update, remove]
