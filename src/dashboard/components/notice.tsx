/**
 * @module dashboard/components/notice
 * Shows what an action has done on the page that opens after it, until another page is opened.
 */
import { useEffect, useSyncExternalStore } from 'react'

interface Shown {
  readonly text: string
  /** The page that shows it. */
  readonly page: string
}

let shown: Shown | null = null
let wasOpen = false
const listeners = new Set<() => void>()

function set(next: Shown | null): void {
  shown = next
  wasOpen = false
  for (const each of listeners) each()
}

/**
 * @param text For example `mailer/m-7 was forgotten.`
 * @param page The page that opens now, such as `workers`.
 */
export const notify = (text: string, page: string): void => set({ text, page })

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** @param page The open page. */
export function Notice({ page }: { readonly page: string }) {
  const notice = useSyncExternalStore(subscribe, () => shown)
  useEffect(() => {
    if (notice === null) return
    if (notice.page === page) wasOpen = true
    else if (wasOpen) set(null)
  }, [notice, page])
  return (
    <output className="notice-line">
      {notice !== null && notice.page === page && (
        <span className="done">
          <bdi>{notice.text}</bdi>{' '}
          <button type="button" className="link" onClick={() => set(null)}>
            Close<span className="hidden"> this message</span>
          </button>
        </span>
      )}
    </output>
  )
}
