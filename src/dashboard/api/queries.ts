/**
 * @module dashboard/api/queries
 * One cache of what was read, for the whole page. A read is never retried by itself: it is read again at its next turn,
 * and the last good data stay until then. What is read when:
 *
 *   useRead(key, everyMs, load) ──▶ answer ──everyMs ±10 %──▶ again, while it is shown and the tab is visible, unless the person paused the page
 *                                            └── an event that concerns the key, at most every 2 s (live.ts)
 */
import { keepPreviousData, QueryClient, useQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback } from 'react'
import type { Api } from './client.ts'
import { useFeedState } from './live.ts'
import { asProblem, type Problem } from './problem.ts'
import { useSession } from './session.ts'
import type { ReadKey } from './stale-keys.ts'
import { nextTurnMs } from './turns.ts'

export interface Read<T> {
  /** The last good data; undefined before the first. */
  readonly data: T | undefined
  /** When they came, local milliseconds. */
  readonly atMs: number | undefined
  /** Why the newest try failed; undefined when it did not. */
  readonly problem: Problem | undefined
  readonly busy: boolean
  /** Reads now instead of at the next turn. */
  readonly refresh: () => void
}

export interface ReadOptions {
  /** False: nothing is read now; what was read before stays. */
  readonly enabled?: boolean
  /** True: what was read under the key before is shown until the new key's data are there. */
  readonly keepsShown?: boolean
}

const KEPT_MS = 300_000

export function createQueries(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        retry: false,
        networkMode: 'always',
        gcTime: KEPT_MS,
        staleTime: 0,
        refetchOnWindowFocus: true,
        refetchOnReconnect: true,
        structuralSharing: false,
      },
      mutations: { retry: false, networkMode: 'always' },
    },
  })
}

export function useRead<T>(
  key: ReadKey,
  everyMs: number,
  load: (api: Api, signal: AbortSignal) => Promise<T>,
  { enabled = true, keepsShown = false }: ReadOptions = {},
): Read<T> {
  const { api, suspended } = useSession()
  const isPaused = useFeedState().kind === 'paused'
  const { data, dataUpdatedAt, error, isFetching, isPlaceholderData, refetch } = useQuery<T, Problem>({
    queryKey: key,
    ...(keepsShown && { placeholderData: keepPreviousData }),
    enabled: enabled && !suspended,
    refetchOnWindowFocus: !isPaused,
    queryFn: ({ signal }) =>
      load(api, signal).catch((reason: unknown) => {
        throw asProblem(reason)
      }),
    refetchInterval: ({ state }) =>
      !isPaused && !suspended && nextTurnMs(everyMs, Math.max(state.dataUpdatedAt, state.errorUpdatedAt), state.error),
  })
  const refresh = useCallback(() => void refetch({ cancelRefetch: false }), [refetch])
  return {
    data,
    atMs: data === undefined || isPlaceholderData ? undefined : dataUpdatedAt,
    problem: error ?? undefined,
    busy: isFetching,
    refresh,
  }
}

/** Has everything under the key read again, where it is shown: after an act that changed it. */
export function useRefresh(): (...keys: readonly ReadKey[]) => void {
  const queries = useQueryClient()
  return useCallback((...keys) => keys.forEach((queryKey) => void queries.invalidateQueries({ queryKey })), [queries])
}
