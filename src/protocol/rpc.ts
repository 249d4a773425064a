/**
 * @module protocol/rpc
 * Defines JSON-RPC 2.0 between a worker and its master, `POST …/workers/{id}/rpc`: one table of methods, each with the
 * schema of its params and of its result. Durations are in milliseconds, points in time in unix seconds.
 * @see D23, D60
 */
import { Type, type Static, type TSchema } from 'typebox'
import { MAX_N, MAX_RETRY_IN_MS, MAX_SETTLE_ITEMS, MAX_WAIT_MS } from './limits.ts'
import { AnyObject, HoldMs, Maybe, Name, Seconds, Strict, Token } from './names.ts'
import { taskExtras } from './task-extras.ts'
import { RPC_ERRORS, type RpcErrorName } from './errors.ts'
import { lazyValidator, type Validator } from './validator.ts'

const namespace = Maybe(Name)
const Empty = Strict({})
const Lease = { task_id: Name, token: Token }
const leases = <T extends Record<string, TSchema>>(more: T) =>
  Strict({ tasks: Type.Array(Strict({ ...Lease, ...more }), { minItems: 1, maxItems: MAX_SETTLE_ITEMS }) })
const Lost = Strict({ ok: Type.Literal(false), error: Type.Literal('lease_lost') })
const results = <T extends Record<string, TSchema>>(more: T) =>
  Strict({ results: Type.Array(Type.Union([Strict({ ok: Type.Literal(true), ...more }), Lost])) })
const Tag = Type.Union([Type.String(), Type.Number(), Type.Boolean()])

/** One leased task. `expires_at` is the end of the lease. */
export const ReservedTask = Strict({
  task_id: Name,
  token: Token,
  payload: AnyObject,
  attempt: Type.Integer(),
  max_attempts: Type.Integer(),
  priority: Type.Integer(),
  submitted_at: Seconds,
  not_before: Type.Optional(Seconds),
  ...taskExtras,
  retain_seconds: Type.Optional(Type.Number()),
  /** Only `true`: the outcome will be retained, so an ack may carry a result (D110). */
  retain: Type.Optional(Type.Literal(true)),
  /** What an earlier run reported last (D114). */
  progress: Type.Optional(Type.Unknown()),
  expires_at: Seconds,
})
export type ReservedTask = Static<typeof ReservedTask>

/** One claimed pool item. `in_use_until` is the end of the claim. */
export const PoolClaim = Strict({ id: Name, token: Token, tags: AnyObject, payload: AnyObject, in_use_until: Seconds })
export type PoolClaim = Static<typeof PoolClaim>

