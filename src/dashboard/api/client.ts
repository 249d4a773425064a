/**
 * @module dashboard/api/client
 * Calls of the master's REST API with one token. Nothing is retried here: a read is polled again anyway, and a write
 * whose answer never came is shown as unknown. All calls of a page share one RefusalLimiter: while the master, or a proxy
 * before it, refuses them, fewer than three requests a second leave (D67).
 */
import { isRefusalStatus, parseRetryAfter, type RefusalLimiter } from '../../runtime/backoff/index.ts'
import { Problem, problemOf, retryAfterSecondsOf } from './problem.ts'
import type { ServerClock } from './server-clock.ts'

const READ_WITHIN_MS = 15_000
const WRITE_WITHIN_MS = 30_000
const NEVER = new AbortController().signal

export type Query = Readonly<Record<string, string | number>>

interface Reply<T> {
  readonly body: T
  /** The life of the master's store (`Muster-Epoch`); null when a proxy took the header away. */
  readonly epoch: string | null
}

interface WriteOptions {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface Api {
  /** @throws {Problem} */
  get<T>(path: readonly string[], query?: Query, signal?: AbortSignal): Promise<Reply<T>>
  /** @throws {Problem} */
  send<T>(method: 'POST' | 'PATCH' | 'DELETE', path: readonly string[], options?: WriteOptions): Promise<Reply<T>>
  /** A body that is read as it comes, until `signal`: the event stream, or statistics by the megabyte. @throws {Problem} */
  stream(
    path: readonly string[],
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
    query?: Query,
  ): Promise<OpenReply>
}

export interface ApiParts {
  /** Ends in a slash: `https://host/prefix/api/v1/`. */
  readonly base: URL
  readonly token: string
  readonly clock: ServerClock
  readonly localMs: () => number
  /** Bounds the requests of the page while they are refused. */
  readonly refusals: RefusalLimiter
  /** An answer refused the token (401) or a right (403). */
  readonly onRefused?: () => void
  /** Whose changes these are, for the history of a config (D39). */
  readonly actor?: () => string
  /** What became of a call: its status; null: no answer came. */
  readonly heard?: (status: number | null) => void
}

/** A body that is read as it comes. */
interface OpenReply {
  readonly body: ReadableStream<Uint8Array>
  readonly epoch: string | null
}

export function createApi(parts: ApiParts): Api {
  return {
    get: (path, query = {}, signal) => call(parts, 'GET', addressOf(parts.base, path, query), {}, signal),
    send: (method, path, options = {}) => call(parts, method, addressOf(parts.base, path, {}), options),
    stream: (path, headers, signal, query = {}) =>
      openStream(parts, addressOf(parts.base, path, query), headers, signal),
  }
}

/** Every segment is encoded: ids hold any character but a slash. */
export function addressOf(base: URL, path: readonly string[], query: Query): URL {
  const url = new URL(path.map(encodeURIComponent).join('/'), base)
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value))
  return url
}

async function openStream(
  { token, clock, localMs, onRefused, refusals }: ApiParts,
  url: URL,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<OpenReply> {
  await refusals.turn(signal)
  const sentMs = localMs()
  const answer = await fetch(url, {
    signal,
    credentials: 'omit',
    redirect: 'error',
    headers: { ...headers, authorization: `Bearer ${token}` },
  }).catch((cause: unknown) => {
    throw new Problem('the master does not answer', { cause })
  })
  clock.sample(answer.headers.get('date'), sentMs, localMs())
  noteRefusal(refusals, answer)
  if (answer.status === 401 || answer.status === 403) onRefused?.()
  if (answer.ok && answer.body !== null) return { body: answer.body, epoch: answer.headers.get('muster-epoch') }
  const json = parsed(await answer.text().catch(() => ''))
  throw problemOf(answer.status, answer.headers, json.ok ? json.value : null)
}

function within(ms: number, signal?: AbortSignal): AbortSignal {
  const timeout = AbortSignal.timeout(ms)
  return signal === undefined ? timeout : AbortSignal.any([timeout, signal])
}

async function call<T>(
  parts: ApiParts,
  method: string,
  url: URL,
  { body, headers }: WriteOptions,
  left?: AbortSignal,
): Promise<Reply<T>> {
  await parts.refusals.turn(left ?? NEVER)
  const signal = within(method === 'GET' ? READ_WITHIN_MS : WRITE_WITHIN_MS, left) // From here on: a wait is not the master's.
  const { status, answer, text } = await answered(parts, method, url, { body, headers: headers ?? {} }, signal)
  const json = parsed(text)
  if (answer.ok && json.ok) return { body: json.value as T, epoch: answer.headers.get('muster-epoch') }
  if (status === 401 || status === 403) parts.onRefused?.()
  if (!answer.ok && json.ok) throw problemOf(status, answer.headers, json.value)
  throw new Problem(`${status} with something that is not JSON; is the master behind this address?`, {
    status,
    requestId: answer.headers.get('muster-request-id'),
    retryAfterSeconds: retryAfterSecondsOf(answer.headers),
  })
}

async function answered(
  { token, clock, localMs, actor, heard, refusals }: ApiParts,
  method: string,
  url: URL,
  { body, headers }: WriteOptions,
  signal: AbortSignal,
): Promise<{ status: number; answer: Response; text: string }> {
  const sentMs = localMs()
  try {
    const answer = await fetch(url, {
      method,
      signal,
      credentials: 'omit',
      redirect: 'error',
      headers: {
        ...headers,
        authorization: `Bearer ${token}`,
        ...(method === 'PATCH' && actor !== undefined ? { 'muster-actor': actor() } : {}),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    clock.sample(answer.headers.get('date'), sentMs, localMs())
    noteRefusal(refusals, answer)
    const text = await answer.text()
    heard?.(answer.status)
    return { status: answer.status, answer, text }
  } catch (cause) {
    if (!isLeft(signal)) heard?.(null)
    throw new Problem(
      method === 'GET' ? 'the master does not answer' : 'the master did not answer; whether this was done is not known',
      { cause },
    )
  }
}

function noteRefusal(refusals: RefusalLimiter, { status, headers }: Response): void {
  if (isRefusalStatus(status)) refusals.refused(parseRetryAfter(headers.get('retry-after'), Date.now()))
  else refusals.served()
}

/** The page no longer wants the answer; a call that took too long ends by a timeout instead. */
const isLeft = ({ aborted, reason }: AbortSignal): boolean =>
  aborted && (reason as Partial<DOMException> | undefined)?.name !== 'TimeoutError'

function parsed(text: string): { readonly ok: true; readonly value: unknown } | { readonly ok: false } {
  try {
    return { ok: true, value: JSON.parse(text) }
  } catch {
    return { ok: false } // Said by the caller, with the status.
  }
}
