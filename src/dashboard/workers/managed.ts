/** @module dashboard/workers/managed  Parses the manager of a config from `managed_by` (D31, D143). */

export type Manager =
  | {
      readonly kind: 'kubernetes'
      readonly of: 'FleetWorker' | 'FleetWorkerSet'
      readonly name: string
      readonly namespace: string
      readonly object: string
    }
  | { readonly kind: 'other'; readonly name: string }

const KUBERNETES = /^kubernetes:(?<namespace>[^/#]+)\/(?<sets>fleetworkersets\/)?(?<object>[^/#]+)(?:#.*)?$/

/**
 * Parses `kubernetes:<ns>/<name>` and `kubernetes:<ns>/fleetworkersets/<name>`, and ignores a suffix after `#`. Any
 * other value is returned as plain text.
 */
export function managerOf(by: string): Manager {
  const { namespace, object, sets } = KUBERNETES.exec(by)?.groups ?? {}
  if (namespace === undefined || object === undefined) return { kind: 'other', name: by }
  const of = sets === undefined ? 'FleetWorker' : 'FleetWorkerSet'
  return { kind: 'kubernetes', of, namespace, object, name: `${namespace}/${object}` }
}

/** `FleetWorker mail/m-7`, `FleetWorkerSet mail/senders`, or the manager as recorded. */
export function managerText(by: string): string {
  const manager = managerOf(by)
  return manager.kind === 'other' ? by : `${manager.of} ${manager.name}`
}
