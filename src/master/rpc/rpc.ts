/**
 * @module master/rpc/rpc
 * Serves JSON-RPC 2.0 for workers (D23, D60): one route, a single call or an array of them. The calls of one request
 * run concurrently; calls of the same method share a Batcher. The responses have the order of the calls.
 *
 * A call without `id` is a notification and gets no response. If it would grant a lease, it is not run at all, because
 * the worker could never settle that lease.
 *
 * @see https://www.jsonrpc.org/specification
 */
import { Counter } from 'prom-client'
import { Type } from 'typebox'
import {
  API_PREFIX,
  changedIntegers,
  detailForClient,
  FleetError,
  LINES_TYPE,
  MAX_RPC_CALLS,
  RPC_VALIDATORS,
  RpcResponsesBody,
  RpcBody,
  RpcError,
  type FieldError,
  type RpcMethod,
} from '../../protocol/index.ts'
import type { MasterDeps, Part } from '../deps.ts'
import type { PoolWaiters } from '../pools/index.ts'
import type { LeaseRef } from '../../storage/index.ts'
import { RawJson, route, type HandlerResult, type StreamBody } from '../http/index.ts'
import type { Queue } from '../queue/index.ts'
import { ResponseBudget } from './response-budget.ts'
import { busRoute } from './bus.ts'
import type { Caller, Methods } from './caller.ts'
import { LineStream } from './line-stream.ts'
import { poolMethods } from './pools.ts'
import { primitiveMethods } from './primitives.ts'
import { taskMethods } from './tasks.ts'

/** The default of `retry_after_ms`, if the store gives no time. */
const RETRY_AFTER_MS = 1_000
const GRANTS: ReadonlySet<string> = new Set<RpcMethod>(['tasks.reserve', 'pool.claim', 'lock.acquire'])

type AnyMethod = (params: unknown, caller: Caller, exact: unknown) => Promise<unknown>
type RequestId = string | number | null
interface RpcRequest {
  readonly jsonrpc: '2.0'
  readonly method: string
  readonly params?: unknown
  readonly id?: RequestId
}

export function createRpc(deps: MasterDeps, queue: Queue, waiters: PoolWaiters): Part {
  const rpc = new Rpc(deps, queue, waiters)
  return {
    routes: [
      route({
        method: 'POST',
        path: `${API_PREFIX}/automations/{type}/workers/{id}/rpc`,
        access: 'worker',
        isHot: true,
        needs: 'work',
        body: Type.Unknown(),
        bodyMayBeArray: true,
        keepsNumbers: true,
        long: true,
        bodyInFull: RpcBody,
        example: { jsonrpc: '2.0', id: 1, method: 'tasks.reserve', params: { limit: 1, wait_ms: 0 } },
        response: RpcResponsesBody,
        otherMedia: [LINES_TYPE],
        others: { 204: { description: 'All calls were notifications, which have no response.' } },
        summary:
          'JSON-RPC 2.0 of a worker: tasks, pools, locks, counters, key-value store, messages. ' +
          `With \`Accept: ${LINES_TYPE}\` each response is a line.`,
        handle: ({ params, entry, signal, body, exactBody, header }) => {
          const caller = { entry, workerId: params.id, signal, granted: [], budget: new ResponseBudget() }
          const acceptsLines = header('accept')?.includes(LINES_TYPE) === true
          return acceptsLines ? rpc.handleAsLines(body, exactBody, caller) : rpc.handle(body, exactBody, caller)
        },
      }),
      busRoute(deps),
    ],
  }
}

class Rpc {
  readonly #deps: MasterDeps
  readonly #queue: Queue
  readonly #methods: Methods<RpcMethod>
  readonly #errors: Counter

