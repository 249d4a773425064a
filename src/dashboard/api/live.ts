/**
 * @module dashboard/api/live
 * The event stream of the session, and what its events have read again. Polls alone carry the page while it is down.
 */
import { useQueryClient, type QueryClient } from '@tanstack/react-query'
import { createContext, useContext, useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { EventReader } from '../../protocol/event-stream/index.ts'
import type { Api } from './client.ts'
import { Feed, type FeedState, type FleetEvent } from './feed.ts'
import { Problem } from './problem.ts'
import { staleKeys, type ReadKey } from './stale-keys.ts'

/** At most this often is a thing read again for events. */
const REFRESH_EVERY_MS = 2_000

export const FeedContext = createContext<Feed | null>(null)

export function useFeed(): Feed {
  const feed = useContext(FeedContext)
  if (feed === null) throw new TypeError('a place is shown without a feed')
  return feed
}

export function useFeedState(): FeedState {
  const feed = useFeed()
  return useSyncExternalStore(feed.watch, () => feed.state)
}

/** Hears every batch of events while the component is shown. */
export function useEvents(listener: (events: readonly FleetEvent[]) => void): void {
  const feed = useFeed()
  const newest = useRef(listener)
  useEffect(() => {
    newest.current = listener
  })
  useEffect(() => feed.listen((events) => newest.current(events)), [feed])
}

/** The stream of whichever token is the newest: a feed outlives a sign-in. */
class EventSourceOf {
  #api: Api

  constructor(api: Api) {
    this.#api = api
  }

  use(api: Api): void {
    this.#api = api
  }

  readonly open = async (lastId: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> => {
    const resume = lastId === '' ? {} : { 'last-event-id': lastId }
    return (await this.#api.stream(['events'], { accept: 'text/event-stream', ...resume }, signal)).body
  }
}

/** The feed of a token, which runs while the page shows and is signed in. */
export function useOpenFeed(api: Api, suspended: boolean): Feed {
  const queries = useQueryClient()
  const [source] = useState(() => new EventSourceOf(api))
  useEffect(() => source.use(api), [source, api])
  const [feed] = useState(() => new Feed({
    open: source.open,
    reader: (lastId) => new EventReader(lastId),
    asProblem: (error) => (error instanceof Problem ? error : new Problem(error instanceof Error ? error.message : 'the event stream broke', { cause: error })),
    localMs: () => Date.now(), random: () => Math.random(),
    after: (ms, act) => {
      const timer = setTimeout(act, ms)
      return () => clearTimeout(timer)
    },
  }))
  useEffect(() => {
    if (suspended) return undefined
    const onVisibility = (): void => feed.show(document.visibilityState === 'visible')
    const unlisten = feed.listen(freshener(queries))
    document.addEventListener('visibilitychange', onVisibility)
    feed.start()
    return () => {
      document.removeEventListener('visibilitychange', onVisibility)
      unlisten()
      feed.end()
    }
  }, [feed, queries, suspended])
  return feed
}

/** Has what is shown read again: at once, then at most every 2 s for each key. */
function freshener(queries: QueryClient): (events: readonly FleetEvent[]) => void {
  const due = new Map<string, ReadKey | 'all'>()
  const readAt = new Map<string, number>()
  let timer: ReturnType<typeof setTimeout> | undefined
  const run = (): void => {
    timer = undefined
    const now = Date.now()
    for (const [name, key] of due) {
      if (now - (readAt.get(name) ?? 0) < REFRESH_EVERY_MS) continue
      due.delete(name)
      readAt.set(name, now)
      void queries.invalidateQueries(key === 'all' ? {} : { queryKey: key })
    }
    if (due.size > 0) timer = setTimeout(run, REFRESH_EVERY_MS / 4)
    else if (readAt.size > 1_000) readAt.clear() // Fleets are large, this map is not to be.
  }
  return (events) => {
    for (const event of events) {
      const keys = staleKeys(event)
      if (keys === 'all') due.set('all', 'all')
      else for (const key of keys) due.set(key.join('\n'), key)
    }
    if (due.size > 0 && timer === undefined) run()
  }
}
