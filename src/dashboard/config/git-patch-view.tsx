/** @module dashboard/config/git-patch-view  The end of a draft for Git: the patch of the custom resource, to copy. */
import { CopyAs } from '../parts/copy-as.tsx'
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
      <p>Nothing is saved here. Apply this, or carry the same fields over to the manifest in your repository:</p>
      <pre className="patch">
        <bdi>{text}</bdi>
      </pre>
      {leftOut.length > 0 && (
        <p className="notice">
          Left out, because they are secrets: <bdi>{leftOut.join(', ')}</bdi>. Give them by <code>configFrom</code> of
          the FleetWorker.
        </p>
      )}
      <div className="config-bar">
        <CopyAs label="Copy" commands={[{ label: 'kubectl', text }]} />
      </div>
    </section>
  )
}