  constructor(deps: MasterDeps, queue: Queue, waiters: PoolWaiters) {
    this.#deps = deps
    this.#queue = queue
    this.#methods = {
      ...taskMethods(queue),
      ...poolMethods(deps.backend.pools, waiters),
      ...primitiveMethods(deps.backend, deps.catalog),
    }
    this.#errors = new Counter({
      name: 'svc_rpc_errors_total',
      help: 'RPC calls of workers that ended with an error.',
      labelNames: ['code'],
      registers: [deps.metrics],
    })
  }

  async handle(body: unknown, exactBody: unknown, caller: Caller): Promise<HandlerResult> {
    const text = Array.isArray(body)
      ? await this.#batch(body, exactBody as readonly unknown[], caller)
      : await this.#respond(body, exactBody, caller)
    if (caller.granted.length > 0) this.#releaseOnDisconnect(caller)
    return text === null ? { status: 204 } : { body: new RawJson(text) }
  }

  /** Responds with one line for each call. A request that is not valid as a whole has one response as usual. */
  handleAsLines(body: unknown, exactBody: unknown, caller: Caller): Promise<HandlerResult> | HandlerResult {
    const [calls, exactCalls] = Array.isArray(body) ? [body, exactBody as readonly unknown[]] : [[body], [exactBody]]
    if (calls.length === 0 || calls.length > MAX_RPC_CALLS) return this.handle(body, exactBody, caller)
    const pipe: StreamBody['pipe'] = async (write, signal) => {
      const lines = new LineStream(write)
      const stop = lines.start(this.#deps.timers)
      signal.addEventListener('abort', () => this.#release(caller.entry.type, lines.unsent), { once: true })
      try {
        await Promise.all(calls.map((call, at) => this.#respondInLine(call, exactCalls[at], caller, lines)))
      } finally {
        stop()
      }
    }
    return { headers: { 'content-type': LINES_TYPE, 'x-accel-buffering': 'no' }, body: { pipe } satisfies StreamBody }
  }

  async #respondInLine(call: unknown, exactCall: unknown, caller: Caller, lines: LineStream): Promise<void> {
    const granted: LeaseRef[] = []
    const id = JSON.stringify(idOf(call, exactCall))
    const text = await this.#respond(call, exactCall, {
      ...caller,
      granted,
      writeLeased: (tasks, leases) =>
        lines.line(`{"jsonrpc":"2.0","method":"tasks.leased","params":{"id":${id},"tasks":[${tasks}]}}`, leases),
    })
    if (granted.length > 0 && caller.signal.aborted) this.#release(caller.entry.type, granted)
    else if (text !== null) lines.line(text, granted)
  }

  async #batch(calls: readonly unknown[], exactCalls: readonly unknown[], caller: Caller): Promise<string | null> {
    if (calls.length === 0 || calls.length > MAX_RPC_CALLS) {
      return this.#failed(
        null,
        new RpcError('invalid_request', `a batch must have 1 to ${MAX_RPC_CALLS} calls; this one has ${calls.length}`),
      )
    }
    const responses = await Promise.all(calls.map((call, at) => this.#respond(call, exactCalls[at], caller)))
    const present = responses.filter((response) => response !== null)
    return present.length === 0 ? null : `[${present.join(',')}]`
  }

  /** The text of one response; null for a notification. */
  async #respond(call: unknown, exactCall: unknown, caller: Caller): Promise<string | null> {
    const fault = shapeFault(call)
    if (fault !== null) return this.#failed(idOf(call, exactCall), new RpcError('invalid_request', fault))
    const { method } = call as RpcRequest
    const params = (call as RpcRequest).params ?? {}
    const { id } = exactCall as RpcRequest // The id is returned as the same text.
    if (id === undefined && GRANTS.has(method)) return null
    try {
      const result = await this.#invoke(method, params, caller, (exactCall as RpcRequest).params ?? params)
      if (id === undefined) return null
      const text = result instanceof RawJson ? result.text : JSON.stringify(result)
      return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${text}}`
    } catch (error) {
      const text = this.#failed(id ?? null, this.#asRpcError(error, method))
      return id === undefined ? null : text
    }
  }

  #invoke(name: string, params: unknown, caller: Caller, exact: unknown): Promise<unknown> {
    const validate = RPC_VALIDATORS.get(name)
    if (validate === undefined) throw new RpcError('method_not_found', `no method "${name.slice(0, 64)}"`)
    const faults = validate(params)
    if (faults.length > 0) throw invalidParams(faults)
    if (exact !== params) checkIntegers(name, exact)
    return (this.#methods[name as RpcMethod] as AnyMethod)(params, caller, exact)
  }

  #failed(id: RequestId, error: RpcError): string {
    this.#errors.inc({ code: error.code })
    return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":${JSON.stringify(error.toBody())}}`
  }

  #asRpcError(error: unknown, method: string): RpcError {
    if (error instanceof RpcError) return error
    if (error instanceof FleetError && error.code === 'INVALID' && typeof error.detail !== 'string')
      return invalidParams(error.detail)
    if (error instanceof FleetError) {
      const retryAfterMs = error.retryAfterSeconds === undefined ? RETRY_AFTER_MS : error.retryAfterSeconds * 1_000
      const detail = detailForClient(error)
      return new RpcError(
        'unavailable',
        typeof detail === 'string' ? detail : error.message,
        { retry_after_ms: retryAfterMs },
        { cause: error },
      )
    }
    this.#deps.log.error('failed to handle an RPC call of a worker; the worker retries it', { method, error })
    return new RpcError(
      'unavailable',
      'internal error in the master; see the log of the master',
      { retry_after_ms: RETRY_AFTER_MS },
      { cause: error },
    )
  }

  /**
   * Releases the granted leases immediately if the client disconnects before its response was sent.
   * @throws {FleetError} if it has already disconnected, or the master is stopping: released leases must not be
   * returned.
   */
  #releaseOnDisconnect({ entry, granted, signal }: Caller): void {
    const release = (): void => this.#release(entry.type, granted)
    signal.addEventListener('abort', release, { once: true })
    if (!signal.aborted) return
    release()
    throw new FleetError('OVERLOADED', 'the request ended before its response was written', { retryAfterSeconds: 1 })
  }

  #release(type: string, leases: readonly LeaseRef[]): void {
    if (leases.length === 0) return
    this.#queue
      .release(type, leases)
      .catch((error: unknown) =>
        this.#deps.log.debug(
          'failed to release the leases of a disconnected client; they expire after the visibility timeout',
          { automation_type: type, error },
        ),
      )
  }
}

