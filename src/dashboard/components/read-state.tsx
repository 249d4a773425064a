/**
 * @module dashboard/components/read-state
 * Shows the state of a read above its data: nothing while they are fresh, a loading message at first, and after a
 * failure the error and the age of the data.
 */
import type { ReactNode } from 'react'
import type { Read } from '../api/queries.ts'
import { agoText } from './age.ts'
import { ErrorPanel } from './error-panel.tsx'
import { clockText } from './moments.ts'
import { useLocalNow } from './use-now.ts'

export function ReadState({ read: { data, atMs, problem, refresh } }: { readonly read: Read<unknown> }) {
  const now = useLocalNow()
  if (problem === undefined) return data === undefined ? <output className="reading">Loading…</output> : null
  return (
    <ErrorPanel problem={problem} onRetry={refresh}>
      <p>
        {atMs === undefined
          ? 'No data has been loaded yet.'
          : `Showing data from ${clockText(atMs / 1_000)} (${agoText((now - atMs) / 1_000)}).`}{' '}
        Retrying automatically.
      </p>
    </ErrorPanel>
  )
}

/** Shows the state of a read and its data, dimmed while they are stale. */
export function ReadView<T>({ read, children }: { readonly read: Read<T>; readonly children: (data: T) => ReactNode }) {
  return (
    <>
      <ReadState read={read} />
      {read.data !== undefined && (
        <div className={read.problem === undefined ? undefined : 'stale'}>{children(read.data)}</div>
      )}
    </>
  )
}
