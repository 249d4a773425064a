/**
 * @module dashboard/components/keys
 * Handles single-key shortcuts. They are disabled in input fields and dialogs, with a modifier key, and by preference.
 * A component registers keys such as `j`, or sequences such as `g w`; the most recently mounted component wins.
 */
import { useEffect, useRef } from 'react'
import { preferences } from '../settings/preferences.ts'

export type Keys = Readonly<Record<string, (event: KeyboardEvent) => void>>

const holders: { current: Keys }[] = []

export function useKeys(keys: Keys): void {
  const holder = useRef(keys)
  useEffect(() => {
    holder.current = keys
  })
  useEffect(() => {
    holders.push(holder)
    return () => void holders.splice(holders.indexOf(holder), 1)
  }, [])
}

const TYPED_IN = 'input:not([type="checkbox"], [type="radio"]), textarea, select, [contenteditable]'

function isShortcut(event: KeyboardEvent): boolean {
  const { target } = event
  if (
    event.ctrlKey ||
    event.metaKey ||
    event.altKey ||
    event.isComposing ||
    event.defaultPrevented ||
    !preferences().keys
  )
    return false
  return !(target instanceof Element) || target.closest(`${TYPED_IN}, dialog`) === null
}

/** Maximum time between the two keys of a sequence. */
const SECOND_WITHIN_MS = 1_500
let first = { key: '', atMs: 0 }

addEventListener('keydown', (event) => {
  if (!isShortcut(event) || document.querySelector('dialog[open]') !== null) return
  const before = event.timeStamp - first.atMs < SECOND_WITHIN_MS ? first.key : ''
  first = { key: '', atMs: 0 }
  const name = before === '' ? event.key : `${before} ${event.key}`
  const act = holders.findLast((each) => Object.hasOwn(each.current, name))?.current[name]
  if (act !== undefined) return act(event)
  const begins = holders.some(({ current }) => Object.keys(current).some((each) => each.startsWith(`${event.key} `)))
  if (begins) first = { key: event.key, atMs: event.timeStamp }
})
