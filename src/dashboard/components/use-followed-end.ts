/** @module dashboard/components/use-followed-end  Keeps a list that grows scrolled to its end. */
import { useLayoutEffect, useRef } from 'react'

const NEAR_THE_END_PX = 64

/** Keeps the list scrolled to its end, unless the user has scrolled up. */
export function useFollowedEnd(): {
  readonly ref: React.RefObject<HTMLDivElement | null>
  readonly onScrollCapture: (event: React.UIEvent) => void
} {
  const ref = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  useLayoutEffect(() => {
    const scroller = ref.current?.querySelector('.scroller')
    if (scroller != null && isAtEnd.current) scroller.scrollTop = scroller.scrollHeight
  })
  const onScrollCapture = ({ target }: React.UIEvent): void => {
    if (target instanceof HTMLElement)
      isAtEnd.current = target.scrollHeight - target.scrollTop - target.clientHeight < NEAR_THE_END_PX
  }
  return { ref, onScrollCapture }
}
