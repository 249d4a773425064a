/**
 * @module operator/fleetworkerset/acts
 * Reads what a person asks of a rollout from the annotations of the set. Each names the revision and the stage or the
 * attempt that it is meant for, so one that is left in place has no effect on a later rollout.
 *
 *   muster.dev/promote: <revision>/<stage>     continue after this stage, as if it had passed
 *   muster.dev/promote: <revision>/all         give the config to all workers now; nothing is judged any more
 *   muster.dev/abort:   <revision>/<attempt>   return the updated workers to the current revision
 *   muster.dev/retry:   <revision>/<attempt>   roll a failed revision out again, as this attempt
 */
import type { FleetWorkerSetObject } from './resource.ts'

export const PROMOTE_ANNOTATION = 'muster.dev/promote'
export const ABORT_ANNOTATION = 'muster.dev/abort'
export const RETRY_ANNOTATION = 'muster.dev/retry'
/** In place of a stage. */
export const ALL_STAGES = 'all'

export interface Acts {
  readonly promotes: (revision: string, stage: number) => boolean
  readonly promotesAll: (revision: string) => boolean
  readonly aborts: (revision: string, attempt: number) => boolean
  readonly retries: (revision: string, attempt: number) => boolean
}

export function actsOf({ metadata: { annotations = {} } }: Pick<FleetWorkerSetObject, 'metadata'>): Acts {
  const says =
    (name: string) =>
    (revision: string, rest: number | string): boolean =>
      annotations[name] === `${revision}/${rest}`
  const promotes = says(PROMOTE_ANNOTATION)
  return {
    promotes,
    promotesAll: (revision) => promotes(revision, ALL_STAGES),
    aborts: says(ABORT_ANNOTATION),
    retries: says(RETRY_ANNOTATION),
  }
}
