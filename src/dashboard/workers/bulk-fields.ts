/**
 * @module dashboard/workers/bulk-fields
 * The form of a config change of many workers of one type. It has only the ticked fields, and each of them needs a
 * value.
 */
import type { FieldError, JsonObject, JsonSchema } from '../../protocol/index.ts'
import { propertiesOf } from '../config/schema.ts'
import { firstValue, shapeOf } from '../config/shape.ts'
import { childPointer, draftOf, setAt, unreadable, valueAt, type ValueDraft } from '../config/value-draft.ts'
import { validate } from '../config/validator.ts'

export interface BulkDraft {
  /** In the order of the schema. */
  readonly ticked: readonly string[]
  readonly draft: ValueDraft
}

export const NOTHING_TICKED: BulkDraft = { ticked: [], draft: draftOf({}) }

/** Ticks a field and sets its first value; text and number fields start empty. Unticking a field removes its value. */
export function tick(schema: JsonSchema, { ticked, draft }: BulkDraft, name: string): BulkDraft {
  const pointer = childPointer('', name)
  if (ticked.includes(name))
    return { ticked: ticked.filter((each) => each !== name), draft: setAt(draft, pointer, undefined) }
  const shape = shapeOf({ ...propertiesOf(schema)[name], ...definitionsOf(schema) })
  const isTyped =
    shape.secret ||
    shape.kind === 'string' ||
    shape.kind === 'integer' ||
    shape.kind === 'number' ||
    shape.kind === 'json'
  const all = new Set([...ticked, name])
  return {
    ticked: Object.keys(propertiesOf(schema)).filter((each) => all.has(each)),
    draft: isTyped ? draft : setAt(draft, pointer, firstValue(shape)),
  }
}

const definitionsOf = ({ $defs }: { readonly $defs?: unknown }): JsonSchema => ($defs === undefined ? {} : { $defs })

/** The schema of the ticked fields, without defaults: each ticked field needs an explicit value. */
export function schemaOfTicked(schema: JsonSchema, ticked: readonly string[]): JsonSchema {
  const properties = propertiesOf(schema)
  const own = ticked.map((name): [string, JsonSchema] => {
    const { default: _, ...field } = properties[name] ?? {}
    return [name, field]
  })
  return { ...schema, properties: Object.fromEntries(own), required: ticked }
}

/** Faults of the values that the page can detect itself. */
export function faultsOf(schema: JsonSchema, { draft }: BulkDraft): readonly FieldError[] {
  const typed = unreadable(draft)
  const reported = new Set(typed.map(({ path }) => path))
  return [...typed, ...validate(schema, draft.value).filter(({ path }) => !reported.has(path))]
}

/** The PATCH body. Leaves out ticked fields without a value; `faultsOf` reports them. */
export function patchOf({ ticked, draft }: BulkDraft): JsonObject {
  return Object.fromEntries(
    ticked.flatMap((name) => {
      const value = valueAt(draft.value, childPointer('', name))
      return value === undefined ? [] : [[name, value]]
    }),
  )
}
