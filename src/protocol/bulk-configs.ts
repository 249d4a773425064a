/**
 * @module protocol/bulk-configs
 * Defines the bodies of revisions, of bulk changes of configs, and of the history of a config.
 * @see D39, D132, D133, D138
 */
import { Type, type Static } from 'typebox'
import { MAX_BULK_WORKERS, MAX_KEPT_POINTERS, MAX_NAME_CHARS } from './limits.ts'
import {
  AnyObject,
  ManagedBy,
  Maybe,
  Nullable,
  Pointer,
  RevisionName,
  Seconds,
  Strict,
  Variant,
  WorkerId,
} from './names.ts'
import { FieldErrorBody } from './rest.ts'

/** The body that stores a revision. */
export const RevisionBody = Strict({ config: AnyObject, managed_by: Maybe(ManagedBy) })
export type RevisionBody = Static<typeof RevisionBody>
/** Whether the revision is new. A stored one is neither replaced nor compared. */
export const RevisionStoredBody = Type.Object({ revision: Type.String(), created: Type.Boolean() })
export type RevisionStoredBody = Static<typeof RevisionStoredBody>
/**
 * The revisions of a type, newest first, without their configs. `workers`: how many use it. `counters`: what workers
 * did under it since it was stored (D138); a counter that is 0 may be left out. `worst`: at most 10 workers.
 */
export const RevisionsBody = Type.Object({
  revisions: Type.Array(
    Type.Object({
      revision: Type.String(),
      managed_by: Nullable(Type.String()),
      created_at: Seconds,
      created_by: Type.String(),
      workers: Type.Integer(),
      first_used_at: Nullable(Seconds),
      last_used_at: Nullable(Seconds),
      counters: Type.Record(Type.String(), Type.Number()),
      worst: Type.Array(
        Type.Object({
          worker_id: Type.String(),
          reason: Type.Union([Type.Literal('error'), Type.Literal('config_refused'), Type.Literal('failures')]),
          message: Type.String(),
        }),
      ),
    }),
  ),
})
export type RevisionsBody = Static<typeof RevisionsBody>

/**
 * One worker of a bulk change. `if_match`: `<epoch>.<config_gen>`, as in the ETag. `if_managed_by`: the present
 * manager, `null` for none.
 */
export const BulkItem = Strict({
  worker_id: WorkerId,
  if_match: Maybe(Type.String({ maxLength: MAX_NAME_CHARS })),
  if_managed_by: Type.Optional(Nullable(ManagedBy)),
  patch: Maybe(AnyObject),
  variant: Maybe(Variant),
})
export type BulkItem = Static<typeof BulkItem>
/** The body of a bulk change. */
export const BulkBody = Strict({
  revision: RevisionName,
  managed_by: Maybe(ManagedBy),
  dry_run: Maybe(Type.Boolean()),
  keep: Maybe(Type.Array(Pointer, { maxItems: MAX_KEPT_POINTERS })),
  patch: Maybe(AnyObject),
  variant: Maybe(Variant),
  workers: Type.Array(BulkItem, { minItems: 1, maxItems: MAX_BULK_WORKERS }),
})
export type BulkBody = Static<typeof BulkBody>
/** The result of one worker: its generation and the top-level names that changed, or why nothing was written. */
export const BulkResult = Type.Union([
  Type.Object({ worker_id: Type.String(), config_gen: Type.Integer(), changed: Type.Array(Type.String()) }),
  Type.Object({
    worker_id: Type.String(),
    error: Type.Object({
      status: Type.Integer(),
      detail: Type.Union([Type.String(), Type.Array(FieldErrorBody)]),
    }),
  }),
])
export type BulkResult = Static<typeof BulkResult>
/** The results of a bulk change, in the order of its workers. */
export const BulkResults = Type.Object({ results: Type.Array(BulkResult) })
export type BulkResults = Static<typeof BulkResults>

/** The changes of a config, newest first (D39). `config` is null if its `revision` is not stored any more (D132). */
export const HistoryBody = Type.Array(
  Type.Object({
    config_gen: Type.Integer(),
    ts: Seconds,
    actor: Type.String(),
    changed: Type.Array(Type.String()),
    config: Nullable(AnyObject),
    revision: Type.Optional(Type.String()),
  }),
)
export type HistoryBody = Static<typeof HistoryBody>
