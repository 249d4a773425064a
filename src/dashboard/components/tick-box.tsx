/** @module dashboard/components/tick-box  A checkbox for several items, of which some may be selected. */
import { useEffect, useRef } from 'react'

export interface TickBoxProps {
  readonly label: string
  readonly state: 'all' | 'some' | 'none'
  readonly onTick: (on: boolean) => void
}

export function TickBox({ label, state, onTick }: TickBoxProps) {
  const box = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (box.current !== null) box.current.indeterminate = state === 'some'
  }, [state])
  return (
    <input
      ref={box}
      type="checkbox"
      aria-label={label}
      checked={state === 'all'}
      onChange={(event) => onTick(event.target.checked)}
    />
  )
}
