/** @module dashboard/parts/announcements  The one place where changes that nobody asked for are told to a screen reader. */
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
    <output className="hidden" data-told="">
      {useSyncExternalStore(announcer.watch, announcer.told)}
    </output>
  )
}

/** Tells the text whenever it changes; the first one is read with the page. */
export function useAnnouncement(source: string, text: string): void {
  const known = useRef(text)
  useEffect(() => {
    if (known.current === text) return
    known.current = text
    announcer.say(source, text)
  }, [source, text])
}
