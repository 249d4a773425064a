/**
 * @module dashboard/api/fleet-size
 * Decides by the number of workers how the page follows them (D162). In a small fleet it reads all workers and receives
 * the event of each change. In a large one it reads rows only where they are shown.
 */
import { useQueryClient, type QueryClient } from '@tanstack/react-query'
import { createContext, useCallback, useContext, useRef, useSyncExternalStore } from 'react'
import type { OverviewBody } from '../../protocol/index.ts'

export type FleetSize = 'unknown' | 'small' | 'large'

/** A larger fleet is large. It stays so down to the other bound, so that the size does not alternate. */
const LARGE_ABOVE = 500
const SMALL_BELOW = 400

export const FleetSizeContext = createContext<FleetSize>('unknown')
export const useFleetSize = (): FleetSize => useContext(FleetSizeContext)

/** The size according to the newest overview; small if the overview cannot be read. */
export function useKnownFleetSize(): FleetSize {
  const queries = useQueryClient()
  const last = useRef<FleetSize>('unknown')
  const subscribe = useCallback((onChange: () => void) => queries.getQueryCache().subscribe(onChange), [queries])
  return useSyncExternalStore(subscribe, () => (last.current = sizeOf(queries, last.current)))
}

function sizeOf(queries: QueryClient, last: FleetSize): FleetSize {
  const { data, error = null } = queries.getQueryState<OverviewBody>(['overview']) ?? {}
  if (data === undefined) return last === 'unknown' && error !== null ? 'small' : last
  return fleetSizeOf(data, last)
}

/** @param last The size before. */
export function fleetSizeOf({ automations }: OverviewBody, last: FleetSize): FleetSize {
  const total = Object.values(automations).reduce((sum, { workers }) => sum + workers.total, 0)
  if (total > LARGE_ABOVE) return 'large'
  return last === 'large' && total >= SMALL_BELOW ? 'large' : 'small'
}
