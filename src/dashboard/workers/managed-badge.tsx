/**
 * @module dashboard/workers/managed-badge
 * Shows the manager of a worker's config (D31): `⎈ mail/m-7` for Kubernetes.
 */
import { managerOf } from './managed.ts'

export function ManagedBadge({ by }: { readonly by: string | null }) {
  if (by === null) return null
  const manager = managerOf(by)
  const { name } = manager
  if (manager.kind === 'other')
    return (
      <bdi className="soft" title={`Managed by ${name}`}>
        {name}
      </bdi>
    )
  return (
    <span title={`Managed by ${manager.of} ${name}`}>
      <span aria-hidden="true">⎈</span>
      <span className="hidden">Kubernetes </span> <bdi>{name}</bdi>
    </span>
  )
}
