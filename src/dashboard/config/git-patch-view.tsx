/** @module dashboard/config/git-patch-view  Shows the patch of the custom resource for a draft in Git mode. */
import { CopyAs } from '../components/copy-as.tsx'
import type { Change, Form } from './draft.ts'
import { kubectlPatch, resourceOf } from './git-patch.ts'

export function GitPatch({
  form,
  changes,
  managedBy,
}: {
  readonly form: Form
  readonly changes: readonly Change[]
  readonly managedBy: string
}) {
  const resource = resourceOf(managedBy)
  if (resource === null) return null
  const { text, leftOut } = kubectlPatch(form, changes, resource)
  return (
    <section aria-label="Patch for Git">
      <p>
        Nothing is saved on the master. Apply this patch, or make the same change to the manifest in your repository:
      </p>
      <pre className="patch">
        <bdi>{text}</bdi>
      </pre>
      {leftOut.length > 0 && (
        <p className="notice">
          Omitted because they are secrets: <bdi>{leftOut.join(', ')}</bdi>. Set them with <code>configFrom</code> in
          the FleetWorker.
        </p>
      )}
      <div className="config-bar">
        <CopyAs label="Copy" commands={[{ label: 'kubectl', text }]} />
      </div>
    </section>
  )
}
