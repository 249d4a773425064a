/** @module master/rpc/tasks  RPC methods that reserve and settle tasks. Task bodies are inserted as the stored text. */
import {
  MAX_ERROR_CHARS,
  MAX_PROGRESS_BYTES,
  MAX_RESERVED_PER_CALL,
  MAX_RESULT_BYTES,
  RpcError,
  toSeconds,
  type RpcMethod,
} from '../../protocol/index.ts'
import { truncateError } from '../../runtime/index.ts'
import type { DoneTask, Lease, LeaseRef } from '../../storage/index.ts'
import { RawJson } from '../http/index.ts'
import type { LeaseExtension, Queue } from '../queue/index.ts'
import type { Caller, Methods } from './caller.ts'

interface WireLease {
  readonly task_id: string
  readonly token: number
}

interface WireDone extends WireLease {
  readonly result?: unknown
  readonly result_omitted?: 'too_large' | null
}

interface WireProgress {
  readonly progress?: unknown
}

const TOO_LARGE = { kind: 'too_large' } as const
const LOST = { ok: false, error: 'lease_lost' } as const
const OK = { ok: true } as const

export function taskMethods(queue: Queue): Methods<Extract<RpcMethod, `tasks.${string}`>> {
  return {
    'tasks.reserve': async ({ limit, wait_ms: waitMs, poll_id: pollId, stream }, caller) => {
      const leases = await queue.reserve(caller.entry.type, {
        worker: caller.workerId,
        limit: Math.min(limit, MAX_RESERVED_PER_CALL),
        waitMs: waitMs ?? 0,
        pollId: pollId ?? undefined,
        signal: caller.signal,
        ...(stream === true && { onLeases: leasesWriter(caller) }),
      })
      caller.granted.push(...leases.map(refOf))
      return new RawJson(`{"tasks":[${tasksText(leases)}]}`)
    },
    'tasks.ack': async ({ tasks }, { entry }, exact) => ({
      results: (await queue.ack(entry.type, doneTasks(tasks, exact.tasks))).map((each) => (each === 'ok' ? OK : LOST)),
    }),
    'tasks.release': async ({ tasks }, { entry }) => ({
      results: (await queue.release(entry.type, refs(tasks))).map((each) => (each === 'ok' ? OK : LOST)),
    }),
    'tasks.extend': async ({ tasks }, { entry }, exact) => {
      const extended = await queue.extend(entry.type, extendItems(tasks, exact.tasks))
      return {
        results: extended.map((each) =>
          each.kind === 'lease_lost' ? LOST : { ok: true as const, expires_at: toSeconds(each.expiresAtMs) },
        ),
      }
    },
    'tasks.nack': async ({ tasks }, { entry }) => {
      const asks = tasks.map(({ task_id: id, token, error, retry_in_ms: retryInMs = null, permanent }) => ({
        id,
        token,
        error: truncateError(error, MAX_ERROR_CHARS),
        retryInMs,
        permanent: permanent ?? false,
      }))
      const nacked = await queue.nack(entry.type, asks)
      return { results: nacked.map((outcome) => (outcome === 'lease_lost' ? LOST : { ok: true as const, outcome })) }
    },
  }
}

const refOf = ({ id, token }: LeaseRef): LeaseRef => ({ id, token })
const tasksText = (leases: readonly Lease[]): string => leases.map(leaseText).join(',')

/** @throws {RpcError} `invalid_params` if the request does not accept lines. */
function leasesWriter({ writeLeased }: Caller): (leases: readonly Lease[]) => boolean {
  if (writeLeased === undefined) {
    const message = 'needs a request with the header "Accept: application/x-ndjson"'
    throw new RpcError('invalid_params', `params/stream: ${message}`, {
      errors: [{ path: '/stream', message, keyword: 'stream' }],
    })
  }
  return (leases) => writeLeased(tasksText(leases), leases.map(refOf))
}

function refs(tasks: readonly WireLease[]): readonly LeaseRef[] {
  return tasks.map(({ task_id: id, token }) => ({ id, token }))
}

/** @throws {RpcError} `invalid_params` for progress above 1 KiB; no lease is extended then. */
function extendItems(tasks: readonly WireLease[], exact: readonly WireProgress[]): readonly LeaseExtension[] {
  return tasks.map(({ task_id: id, token }, at) => {
    const value = exact[at]?.progress
    if (value === undefined) return { id, token }
    const progress = JSON.stringify(value)
    if (Buffer.byteLength(progress) <= MAX_PROGRESS_BYTES) return { id, token, progress }
    const message = `must have at most ${MAX_PROGRESS_BYTES} bytes of JSON`
    throw new RpcError('invalid_params', `params/tasks/${at}/progress: ${message}`, {
      errors: [{ path: `/tasks/${at}/progress`, message, keyword: 'maxBytes' }],
    })
  })
}

/** Results above 64 KiB are omitted: the task is done nevertheless (D110). */
function doneTasks(tasks: readonly WireDone[], exact: readonly WireDone[]): readonly DoneTask[] {
  return tasks.map(({ task_id: id, token, result_omitted: omitted }, at) => {
    if (omitted === 'too_large') return { id, token, result: TOO_LARGE }
    const value = exact[at]?.result
    if (value === undefined) return { id, token }
    const text = JSON.stringify(value)
    const isTooLarge = Buffer.byteLength(text) > MAX_RESULT_BYTES
    return { id, token, result: isTooLarge ? TOO_LARGE : { kind: 'json', text } }
  })
}

function leaseText({ id, token, attempt, maxAttempts, expiresAtMs, isRetained, progress, body }: Lease): string {
  const attempts = `"attempt":${attempt},"max_attempts":${maxAttempts}`
  const expiry = `"expires_at":${toSeconds(expiresAtMs)}${isRetained === true ? ',"retain":true' : ''}`
  const reported = progress === undefined ? '' : `,"progress":${progress}`
  return `{"task_id":${JSON.stringify(id)},"token":${token},${attempts},${expiry}${reported},${body.slice(1)}`
}
