/**
 * @module storage/redis/errors
 * Classifies errors of commands by whether the command may have run:
 *
 *   moved, ask, not_run   it did not run; it may be sent again, elsewhere or in a moment
 *   unknown               it was sent, and no response arrived
 *   refused               the server or the script rejected this call
 */
import { FleetError, type FleetErrorOptions } from '../../protocol/index.ts'
import { explain } from './connection-errors.ts'

export type Fault =
  | { readonly kind: 'moved' | 'ask'; readonly address: string }
  | { readonly kind: 'not_run'; readonly why: string }
  | { readonly kind: 'unknown'; readonly why: string }
  | { readonly kind: 'refused'; readonly error: Error }

/** Replies after which the connection must be replaced. */
export const RECONNECT = /^(?:READONLY|LOADING|MASTERDOWN|UNKILLABLE)\b/
/** The reply to a change while fewer replicas than `min-replicas-to-write` are in sync. */
export const NO_REPLICAS = /^NOREPLICAS\b/
const LATER = /^(?:CLUSTERDOWN|TRYAGAIN|BUSY|NOREPLICAS)\b/
/** The error of ioredis if nothing was written. */
const NOT_WRITTEN = /^Stream isn't writeable/

const FULL_RETRY_SECONDS = 5

export const unavailable = (
  why: string,
  outcome: 'not_sent' | 'unknown',
  options: FleetErrorOptions = {},
): FleetError =>
  new FleetError(
    'STORAGE_UNAVAILABLE',
    outcome === 'unknown' ? `${why}; whether the change was made is unknown` : why,
    { retryAfterSeconds: 1, ...options, outcome },
  )

export const notOpen = (): FleetError =>
  new FleetError('STORAGE_NOT_OPEN', 'the store is not open', { outcome: 'not_sent' })

/** Whether the error is a reply of the server, not a failure of the connection. */
export const isReply = (error: unknown): error is Error => error instanceof Error && error.name === 'ReplyError'

export const isMissingScript = (error: unknown): boolean => isReply(error) && error.message.startsWith('NOSCRIPT')

export function faultOf(error: unknown): Fault {
  if (!isReply(error)) return withoutReply(error instanceof Error ? error.message : String(error))
  const { message } = error
  const [code = '', , address = ''] = message.split(' ')
  if (code === 'MOVED' || code === 'ASK') return { kind: code === 'ASK' ? 'ask' : 'moved', address }
  if (RECONNECT.test(message) || LATER.test(message))
    return { kind: 'not_run', why: `the store is not ready: ${message}` }
  return { kind: 'refused', error: refusalOf(code, error) }
}

/** @returns why the whole store cannot be used; null if the error gives no reason, for example a broken connection. */
export function storeRefusalOf(error: unknown): FleetError | null {
  if (error instanceof FleetError) return error
  const fault = faultOf(error)
  if (fault.kind !== 'refused') return null
  return fault.error instanceof FleetError ? fault.error : null
}

function withoutReply(message: string): Fault {
  if (NOT_WRITTEN.test(message)) return { kind: 'not_run', why: 'the connection to the store is broken' }
  return { kind: 'unknown', why: 'the connection to the store broke before the response' }
}

function refusalOf(code: string, cause: Error): Error {
  const { message } = cause
  const rest = message.slice(code.length + 1)
  const full = (detail: string): FleetError =>
    new FleetError('STORAGE_FULL', detail, { retryAfterSeconds: FULL_RETRY_SECONDS, outcome: 'not_sent', cause })
  switch (code) {
    case 'FULL':
      return full(rest)
    case 'OOM':
      return full('the store has reached its memory limit (maxmemory); remove data or raise the limit')
    case 'MISCONF':
      return full('the store cannot write to its disk; it rejects changes until it can')
    case 'CORRUPT':
      return new FleetError('STORAGE_CORRUPT', rest, { cause })
    case 'WRONGTYPE':
      return new FleetError(
        'STORAGE_CORRUPT',
        'a key of the store has an unexpected type; another program may use the same prefix',
        { cause },
      )
    case 'NOAUTH':
    case 'WRONGPASS':
    case 'NOPERM':
      return unavailable(explain(cause).sentence, 'not_sent', { cause })
    default:
      return new Error(`a script failed: ${message}`, { cause })
  }
}
