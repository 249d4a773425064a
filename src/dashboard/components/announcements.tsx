/**
 * @module dashboard/components/announcements
 * Announces background changes to screen readers through one live region.
 */
import { useEffect, useRef, useSyncExternalStore } from 'react'
import { Announcer } from './announcer.ts'

const announcer = new Announcer({
  nowMs: () => performance.now(),
  after: (ms, act) => {
    const timer = setTimeout(act, ms)
    return () => clearTimeout(timer)
  },
})

export function Announcements() {
  return (
    <output className="hidden" data-announced="">
      {useSyncExternalStore(announcer.watch, announcer.announced)}
    </output>
  )
}

/** Announces `text` whenever it changes. The initial text is not announced, since it is read with the page. */
export function useAnnouncement(source: string, text: string): void {
  const known = useRef(text)
  useEffect(() => {
    if (known.current === text) return
    known.current = text
    announcer.say(source, text)
  }, [source, text])
}
