/**
 * @module dashboard/components/dialog
 * Renders a native modal dialog. The browser traps focus, closes the dialog on Escape unless it is busy, and restores
 * focus.
 */
import { useId, useLayoutEffect, useRef, type ReactNode } from 'react'

export interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  /** While true, the dialog cannot be closed. */
  readonly busy?: boolean
  readonly wide?: boolean
  readonly children: ReactNode
}

export function Dialog({ title, onClose, busy = false, wide = false, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  useLayoutEffect(() => {
    const shown = dialog.current
    shown?.showModal()
    return () => shown?.close() // Before the element is removed, so that the browser restores focus.
  }, [])
  const cancel = (event: { preventDefault(): void }): void => {
    event.preventDefault()
    if (!busy) onClose()
  }
  return (
    <dialog ref={dialog} aria-labelledby={titleId} onCancel={cancel} className={wide ? 'wide' : undefined}>
      <h2 id={titleId}>
        <bdi>{title}</bdi>
      </h2>
      {children}
    </dialog>
  )
}