/** The methods, each with the schemas of its params and its result. */
export const RPC = {
  'tasks.reserve': {
    params: Strict({
      limit: Type.Integer({ minimum: 1, maximum: MAX_N }),
      wait_ms: Maybe(Type.Integer({ minimum: 0, maximum: MAX_WAIT_MS })),
      poll_id: Maybe(Name),
      /** Only in a request that accepts `application/x-ndjson` (D125). */
      stream: Maybe(Type.Boolean()),
    }),
    result: Strict({ tasks: Type.Array(ReservedTask) }),
  },
  'tasks.ack': {
    params: leases({
      result: Type.Optional(Type.Unknown()),
      result_omitted: Maybe(Type.Literal('too_large')),
    }),
    result: results({}),
  },
  'tasks.release': { params: leases({}), result: results({}) },
  'tasks.extend': {
    /** `progress`: at most 1 KiB of JSON (D114). */
    params: leases({ progress: Type.Optional(Type.Unknown()) }),
    result: results({ expires_at: Seconds }),
  },
  'tasks.nack': {
    params: leases({
      error: Type.String(),
      retry_in_ms: Maybe(Type.Integer({ minimum: 0, maximum: MAX_RETRY_IN_MS })),
      permanent: Maybe(Type.Boolean()),
    }),
    result: results({ outcome: Type.Union([Type.Literal('scheduled'), Type.Literal('dead')]) }),
  },
  'kv.get': { params: Strict({ key: Name, namespace }), result: Strict({ value: Type.Unknown() }) },
  'kv.set': {
    params: Strict({
      key: Name,
      value: Type.Unknown(),
      ttl_ms: Maybe(Type.Integer({ minimum: 1_000, maximum: 31_536_000_000 })),
      namespace,
    }),
    result: Empty,
  },
  'kv.delete': { params: Strict({ key: Name, namespace }), result: Strict({ deleted: Type.Boolean() }) },
  'lock.acquire': {
    params: Strict({ name: Name, hold_ms: HoldMs, namespace }),
    result: Type.Union([
      Strict({ acquired: Type.Literal(true), token: Token, expires_at: Seconds }),
      Strict({ acquired: Type.Literal(false), held_until: Seconds }),
    ]),
  },
  'lock.extend': {
    params: Strict({ name: Name, token: Token, hold_ms: HoldMs, namespace }),
    result: Strict({ expires_at: Seconds }),
  },
  'lock.release': { params: Strict({ name: Name, token: Token, namespace }), result: Empty },
  'counter.add': {
    params: Strict({
      name: Name,
      delta: Type.Integer({ minimum: -Number.MAX_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }),
      namespace,
    }),
    result: Strict({ value: Type.Integer() }),
  },
  'counter.get': { params: Strict({ name: Name, namespace }), result: Strict({ value: Type.Integer() }) },
  'pool.put': {
    params: Strict({
      pool: Name,
      items: Type.Array(
        Strict({
          id: Name,
          tags: AnyObject,
          payload: AnyObject,
          expires_at: Maybe(Type.Number({ minimum: 0, maximum: 253_402_300_799 })),
        }),
        { minItems: 1, maxItems: 1_000 },
      ),
    }),
    result: Strict({ results: Type.Array(Type.Union([Type.Literal('created'), Type.Literal('replaced')])) }),
  },
  'pool.claim': {
    params: Strict({
      pool: Name,
      hold_ms: HoldMs,
      n: Maybe(Type.Integer({ minimum: 1, maximum: 1_000 })),
      match: Maybe(Type.Record(Type.String(), Tag)),
      /** Who claims, for people (D186). */
      slot_id: Maybe(Type.Integer({ minimum: 0 })),
      task_id: Maybe(Name),
    }),
    result: Strict({ claims: Type.Array(PoolClaim) }),
  },
  'pool.extend': {
    params: Strict({ pool: Name, id: Name, token: Token, hold_ms: HoldMs }),
    result: Strict({ in_use_until: Seconds }),
  },
  'pool.release': { params: Strict({ pool: Name, id: Name, token: Token }), result: Empty },
  'pool.remove': {
    params: Strict({ pool: Name, id: Name, token: Maybe(Token) }),
    result: Strict({ removed: Type.Boolean() }),
  },
  'bus.publish': { params: Strict({ topic: Name, message: Type.Unknown() }), result: Empty },
} as const satisfies Record<string, { params: TSchema; result: TSchema }>

/** The name of a method. */
export type RpcMethod = keyof typeof RPC
/** The params of a method. */
export type RpcParams<M extends RpcMethod> = Static<(typeof RPC)[M]['params']>
/** The result of a method. */
export type RpcResult<M extends RpcMethod> = Static<(typeof RPC)[M]['result']>

/** The names of all methods. */
export const RPC_METHODS = Object.keys(RPC) as readonly RpcMethod[]

/** The check of each method's params. */
export const RPC_VALIDATORS: ReadonlyMap<string, Validator> = new Map(
  Object.entries(RPC).map(([method, { params }]) => [method, lazyValidator(params)]),
)

/** One call as it is on the wire, before its params are checked. */
export interface RpcRequest {
  readonly jsonrpc: '2.0'
  readonly id: string | number | null
  readonly method: string
  readonly params?: unknown
}
/** The error of one call on the wire. `data.code` is the name of the error. */
export interface RpcErrorBody {
  /** The numeric code of JSON-RPC. */
  readonly code: number
  readonly message: string
  readonly data: { readonly code: RpcErrorName; readonly [key: string]: unknown }
}
/** The response to one call on the wire. */
export type RpcResponse =
  | { readonly jsonrpc: '2.0'; readonly id: string | number | null; readonly result: unknown }
  | { readonly jsonrpc: '2.0'; readonly id: string | number | null; readonly error: RpcErrorBody }

/** A rejected call; thrown by the methods of the master and by the client of a worker. */
export class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly code: RpcErrorName
  readonly data: Readonly<Record<string, unknown>>
  /**
   * Creates the error of one call.
   *
   * @param code The name of the error.
   * @param message One sentence.
   * @param data Further members of `data` on the wire; none if omitted.
   * @param options `cause`: the error that made the call fail.
   */
  constructor(
    code: RpcErrorName,
    message: string,
    data: Readonly<Record<string, unknown>> = {},
    options?: ErrorOptions,
  ) {
    super(message, options)
    this.code = code
    this.data = data
  }
  /** Converts the error to its form on the wire. */
  toBody(): RpcErrorBody {
    return { code: RPC_ERRORS[this.code], message: this.message, data: { ...this.data, code: this.code } }
  }
}