function invalidParams(errors: readonly FieldError[]): RpcError {
  const [first] = errors
  const more = errors.length > 1 ? `, and ${errors.length - 1} more` : ''
  return new RpcError('invalid_params', `params${first?.path ?? ''}: ${first?.message ?? 'are wrong'}${more}`, {
    errors,
  })
}

/** The parameters that a method stores as text, in which every number is kept as it was sent (D75). */
const KEPT: Partial<Record<RpcMethod, RegExp>> = {
  'kv.set': /^\/value(?:\/|$)/,
  'pool.put': /^\/items\/\d+\/payload\//,
  'bus.publish': /^\/message(?:\/|$)/,
}

/** @throws {RpcError} `invalid_params` for an integer that a double cannot represent. */
function checkIntegers(method: string, exact: unknown): void {
  const faults = changedIntegers(exact, (pointer) => KEPT[method as RpcMethod]?.test(pointer) === true)
  if (faults.length > 0) throw invalidParams(faults)
}

/** Why a value is not a valid call; null if it is one. */
function shapeFault(call: unknown): string | null {
  if (typeof call !== 'object' || call === null || Array.isArray(call)) return 'a call must be an object'
  const { jsonrpc, method, id, params } = call as Record<keyof RpcRequest, unknown>
  if (jsonrpc !== '2.0') return '/jsonrpc: must be "2.0"'
  if (typeof method !== 'string') return '/method: must be a string'
  if (!isId(id) && id !== undefined) return '/id: must be a string, a number or null'
  if (params !== undefined && typeof params !== 'object') return '/params: must be an object'
  return null
}

function idOf(call: unknown, exactCall: unknown): RequestId {
  const id: unknown = typeof call === 'object' && call !== null ? (call as { id?: unknown }).id : null
  return isId(id) ? ((exactCall as RpcRequest).id ?? null) : null
}

function isId(id: unknown): id is RequestId {
  return typeof id === 'string' || typeof id === 'number' || id === null
}
