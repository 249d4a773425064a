/**
 * @module dashboard/components/confirm-dialog
 * Asks for confirmation before an action. The button names verb, number and scope; initial focus is on the button that
 * only closes. Large irreversible actions require typing a word.
 */
import { useState, type ReactNode } from 'react'
import type { Action } from '../api/use-action.ts'
import { ActButton } from './act-button.tsx'
import { Dialog } from './dialog.tsx'
import { ErrorPanel } from './error-panel.tsx'
import { TypedConfirmation } from './typed-confirmation.tsx'

export interface ConfirmProps {
  readonly title: string
  readonly verb: string
  readonly act: Action<readonly []>
  readonly onClose: () => void
  /** The text to type before the action button is enabled: a name or a number. */
  readonly typed?: string | undefined
  /** False if the action loses no data. */
  readonly danger?: boolean
  /** False while the dialog lacks an input. */
  readonly isReady?: boolean
  readonly wide?: boolean
  /** The button that closes the dialog. */
  readonly dismiss?: string
  readonly children: ReactNode
}

export function ConfirmDialog({
  title,
  verb,
  act,
  onClose,
  typed,
  danger = true,
  isReady = true,
  wide = false,
  dismiss = 'Cancel',
  children,
}: ConfirmProps) {
  const [text, setText] = useState('')
  const ready = isReady && (typed === undefined || text.trim() === typed)
  return (
    <Dialog title={title} onClose={onClose} busy={act.busy} wide={wide}>
      {children}
      {typed !== undefined && <TypedConfirmation expected={typed} value={text} onChange={setText} />}
      {act.problem !== null && <ErrorPanel problem={act.problem} />}
      <div className="buttons">
        <button type="button" onClick={onClose} disabled={act.busy}>
          {dismiss}
        </button>
        <ActButton danger={danger} onClick={() => void act.run()} disabled={act.busy || !ready}>
          {act.busy ? 'Working…' : verb}
        </ActButton>
      </div>
    </Dialog>
  )
}
