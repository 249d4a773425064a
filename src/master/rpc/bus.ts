/**
 * @module master/rpc/bus
 * Serves bus messages for one worker as server-sent events: `data: {"topic":…,"message":…}`. After the first comment
 * every message on its topics is sent. Messages are not stored: a client that is not connected misses them. The stream
 * of a client that is more than a megabyte behind ends. If the backend has no bus, the stream only contains a comment
 * every 15 s.
 */
import { Type } from 'typebox'
import { API_PREFIX, FleetError, MAX_BUS_TOPICS, Name, Strict } from '../../protocol/index.ts'
import { aborted } from '../../runtime/index.ts'
import type { MasterDeps } from '../deps.ts'
import { route, type Route, type StreamBody } from '../http/index.ts'
import { BusStreams } from './bus-streams.ts'

const COMMENT_EVERY_MS = 15_000
/** Unsent characters after which a slow client is disconnected. */
const MAX_BEHIND_CHARS = 1_048_576
/** An optional prefix of topics. */
const TOPIC_FORM = /^event:(?=.)/
const BusQuery = Strict({ topic: Type.Array(Name, { minItems: 1, maxItems: MAX_BUS_TOPICS }) })

export function busRoute(deps: Pick<MasterDeps, 'backend' | 'timers'>): Route {
  const streams = new BusStreams()
  return route({
    method: 'GET',
    path: `${API_PREFIX}/automations/{type}/workers/{id}/bus`,
    access: 'worker',
    needs: 'work',
    query: BusQuery,
    long: true,
    media: 'text/event-stream',
    summary: 'Messages published on the given topics, as server-sent events.',
    handle: ({ query, params: { type, id } }) => {
      const worker = `${type}/${id}`
      streams.check(worker)
      const topics = [...new Set(query.topic)]
      const pipe: StreamBody['pipe'] = (write, signal) =>
        streams.count(worker, () => listen(deps, topics, write, signal))
      return {
        headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store' },
        body: { pipe } satisfies StreamBody,
      }
    },
  })
}

/** The name of a topic in the store: `event:orders` and `orders` are the same topic. */
export function bareTopic(topic: string): string {
  return topic.replace(TOPIC_FORM, '')
}

async function listen(
  { backend, timers }: Pick<MasterDeps, 'backend' | 'timers'>,
  topics: readonly string[],
  write: (chunk: string) => boolean,
  signal: AbortSignal,
): Promise<void> {
  const slow = new AbortController()
  const ended = AbortSignal.any([signal, slow.signal])
  let behind = 0
  const send = (chunk: string): void => {
    if (ended.aborted) return
    behind = write(chunk) ? 0 : behind + chunk.length
    if (behind > MAX_BEHIND_CHARS) slow.abort()
  }
  const cancels = [timers.every(COMMENT_EVERY_MS, () => send(':\n\n'))]
  try {
    for (const topic of topics) {
      cancels.push(
        await backend.bus.subscribe(bareTopic(topic), (message) =>
          send(`data: {"topic":${JSON.stringify(topic)},"message":${message}}\n\n`),
        ),
      )
    }
    send(': listening\n\n')
    await aborted(ended)
    if (slow.signal.aborted)
      // Ends the connection.
      throw new FleetError('OVERLOADED', `a bus subscriber reads too slowly: ${behind} characters are unsent`)
  } finally {
    for (const cancel of cancels) cancel()
  }
}
