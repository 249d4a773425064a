/**
 * @module client/feed
 * Follows the event stream of a master (D31, D51) until the caller stops:
 *
 *   connect ──▶ open ──event*──▶ lost ──backoff 0.5–30 s──▶ connect, `Last-Event-ID` of the last one
 *                         └ `reset`: events in between are lost; the listener lists again
 *
 * It retries without end, also after a rejected token, since tokens and masters can be repaired. The master sends a
 * comment every 15 s, so a stream without data for 45 s is considered dead and replaced. Events wait while the listener
 * is busy.
 */
import { EventReader } from '../protocol/event-stream/index.ts'
import { Backoff, retryAfterDelayMs, sleep } from '../runtime/backoff/index.ts'
import type { ApiCaller, CallerOptions } from './api-caller.ts'
import { apiPath } from './address.ts'
import { MasterError } from './master-error.ts'
import { abortAfter } from './signals.ts'

const SILENCE_MS = 45_000
const RETRY_BASE_MS = 500
const RETRY_CAP_MS = 30_000

interface FleetEvent {
  /** Opaque position to resume after; empty before the first event with an ID. */
  readonly id: string
  /** `worker.state`, `queue.totals`, `reset` … */
  readonly name: string
  readonly data: {
    readonly type?: string
    readonly worker_id?: string
    readonly ts?: number
    readonly [field: string]: unknown
  }
}

/** What a feed yields: changes of its connection, and events. */
export type FeedItem =
  /**
   * `resumed`: the stream continues after the last event, unless a `reset` follows. Otherwise earlier events are not
   * sent.
   */
  | { readonly kind: 'open'; readonly epoch: string; readonly isResumed: boolean }
  | ({ readonly kind: 'event' } & FleetEvent)
  | { readonly kind: 'lost'; readonly error: MasterError; readonly retryInMs: number }

/** Options of a feed. */
export interface FeedOptions {
  readonly signal: AbortSignal
  /** ID of the last event of an earlier feed, to continue after it. */
  readonly lastEventId?: string
  /** Whether changes that were recorded together arrive as one event, `workers.state` with `items`. No if omitted. */
  readonly isBatched?: boolean
}

/**
 * Yields events and changes of the connection until `signal` aborts. Never throws for a failed connection: it yields
 * `lost` with the error and the delay, then reconnects after that delay.
 *
 * @param caller Sends the requests.
 * @param time `timers` and `random` of the client.
 * @param options When to stop and where to resume.
 */
export async function* followEvents(
  caller: ApiCaller,
  time: Pick<CallerOptions, 'timers' | 'random'>,
  options: FeedOptions,
): AsyncGenerator<FeedItem> {
  const { timers, random } = time
  const { signal, lastEventId = '', isBatched = false } = options
  const backoff = new Backoff({ baseMs: RETRY_BASE_MS, capMs: RETRY_CAP_MS, floor: 0.5, random })
  let resumeAt = lastEventId
  while (!signal.aborted) {
    const silence = new AbortController()
    const guard = watchdog(timers, silence)
    const either = AbortSignal.any([signal, silence.signal])
    let failure: unknown
    try {
      const { chunks, epoch } = await caller.open(
        apiPath(['events'], { batched: isBatched ? true : undefined }),
        { accept: 'text/event-stream', ...(resumeAt !== '' && { 'last-event-id': resumeAt }) },
        either,
      )
      yield { kind: 'open', epoch, isResumed: resumeAt !== '' }
      const reader = new EventReader(resumeAt)
      for await (const chunk of guard(chunks)) {
        backoff.reset()
        for (const { id, name, data } of reader.read(chunk)) {
          resumeAt = id
          yield { kind: 'event', id, name, data: parsed(data) }
        }
        resumeAt = reader.lastId
      }
      failure = new MasterError('BROKEN', 'the master ended the event stream')
    } catch (error) {
      failure = silence.signal.aborted ? silence.signal.reason : error
    } finally {
      silence.abort() // A listener that left, or a fault of the text, leaves no stream behind.
    }
    if (signal.aborted) return
    const error =
      failure instanceof MasterError
        ? failure
        : new MasterError('BROKEN', `the event stream broke: ${(failure as Error).message}`, { cause: failure })
    const retryInMs = Math.max(backoff.nextMs(), retryAfterDelayMs(error.retryAfterMs ?? 0, random))
    yield { kind: 'lost', error, retryInMs }
    await sleep(timers, retryInMs, signal)
  }
}

/**
 * Passes chunks through, and aborts when the next one takes too long. The time while the listener is busy does not
 * count.
 */
function watchdog(timers: CallerOptions['timers'], silence: AbortController) {
  return async function* guard(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    const arm = (): (() => void) => abortAfter(timers, silence, SILENCE_MS, 'the event stream was silent for')
    let cancel = arm()
    try {
      for await (const chunk of chunks) {
        cancel()
        yield chunk
        cancel = arm()
      }
    } finally {
      cancel()
    }
  }
}

/** @throws {Error} when the data is not a JSON object, so that the stream is not that of a master. */
function parsed(data: string): FleetEvent['data'] {
  const value: unknown = JSON.parse(data)
  if (typeof value !== 'object' || value === null) throw new Error('the data of an event is not an object')
  return value as FleetEvent['data']
}
