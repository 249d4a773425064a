/**
 * @module protocol/task-cancels
 * Defines the bodies that cancel tasks, and their results (D109, D117).
 */
import { Type, type Static } from 'typebox'
import { MAX_TASKS_PER_BATCH } from './limits.ts'
import { Name, Strict } from './names.ts'

const outcomes = [
  Type.Literal('cancelled'),
  Type.Literal('dead'),
  Type.Literal('done'),
  Type.Literal('expired'),
] as const
/** The result of cancelling a task (D109). `was`: where it was; absent if it was not cancelled now (D117). */
export const CancelledBody = Type.Object({
  task_id: Type.String(),
  outcome: Type.Union([...outcomes]),
  was: Type.Optional(Type.Union([Type.Literal('pending'), Type.Literal('in_flight'), Type.Literal('scheduled')])),
})
export type CancelledBody = Static<typeof CancelledBody>
/** The body that cancels tasks by id (D109). */
export const CancelSelectionBody = Strict({
  action: Type.Literal('cancel'),
  task_ids: Type.Array(Name, { minItems: 1, maxItems: MAX_TASKS_PER_BATCH }),
})
const CancelOutcome = Type.Union([...outcomes, Type.Literal('not_found')])
/** What a cancel did to one of several tasks: only a `cancelled` one was changed, or had been cancelled before. */
export type CancelOutcome = Static<typeof CancelOutcome>
/** What happened to each selected task, in the order of the ids. */
export const CancelSelectedBody = Type.Object({
  results: Type.Array(Type.Object({ task_id: Type.String(), outcome: CancelOutcome })),
})
export type CancelSelectedBody = Static<typeof CancelSelectedBody>
