/**
 * @module protocol/enrolments
 * Defines the bodies of enrolment rules: which config a worker gets when it registers for the first time.
 * @see D141
 */
import { Type, type Static } from 'typebox'
import { MAX_ID_PATTERNS } from './limits.ts'
import { AnyObject, ManagedBy, Maybe, Nullable, RevisionName, Strict, Variant, WorkerId } from './names.ts'
import { WorkerLabels } from './worker-labels.ts'

/** The body that stores a rule. It has a pattern or a label; see {@link selectsWorker}. */
export const EnrolmentBody = Strict({
  id_patterns: Maybe(Type.Array(WorkerId, { maxItems: MAX_ID_PATTERNS })),
  match_labels: Maybe(WorkerLabels),
  revision: RevisionName,
  patch: Maybe(AnyObject),
  variant: Maybe(Variant),
  managed_by: Maybe(ManagedBy),
})
export type EnrolmentBody = Static<typeof EnrolmentBody>
/** A stored rule, with the secrets of its patch masked. */
export const EnrolmentShown = Type.Object({
  enrolment: Type.String(),
  id_patterns: Type.Array(Type.String()),
  match_labels: WorkerLabels,
  revision: Type.String(),
  patch: AnyObject,
  variant: Type.String(),
  managed_by: Nullable(Type.String()),
})
export type EnrolmentShown = Static<typeof EnrolmentShown>
/** The rules of a type in the order in which they are tried: by name. */
export const EnrolmentsBody = Type.Object({ enrolments: Type.Array(EnrolmentShown) })
export type EnrolmentsBody = Static<typeof EnrolmentsBody>
/** The response to the removal of a rule. */
export const EnrolmentRemovedBody = Type.Object({ enrolment: Type.String(), removed: Type.Boolean() })
export type EnrolmentRemovedBody = Static<typeof EnrolmentRemovedBody>
