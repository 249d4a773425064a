/**
 * @module dashboard/settings/outage
 * Shows dashboard-wide warnings: the master is not responding, or this computer's clock is wrong.
 */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { connectivity, useUnavailableSince } from '../api/connectivity.ts'
import { serverClock } from '../api/session.ts'
import { spanText } from '../components/age.ts'
import { clockText } from '../components/moments.ts'
import { useOutageSince } from '../components/use-outage.ts'

const SKEW_SECONDS = 30

export function Outage() {
  const since = useOutageSince()
  useRecovery()
  const skew = serverClock.behindSeconds
  return (
    <output className="outage">
      {since !== undefined && (
        <span className="problem">
          <strong>The master has not responded since {clockText(since / 1_000)}.</strong>{' '}
          {connectivity.now.lastResponseAtMs === undefined
            ? 'No data has been loaded yet.'
            : `Showing data from ${clockText(connectivity.now.lastResponseAtMs / 1_000)}.`}{' '}
          The page reconnects automatically.
        </span>
      )}
      {Math.abs(skew) > SKEW_SECONDS && (
        <span className="notice">
          This computer&apos;s clock is {spanText(Math.abs(skew))} {skew > 0 ? 'behind' : 'ahead of'} the master&apos;s.
          Ages use the master&apos;s clock.
        </span>
      )}
    </output>
  )
}

/**
 * When the master serves calls again, repeats the reads that have failed, so that no old failure stays on the page. A
 * master that starts refuses calls at first: reads that are repeated then would only delay each other.
 */
function useRecovery(): void {
  const queries = useQueryClient()
  const since = useUnavailableSince()
  const outageMs = useRef<number | null>(null)
  const servedAtMs = connectivity.now.lastResponseAtMs ?? 0 // Read every second, with the age of the outage.
  useEffect(() => {
    if (since !== undefined) outageMs.current = since
    if (since !== undefined || outageMs.current === null) return
    if (servedAtMs <= outageMs.current) return
    outageMs.current = null
    void queries.refetchQueries({ type: 'active', predicate: ({ state }) => state.error !== null })
  }, [since, servedAtMs, queries])
}
