/**
 * @module dashboard/api/queries
 * Polls the API through one query cache. A failed read is not retried separately: it runs again at its next interval,
 * and the last good data stay visible.
 *
 *   useRead(key, everyMs, load) ──▶ response ──everyMs ±10 %──▶ again, while mounted, visible and not paused
 *                                              └── or when an event concerns the key, at most every 2 s (live.ts)
 */
import { keepPreviousData, QueryClient, useQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback } from 'react'
import type { Api } from './client.ts'
import { useFeedState } from './live.ts'
import { asProblem, type Problem } from './problem.ts'
import { useSession } from './session.ts'
import type { ReadKey } from './stale-keys.ts'
import { nextPollDelayMs } from './poll-interval.ts'

export interface Read<T> {
  /** The last good data; undefined before the first response. */
  readonly data: T | undefined
  /** When `data` was received, in local milliseconds. */
  readonly atMs: number | undefined
  /** Why the latest read failed; undefined if it succeeded. */
  readonly problem: Problem | undefined
  readonly busy: boolean
  /** Reads now instead of at the next interval. */
  readonly refresh: () => void
}

export interface ReadOptions {
  /** If false, nothing is read; earlier data stay available. */
  readonly enabled?: boolean
  /** If true, the data of the previous key are shown until those of a new key arrive. */
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

/** @param everyMs The interval of the polls, which may depend on the last good data. Infinity: it is not polled. */
export function useRead<T>(
  key: ReadKey,
  everyMs: number | ((data: T | undefined) => number),
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
      !isPaused &&
      !suspended &&
      nextPollDelayMs(
        typeof everyMs === 'number' ? everyMs : everyMs(state.data),
        Math.max(state.dataUpdatedAt, state.errorUpdatedAt),
        state.error,
      ),
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

/** Invalidates the given keys after a change; mounted queries below them are read again. */
export function useRefresh(): (...keys: readonly ReadKey[]) => void {
  const queries = useQueryClient()
  return useCallback((...keys) => keys.forEach((queryKey) => void queries.invalidateQueries({ queryKey })), [queries])
}
