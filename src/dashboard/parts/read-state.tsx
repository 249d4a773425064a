/**
 * @module dashboard/parts/read-state
 * What stands above data that were read: nothing while they are fresh, a line while they are read for the first time, and
 * when the newest try failed why, and of when the data below are.
 */
import type { ReactNode } from 'react'
import type { Read } from '../api/queries.ts'
import { agoText } from './age.ts'
import { ErrorPanel } from './error-panel.tsx'
import { clockText } from './moments.ts'
import { useLocalNow } from './use-now.ts'

export function ReadState({ read: { data, atMs, problem, refresh } }: { readonly read: Read<unknown> }) {
  const now = useLocalNow()
  if (problem === undefined) return data === undefined ? <output className="reading">Reading…</output> : null
  return (
    <ErrorPanel problem={problem} onRetry={refresh}>
      <p>
        {atMs === undefined
          ? 'Nothing could be read yet.'
          : `Below are the last good data, of ${clockText(atMs / 1_000)} (${agoText((now - atMs) / 1_000)}).`}{' '}
        It is tried again by itself.
      </p>
    </ErrorPanel>
  )
}

/** The state of a read and, once there are any, its data: dimmed while they are old. */
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
