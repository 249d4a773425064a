/**
 * @module dashboard/config/managed-notice
 * Explains that the config is managed elsewhere and locked here (D31, D57). The user can edit for Git, which produces a
 * patch to copy, or override, which saves on the master and counts as drift.
 */
import type { Mode } from './draft.ts'
import { managerText } from '../workers/managed.ts'
import { resourceOf } from './git-patch.ts'

export interface ManagedProps {
  readonly by: string
  readonly mode: Mode
  readonly isAgreed: boolean
  readonly onMode: (mode: Mode) => void
  readonly onAgree: (agreed: boolean) => void
}

export function ManagedNotice({ by, mode, isAgreed, onMode, onAgree }: ManagedProps) {
  const isResource = resourceOf(by) !== null
  return (
    <section className="notice managed" aria-label="Managed elsewhere">
      <p>
        {isResource && <span aria-hidden="true">⎈ </span>}Managed by{' '}
        <strong>
          <bdi>{managerText(by)}</bdi>
        </strong>
        . {WORDS[mode]}
      </p>
      {mode === 'override' && (
        <p>
          <label>
            <input type="checkbox" checked={isAgreed} onChange={(event) => onAgree(event.target.checked)} /> I
            understand that a change made here counts as drift and may be reverted.
          </label>
        </p>
      )}
      <div className="buttons start">
        {mode !== 'locked' && (
          <button type="button" onClick={() => onMode('locked')}>
            Lock again
          </button>
        )}
        {mode === 'locked' && isResource && (
          <button type="button" onClick={() => onMode('git')}>
            Edit for Git…
          </button>
        )}
        {mode === 'locked' && (
          <button type="button" onClick={() => onMode('override')}>
            Override here…
          </button>
        )}
      </div>
    </section>
  )
}

const WORDS: Readonly<Record<Mode, string>> = {
  open: '',
  locked: 'Editing is locked: a change here would count as drift.',
  git: 'Your edits are not saved on the master. They become a patch for your repository or cluster.',
  override: 'You are overriding the managed config.',
}
