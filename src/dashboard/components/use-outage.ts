/** @module dashboard/components/use-outage  Whether the page knows that the master does not respond. */
import { OUTAGE_PATIENCE_MS, useUnavailableSince } from '../api/connectivity.ts'
import { useLocalNow } from './use-now.ts'

/** @returns since when the master has not responded, in local milliseconds; undefined if it responds, or for 5 s. */
export function useOutageSince(): number | undefined {
  const since = useUnavailableSince()
  const now = useLocalNow()
  return since !== undefined && now - since >= OUTAGE_PATIENCE_MS ? since : undefined
}
