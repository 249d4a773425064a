/**
 * @module cmd/admin/rollout/owners
 * Finds out from `metadata.managedFields` who else sets a field of a set, because such an owner may set it back.
 *
 *   GitOps engine   reverts a change by itself within minutes
 *   declarative     sets the field again with its next run: helm upgrade, kubectl apply, Terraform
 *
 * A manager that updates owns every field that the API server filled in as well. So one that leaves its manifest in the
 * annotation of kubectl owns only what that contains.
 */
import { FIELD_MANAGER } from './set-client.ts'
import type { ManagedFields, SetObject } from './set-object.ts'

const GITOPS = /^(?:argocd|kustomize-controller|helm-controller|flux|fleet-?agent)/
const DECLARATIVE = /^(?:helm|kubectl-client-side-apply|kubectl-last-applied)/
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

export interface Owner {
  readonly manager: string
  readonly kind: 'gitops' | 'declarative'
}

/** @returns the owners of a field of the spec that may set it again; empty if there is none. */
export function ownersOf({ metadata }: SetObject, field: string): readonly Owner[] {
  const { annotations = {}, managedFields = [] } = metadata
  const lastApplied = specOf(annotations[LAST_APPLIED])
  const owns = ({ operation, fieldsV1 }: ManagedFields): boolean => {
    const spec = fieldsV1?.['f:spec']
    const isListed = typeof spec === 'object' && spec !== null && `f:${field}` in spec
    return isListed && (operation === 'Apply' || lastApplied === undefined || field in lastApplied)
  }
  return managedFields.flatMap((entry): readonly Owner[] => {
    const { manager = '', operation, subresource } = entry
    if (manager === FIELD_MANAGER || subresource !== undefined || !owns(entry)) return []
    if (GITOPS.test(manager)) return [{ manager, kind: 'gitops' }]
    return operation === 'Apply' || DECLARATIVE.test(manager) ? [{ manager, kind: 'declarative' }] : []
  })
}

/** The spec of a manifest; `undefined` without a manifest. */
function specOf(manifest: string | undefined): object | undefined {
  if (manifest === undefined) return undefined
  try {
    const { spec } = JSON.parse(manifest) as { readonly spec?: unknown }
    return typeof spec === 'object' && spec !== null ? spec : {}
  } catch {
    return undefined // Not written by kubectl.
  }
}
