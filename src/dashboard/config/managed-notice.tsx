/**
 * @module dashboard/config/managed-notice
 * The config belongs to somebody else (D31, D57): locked here, with two deliberate ways out. For Git, the draft ends in a
 * patch to copy; an override is saved, and counts as drift.
 */
import type { Mode } from './draft.ts'
import { resourceOf } from './git-patch.ts'

export interface ManagedProps {
  readonly by: string
  readonly mode: Mode
  readonly isAgreed: boolean
  readonly onMode: (mode: Mode) => void
  readonly onAgree: (agreed: boolean) => void
}

/** `mail/m-7`, or what else the record says. */
export function managerText(by: string): string {
  const resource = resourceOf(by)
  return resource === null ? by : `FleetWorker ${resource.namespace}/${resource.name}`
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
            <input type="checkbox" checked={isAgreed} onChange={(event) => onAgree(event.target.checked)} /> I know that
            a change made here counts as drift and may be reverted.
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
  locked: 'It is locked here: a change would be drift.',
  git: 'What you edit now is not saved: it becomes a patch to copy, for your repository or cluster.',
  override: 'You are about to change it here all the same.',
}
