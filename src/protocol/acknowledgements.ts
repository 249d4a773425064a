/**
 * @module protocol/acknowledgements
 * Defines the bodies of acknowledgements: an admin has seen an item of the attention list, and hides it for a while for
 * everybody (D171).
 */
import { Type, type Static } from 'typebox'
import { Maybe, Name, Nullable, PauseSeconds, Seconds, Strict } from './names.ts'

const ITEM_PATTERN = '^[a-z0-9][a-z0-9_.-]{0,127}$'
/** The name of an item: the kind of the problem, such as `error`; of a rollout `rollout.NAME`. */
export const ItemName = Type.String({ pattern: ITEM_PATTERN })
const ITEM = new RegExp(ITEM_PATTERN)
/** Returns whether `text` may name an item of the attention list. */
export const isItemName = (text: string): boolean => ITEM.test(text)
/** What an item showed, such as its error. */
const Mark = Type.String({ minLength: 1, maxLength: 512, format: 'well-formed' })
const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

/**
 * The body that acknowledges an item, or replaces its acknowledgement. `count`: the workers or tasks that have the
 * problem. `mark`: what the item shows. `seconds`: the acknowledgement ends after this time; without it only a removal
 * ends it. `until_change`: readers list the item again when `count` grows or `mark` changes.
 */
export const AcknowledgeBody = Strict({
  note: Maybe(Name),
  seconds: Maybe(PauseSeconds),
  until_change: Maybe(Type.Boolean()),
  count: Maybe(Count),
  mark: Maybe(Mark),
})
export type AcknowledgeBody = Static<typeof AcknowledgeBody>

/** A stored acknowledgement. A field that was left out is null, 0 or false. */
export const Acknowledgement = Type.Object({
  type: Type.String(),
  item: Type.String(),
  note: Nullable(Type.String()),
  actor: Type.String(),
  acknowledged_at: Seconds,
  until: Nullable(Seconds),
  until_change: Type.Boolean(),
  count: Type.Integer(),
  mark: Nullable(Type.String()),
})
export type Acknowledgement = Static<typeof Acknowledgement>
/** The acknowledgements that have not ended, by type and item. */
export const AcknowledgementsBody = Type.Object({ acknowledgements: Type.Array(Acknowledgement) })
export type AcknowledgementsBody = Static<typeof AcknowledgementsBody>
/** The response to the removal of an acknowledgement. */
export const UnacknowledgedBody = Type.Object({ item: Type.String(), removed: Type.Boolean() })
export type UnacknowledgedBody = Static<typeof UnacknowledgedBody>
