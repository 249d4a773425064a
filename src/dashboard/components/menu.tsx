/** @module dashboard/components/menu  Renders a button with a small panel. Escape and a click elsewhere close it. */
/* oxlint-disable jsx-a11y/no-noninteractive-element-interactions -- events bubble from the controls inside */
import { useRef, type ReactNode } from 'react'

export interface MenuProps {
  readonly name: ReactNode
  readonly children: ReactNode
}

export function Menu({ name, children }: MenuProps) {
  const menu = useRef<HTMLDetailsElement>(null)
  const close = (): void => menu.current?.removeAttribute('open')
  return (
    <details
      ref={menu}
      className="menu"
      onBlur={(event) => event.currentTarget.contains(event.relatedTarget) || close()}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || menu.current?.open !== true) return
        event.preventDefault()
        close()
        menu.current.querySelector('summary')?.focus()
      }}
    >
      <summary className="button">{name}</summary>
      <div className="menu-panel" tabIndex={-1}>
        {children}
      </div>
    </details>
  )
}
