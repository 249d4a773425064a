/** @module dashboard/workers/managed  Parses the manager of a config from `managed_by` (D31). */

export type Manager =
  | { readonly kind: 'kubernetes'; readonly name: string; readonly namespace: string; readonly object: string }
  | { readonly kind: 'other'; readonly name: string }

const KUBERNETES = /^kubernetes:(?<namespace>[^/#]+)\/(?<object>[^/#]+)(?:#.*)?$/

/** Parses `kubernetes:<ns>/<name>` and ignores a suffix after `#`. Any other value is returned as plain text. */
export function managerOf(by: string): Manager {
  const { namespace, object } = KUBERNETES.exec(by)?.groups ?? {}
  if (namespace === undefined || object === undefined) return { kind: 'other', name: by }
  return { kind: 'kubernetes', namespace, object, name: `${namespace}/${object}` }
}
