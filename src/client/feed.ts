/**
 * @module client/feed
 * The events of a master (D31, D51), for as long as somebody listens:
 *
 *   connect ──▶ open ──event*──▶ lost ──backoff 0.5–30 s──▶ connect, `Last-Event-ID` of the last one
 *                         └ `reset`: events in between are gone; the listener lists again
 *
 * It never gives up: a refusal is told as well, and tried again, since tokens and masters come back. A comment comes
 * every 15 s, so a stream without a byte for 45 s is half open and is replaced. Events wait while the listener is busy.
 */
import { EventReader } from '../protocol/event-stream/index.ts'
import { Backoff } from '../runtime/index.ts'
import { apiPath } from './address.ts'
import { MasterError } from './master-error.ts'
import type { ClientOptions, Transport } from './transport.ts'

const SILENCE_MS = 45_000
const RETRY_BASE_MS = 500
const RETRY_CAP_MS = 30_000

interface FleetEvent {
  /** Opaque; resumes here. Empty before the first. */
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

export type FeedItem =
  /** `resumed`: behind the last event that was told, unless a `reset` follows; else what happened before is not told. */
  | { readonly kind: 'open'; readonly epoch: string; readonly resumed: boolean }
  | ({ readonly kind: 'event' } & FleetEvent)
  | { readonly kind: 'lost'; readonly error: MasterError; readonly retryInMs: number }

export interface FeedOptions {
  readonly signal: AbortSignal
  /** Where an earlier feed ended. */
  readonly lastEventId?: string
}

export async function* followEvents(
  transport: Transport,
  { timers, random }: Pick<ClientOptions, 'timers' | 'random'>,
  { signal, lastEventId = '' }: FeedOptions,
): AsyncGenerator<FeedItem> {
  const backoff = new Backoff({ baseMs: RETRY_BASE_MS, capMs: RETRY_CAP_MS, floor: 0.5, random })
  let resumeAt = lastEventId
  while (!signal.aborted) {
    const silence = new AbortController()
    const guard = watchdog(timers, silence)
    const either = AbortSignal.any([signal, silence.signal])
    let failure: unknown
    try {
      const { chunks, epoch } = await transport.open(
        apiPath(['events']),
        { accept: 'text/event-stream', ...(resumeAt === '' ? {} : { 'last-event-id': resumeAt }) },
        either,
      )
      yield { kind: 'open', epoch, resumed: resumeAt !== '' }
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
    const retryInMs = Math.max(backoff.nextMs(), error.retryAfterMs ?? 0)
    yield { kind: 'lost', error, retryInMs }
    await timers.sleep(retryInMs, signal).catch(() => {}) // Aborted: the loop ends.
  }
}

/** Passes chunks on; aborts when the next one takes too long. Not while the listener is busy with the last. */
function watchdog(timers: ClientOptions['timers'], silence: AbortController) {
  return async function* guard(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    const arm = (): (() => void) =>
      timers.after(SILENCE_MS, () =>
        silence.abort(new MasterError('TIMED_OUT', `the event stream was silent for ${SILENCE_MS / 1_000} s`)),
      )
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

/** @throws Error when the data is no JSON object: the stream is not a master's. */
function parsed(data: string): FleetEvent['data'] {
  const value: unknown = JSON.parse(data)
  if (typeof value !== 'object' || value === null) throw new Error('an event whose data is no object')
  return value as FleetEvent['data']
}
