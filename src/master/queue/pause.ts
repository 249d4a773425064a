/**
 * @module master/queue/pause
 * Pauses and resumes the queue of a type (D106). Both publish an event after the change is stored; a client that misses
 * it sees `paused` in the queue and in the overview.
 */
import {
  API_PREFIX,
  FleetError,
  invalid,
  MAX_DELAY_SECONDS,
  PauseBody,
  PausedBody,
  toSeconds,
  type EventData,
} from '../../protocol/index.ts'
import type { Clock, Log } from '../../runtime/index.ts'
import type { Backend } from '../../storage/index.ts'
import { actorOf } from '../auth/index.ts'
import type { MasterReleases } from '../master-releases.ts'
import { route, type Route } from '../http/index.ts'
import { pauseBody } from './counts.ts'
import type { TypeQueue } from './type-queue.ts'

const PAUSE = `${API_PREFIX}/automations/{type}/queue/pause`
const READS = {
  'muster-actor': 'Who pauses or resumes the queue: 1 to 128 printable ASCII characters, shown with the pause.',
}

export interface PauseDeps {
  /** What the live masters implement. If left out, there is no other master. */
  readonly releases?: MasterReleases | undefined
  readonly backend: Backend
  readonly clock: Clock
  readonly log: Log
  /** The backend's time, from which `seconds` count. */
  readonly backendNowMs: () => number
  readonly queueOf: (type: string) => TypeQueue
}

export function pauseRoutes(deps: PauseDeps): readonly Route[] {
  return [pauseRoute(deps), resumeRoute(deps)]
}

function pauseRoute(deps: PauseDeps): Route {
  return route({
    method: 'PUT',
    path: PAUSE,
    access: 'scoped',
    needs: 'operate',
    audit: 'queue.pause',
    body: PauseBody,
    bodyMayBeAbsent: true,
    response: PausedBody,
    reads: READS,
    example: { note: 'deploying the mail server', seconds: 1800 },
    summary:
      'Pauses the queue: no task is leased until it is resumed, or until the given time. Replaces an earlier pause.',
    handle: async ({ params: { type }, entry, principal, header, body }) => {
      if (entry.validatePayload === null)
        throw new FleetError('BAD_REQUEST', `"${type}" is not a batch automation and has no queue`)
      deps.releases?.require('pause')
      const paused = pauseBody(
        await deps.queueOf(type).pause({
          note: body.note ?? null,
          actor: actorOf(principal, header('muster-actor')),
          untilMs: endOf(body, deps.backendNowMs()),
        }),
      )
      publish(deps, 'queue.paused', type, { paused })
      return { body: { paused } }
    },
  })
}

function resumeRoute(deps: PauseDeps): Route {
  return route({
    method: 'DELETE',
    path: PAUSE,
    access: 'scoped',
    needs: 'operate',
    audit: 'queue.resume',
    refuses: ['INVALID'], // A wrong name of the caller.
    response: PausedBody,
    reads: READS,
    summary: 'Resumes the queue. Does nothing if it is not paused.',
    handle: async ({ params: { type }, principal, header }) => {
      const actor = actorOf(principal, header('muster-actor'))
      if (await deps.queueOf(type).resume()) publish(deps, 'queue.resumed', type, { actor })
      return { body: { paused: null } }
    },
  })
}

/** When the pause ends without a call. @throws {FleetError} INVALID */
function endOf({ until, seconds }: PauseBody, nowMs: number): number | null {
  if (typeof seconds === 'number') {
    if (typeof until === 'number') throw invalid('/until', 'must not be combined with seconds', 'pause', {})
    return Math.round(nowMs + seconds * 1_000)
  }
  if (typeof until !== 'number') return null
  const inSeconds = until - nowMs / 1_000
  if (inSeconds <= 0) throw invalid('/until', 'must be in the future', 'pause', {})
  if (inSeconds > MAX_DELAY_SECONDS) throw invalid('/until', 'must not be more than a year ahead', 'pause', {})
  return Math.round(until * 1_000)
}

/** Publishing never delays or fails the change, which is already stored. */
function publish<Name extends 'queue.paused' | 'queue.resumed'>(
  { backend, clock, log }: PauseDeps,
  name: Name,
  type: string,
  data: Omit<EventData<Name>, 'type' | 'ts'>,
): void {
  const event = { name, scope: type, data: JSON.stringify({ type, ts: toSeconds(clock.wallMs()), ...data }) }
  backend.events
    .append([event])
    .catch((error: unknown) => log.warn('failed to write an event to the event log', { error, event: name }))
}
