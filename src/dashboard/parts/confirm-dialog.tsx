/**
 * @module dashboard/parts/confirm-dialog
 * Asks before an act: what it does, then the verb on the button. Escape and Cancel do nothing; focus starts on Cancel and
 * returns to where it was.
 */
import { useId, useLayoutEffect, useRef, type ReactNode } from 'react'
import type { Act } from '../api/use-act.ts'
import { ProblemBox } from './problem-box.tsx'

export interface ConfirmProps {
  readonly title: string
  readonly verb: string
  readonly act: Act<readonly []>
  readonly onClose: () => void
  readonly children: ReactNode
}

export function ConfirmDialog({ title, verb, act, onClose, children }: ConfirmProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  useLayoutEffect(() => {
    const shown = dialog.current
    shown?.showModal()
    return () => shown?.close() // Before it leaves the document, so that the browser gives focus back.
  }, [])
  const cancel = (event: { preventDefault(): void }): void => {
    event.preventDefault()
    if (!act.busy) onClose()
  }
  return (
    <dialog ref={dialog} aria-labelledby={titleId} onCancel={cancel}>
      <h2 id={titleId}><bdi>{title}</bdi></h2>
      {children}
      {act.problem !== null && <ProblemBox problem={act.problem} />}
      <div className="buttons">
        <button type="button" onClick={onClose} disabled={act.busy}>Cancel</button>
        <button type="button" className="danger" onClick={() => void act.run()} disabled={act.busy}>{act.busy ? 'Working…' : verb}</button>
      </div>
    </dialog>
  )
}
