/**
 * @module dashboard/parts/dialog
 * A native modal dialog: the browser keeps focus inside, closes on Escape unless work is under way, and gives focus back.
 */
import { useId, useLayoutEffect, useRef, type ReactNode } from 'react'

export interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  /** Work is under way: it stays open. */
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
    return () => shown?.close() // Before it leaves the document, so that the browser gives focus back.
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
