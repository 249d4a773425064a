/**
 * @module dashboard/components/act-button
 * The button of a dialog that performs its action. If the action loses data, the button is red and names the
 * environment.
 */
import type { ReactNode } from 'react'
import { useInEnvironment } from '../environment/environment.tsx'

export interface ActButtonProps {
  readonly danger: boolean
  readonly disabled: boolean
  readonly onClick: () => void
  readonly children: ReactNode
}

export function ActButton({ danger, disabled, onClick, children }: ActButtonProps) {
  const inEnvironment = useInEnvironment()
  return (
    <button type="button" className={danger ? 'danger' : 'primary'} disabled={disabled} onClick={onClick}>
      {children}
      {danger && inEnvironment}
    </button>
  )
}
