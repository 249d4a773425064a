/** @module dashboard/workers/managed  Who manages a config, read out of `managed_by` (D31). */

export type Manager =
  | { readonly kind: 'kubernetes'; readonly name: string; readonly namespace: string; readonly object: string }
  | { readonly kind: 'other'; readonly name: string }

const KUBERNETES = /^kubernetes:(?<namespace>[^/#]+)\/(?<object>[^/#]+)(?:#.*)?$/

/** `kubernetes:<ns>/<name>`, a suffix after `#` is not shown; any other value is a text. */
export function managerOf(by: string): Manager {
  const { namespace, object } = KUBERNETES.exec(by)?.groups ?? {}
  if (namespace === undefined || object === undefined) return { kind: 'other', name: by }
  return { kind: 'kubernetes', namespace, object, name: `${namespace}/${object}` }
}
