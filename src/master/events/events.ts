/**
 * @module master/events/events
 * Serves `GET /api/v1/events`: changes of the fleet as server-sent events, filtered by what the caller may see (D31,
 * D51). Registry and control channel publish changes of workers. The leader publishes the totals of queues, and a
 * surviving master publishes the workers of masters that stopped.
 */
import { Gauge } from 'prom-client'
import type { Static } from 'typebox'
import { API_PREFIX, EventsQuery, FleetError, MAX_EVENT_STREAMS } from '../../protocol/index.ts'
import { LogThrottle } from '../../runtime/index.ts'
import { covers, readsEveryWorker, typesOf, workersShown, type Principal } from '../auth/index.ts'
import type { MasterDeps, Part } from '../deps.ts'
import { FairShare, route, type Route, type StreamBody } from '../http/index.ts'
import type { MasterMembership } from '../master-membership.ts'
import type { Announce } from '../registry/index.ts'
import { Feed, type View } from './feed.ts'
import { Reader } from './reader.ts'
import { OrphanedWorkerMonitor } from './orphaned-worker-monitor.ts'
import { Totals } from './totals.ts'

const FULL_RETRY_SECONDS = 5

export interface EventsDeps extends MasterDeps {
  readonly masters: Pick<MasterMembership, 'isLeader' | 'onBeat'>
  readonly announce: Announce
}

/** @returns the part, and the events for reads of what changed. */
export function createEvents(deps: EventsDeps): Part & { readonly feed: Pick<Feed, 'newestId' | 'entriesAfter'> } {
  const { masters, announce } = deps
  const logThrottle = new LogThrottle(deps.clock)
  const feed = new Feed(deps)
  const totals = new Totals(deps, () => masters.isLeader(), logThrottle)
  const orphanedWorkers = new OrphanedWorkerMonitor(deps, announce, logThrottle)
  masters.onBeat((alive) => orphanedWorkers.update(alive))
  return {
    feed,
    routes: [eventsRoute(deps, feed, logThrottle)],
    start: async () => {
      feed.start()
      await totals.start()
    },
    stop: async () => {
      totals.stop()
      feed.stop()
      await orphanedWorkers.stop()
    },
  }
}

function eventsRoute({ timers, log, metrics }: MasterDeps, feed: Feed, logThrottle: LogThrottle): Route {
  const places = new FairShare(MAX_EVENT_STREAMS)
  const streams: Gauge = new Gauge({
    name: 'svc_event_streams',
    help: 'Event streams that are open.',
    registers: [metrics],
    collect: () => streams.set(places.taken),
  })
  return route({
    method: 'GET',
    path: `${API_PREFIX}/events`,
    access: 'scoped',
    needs: 'read',
    long: true,
    query: EventsQuery,
    summary: 'Changes of workers, their configs and queue counts, as server-sent events.',
    media: 'text/event-stream',
    reads: { 'last-event-id': 'Resumes after this event; if that is not possible, the stream starts with a `reset`.' },
    handle: ({ principal, header, query }) => {
      const noPlace = places.check(principal)
      if (noPlace !== null) {
        const problem =
          noPlace === 'token'
            ? `this token has ${places.perToken} event streams, its limit`
            : `this master already serves ${places.taken} event streams, its limit`
        throw new FleetError('OVERLOADED', `${problem}; try again`, { retryAfterSeconds: FULL_RETRY_SECONDS })
      }
      const lastEventId = header('last-event-id') ?? ''
      const pipe: StreamBody['pipe'] = async (write, signal, drained) => {
        places.take(principal)
        try {
          await new Reader(feed, timers, viewOf(principal, query), { write, signal, drained }).run(lastEventId)
        } catch (error) {
          if (!isStoreError(error)) throw error
          logThrottle.run('log', (suppressed) =>
            log.warn('failed to read the event log; ended an event stream, its client reconnects', {
              error,
              suppressed,
            }),
          )
        } finally {
          places.release(principal)
        }
      }
      return {
        headers: { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' },
        body: { pipe } satisfies StreamBody,
      }
    },
  })
}

/** After the stream has begun, no status can be sent: the stream ends, and the client reconnects. */
function isStoreError(error: unknown): boolean {
  return error instanceof FleetError && error.code.startsWith('STORAGE_')
}

/** No name of a type contains a line break, so no two views share a key. */
function viewOf(principal: Principal, { batched = false, workers = true }: Static<typeof EventsQuery>): View {
  const key = [viewKeyOf(principal), ...(batched ? ['batched'] : []), ...(workers ? [] : ['no workers'])].join('\n')
  return {
    key,
    sees: (scope) => covers(principal, scope),
    hidesWorkers: !workers,
    isBatched: batched,
    ...(!readsEveryWorker(principal) && { seesWorker: workersShown(principal) }),
  }
}

/** @returns the same key for all principals that see the same events. */
function viewKeyOf(principal: Principal): string {
  return readsEveryWorker(principal) ? typesOf(principal, 'read').join(' ') : principal.key
}
