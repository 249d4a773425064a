/**
 * @module dashboard/api/live
 * Connects the event stream of the session to the query cache. While the stream is down, pages rely on polling.
 */
import { skipToken, useQuery, useQueryClient, type QueryClient } from '@tanstack/react-query'
import { createContext, useContext, useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { EventReader } from '../../protocol/event-stream/index.ts'
import type { Api } from './client.ts'
import { Feed, type FeedState, type FleetEvent } from './feed.ts'
import type { FleetSize } from './fleet-size.ts'
import { QueryInvalidator } from './query-invalidator.ts'
import { Problem } from './problem.ts'
import { connectivity } from './connectivity.ts'
import { queueTotalsKey } from './stale-keys.ts'
import { withTotals, type LatestQueueTotals } from './queue-totals.ts'

export const FeedContext = createContext<Feed | null>(null)

export function useFeed(): Feed {
  const feed = useContext(FeedContext)
  if (feed === null) throw new TypeError('there is no FeedContext')
  return feed
}

export function useFeedState(): FeedState {
  const feed = useFeed()
  return useSyncExternalStore(feed.watch, () => feed.state)
}

/** Calls `listener` with every batch of events while the component is mounted. */
export function useEvents(listener: (events: readonly FleetEvent[]) => void): void {
  const feed = useFeed()
  const newest = useRef(listener)
  useEffect(() => {
    newest.current = listener
  })
  useEffect(() => feed.listen((events) => newest.current(events)), [feed])
}

const NO_TOTALS: LatestQueueTotals = {}

/** The queue totals from the latest events. */
export function useQueueTotals(): LatestQueueTotals {
  return useQuery<LatestQueueTotals>({ queryKey: queueTotalsKey, queryFn: skipToken }).data ?? NO_TOTALS
}

/** Opens streams with the newest token: the feed survives a second sign-in. */
class EventSourceOf {
  #api: Api
  #size: FleetSize = 'unknown'

  constructor(api: Api) {
    this.#api = api
  }

  use(api: Api, size: FleetSize): void {
    this.#api = api
    this.#size = size
  }

  readonly open = async (lastId: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> => {
    const resume = lastId === '' ? {} : { 'last-event-id': lastId }
    const headers = { accept: 'text/event-stream', ...resume }
    const query = { batched: 'true', ...(this.#size === 'large' && { workers: 'false' }) }
    return (await this.#api.stream(['events'], headers, signal, query)).body
  }
}

const localMs = (): number => Date.now()

function after(ms: number, act: () => void): () => void {
  const timer = setTimeout(act, ms)
  return () => clearTimeout(timer)
}

/**
 * Creates the feed, which runs while the tab is visible and the user is signed in. It starts when the size of the fleet
 * is known. For a large fleet it leaves out the events of workers.
 */
export function useOpenFeed(api: Api, suspended: boolean, size: FleetSize): Feed {
  const queries = useQueryClient()
  const [source] = useState(() => new EventSourceOf(api))
  useEffect(() => source.use(api, size), [source, api, size])
  const [feed] = useState(
    () =>
      new Feed({
        open: source.open,
        reader: (lastId) => new EventReader(lastId),
        asProblem: (error) =>
          error instanceof Problem
            ? error
            : new Problem(error instanceof Error ? error.message : 'the event stream failed', { cause: error }),
        localMs,
        after,
        random: () => Math.random(),
      }),
  )
  useEffect(() => {
    if (suspended || size === 'unknown') return undefined
    const onVisibility = (): void => feed.show(document.visibilityState === 'visible')
    const unlisten = listen(feed, queries)
    const unwatch = onReturn(() => feed.retry())
    document.addEventListener('visibilitychange', onVisibility)
    feed.start()
    return () => {
      document.removeEventListener('visibilitychange', onVisibility)
      unlisten()
      unwatch()
      feed.end()
    }
  }, [feed, queries, suspended, size])
  return feed
}

/** Calls `act` when the master responds again after an outage. @returns a function that unsubscribes. */
function onReturn(act: () => void): () => void {
  let wasDown = false
  return connectivity.watch(() => {
    const isDown = connectivity.now.unavailableSinceMs !== undefined
    if (wasDown && !isDown) act()
    wasDown = isDown
  })
}

/** Stores queue totals from events and invalidates stale queries. @returns a function that stops it. */
function listen(feed: Feed, queries: QueryClient): () => void {
  const invalidator = new QueryInvalidator({
    localMs,
    after,
    refresh: (key) => void queries.invalidateQueries(key === 'all' ? {} : { queryKey: key }),
  })
  const unlisten = feed.listen((events) => {
    queries.setQueryData<LatestQueueTotals>(queueTotalsKey, (totals = {}) => withTotals(totals, events, localMs()))
    invalidator.onEvents(events)
  })
  invalidator.countAgain() // Changes before the stream opens cause no event.
  return () => {
    unlisten()
    invalidator.end()
  }
}
