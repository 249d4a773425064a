/**
 * @module protocol/rpc-in-full
 * Describes the bodies of the rpc route and its responses, each as one schema made of the table of methods. They are
 * for the OpenAPI document: the master checks each call by its method (rpc.ts), so that an invalid call of a batch does
 * not reject the others.
 */
import { Type, type TSchema } from 'typebox'
import { RPC_ERRORS } from './errors.ts'
import { MAX_RPC_CALLS } from './limits.ts'
import { AnyObject } from './names.ts'
import { RPC, RPC_METHODS } from './rpc.ts'

const Id = Type.Union([Type.String(), Type.Number(), Type.Null()])
const jsonrpc = Type.Literal('2.0')

/** The call of each method, under its name. */
export const RPC_CALLS: Readonly<Record<string, TSchema>> = Object.fromEntries(
  RPC_METHODS.map((method) => [
    method,
    Type.Object({ jsonrpc, id: Type.Optional(Id), method: Type.Literal(method), params: RPC[method].params }),
  ]),
)
/** One call of any method. */
export const RpcCall = Type.Unsafe({ oneOf: Object.values(RPC_CALLS), discriminator: { propertyName: 'method' } })
/** A body of the rpc route: one call, or a batch of 1 to 1,000. */
export const RpcBody = Type.Union([RpcCall, Type.Array(RpcCall, { minItems: 1, maxItems: MAX_RPC_CALLS })])

const results = new Map<string, TSchema>(
  RPC_METHODS.map((method) => [JSON.stringify(RPC[method].result), RPC[method].result]),
)
const code = Type.Object({ code: Type.Enum(Object.keys(RPC_ERRORS)) })
/** The response to one call: a result or an error. */
export const RpcResponseBody = Type.Union([
  Type.Object({ jsonrpc, id: Id, result: Type.Union([...results.values()]) }),
  Type.Object({
    jsonrpc,
    id: Id,
    error: Type.Object({
      code: Type.Enum(Object.values(RPC_ERRORS)),
      message: Type.String(),
      data: Type.Intersect([AnyObject, code]),
    }),
  }),
])
/** The response of the rpc route: one reply, or one per call of a batch. */
export const RpcResponsesBody = Type.Union([RpcResponseBody, Type.Array(RpcResponseBody, { minItems: 1 })])
