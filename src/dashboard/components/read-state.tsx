/**
 * @module dashboard/components/read-state
 * Shows the state of a read above its data: nothing while they are fresh, a loading message at first, and after a
 * failure the error and the age of the data. That the master does not respond is said once, above the page
 * (settings/outage.tsx).
 */
import { useState, type ReactNode } from 'react'
import { OUTAGE_PATIENCE_MS, useUnavailableSince } from '../api/connectivity.ts'
import type { Problem } from '../api/problem.ts'
import type { Read } from '../api/queries.ts'
import { agoText } from './age.ts'
import { ErrorPanel } from './error-panel.tsx'
import { clockText } from './moments.ts'
import { useLocalNow } from './use-now.ts'

export function ReadState({ read }: { readonly read: Read<unknown> }) {
  const { data } = read
  const problem = useProblemOfPage(read.problem)
  if (problem === undefined) return data === undefined ? <output className="reading">Loading…</output> : null
  return problem.status === null ? <LastingProblem read={read} /> : <ReadProblem read={read} />
}

/** @returns undefined while the notice above the page says that the master does not respond. */
export function useProblemOfPage(problem: Problem | undefined): Problem | undefined {
  const isUnavailable = useUnavailableSince() !== undefined
  return problem?.status === null && isUnavailable ? undefined : problem
}

/** A read that failed during an outage is repeated after it; only a failure that lasts is shown. */
function LastingProblem({ read }: { readonly read: Read<unknown> }) {
  const now = useLocalNow()
  const [sinceMs] = useState(now)
  return now - sinceMs < OUTAGE_PATIENCE_MS ? null : <ReadProblem read={read} />
}

function ReadProblem({ read: { atMs, problem, refresh } }: { readonly read: Read<unknown> }) {
  const now = useLocalNow()
  if (problem === undefined) return null
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
