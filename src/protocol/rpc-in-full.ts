/**
 * @module protocol/rpc-in-full
 * What a worker may send to its rpc route, and what it is answered, each as one schema made of the table of methods.
 * They describe; the master checks a call by its method (rpc.ts), since one bad call of a batch must not spoil the
 * others.
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
export const RpcCall = Type.Unsafe({ oneOf: Object.values(RPC_CALLS), discriminator: { propertyName: 'method' } })
export const RpcBody = Type.Union([RpcCall, Type.Array(RpcCall, { minItems: 1, maxItems: MAX_RPC_CALLS })])

const results = new Map<string, TSchema>(
  RPC_METHODS.map((method) => [JSON.stringify(RPC[method].result), RPC[method].result]),
)
const code = Type.Object({ code: Type.Enum(Object.keys(RPC_ERRORS)) })
export const RpcReply = Type.Union([
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
export const RpcAnswer = Type.Union([RpcReply, Type.Array(RpcReply, { minItems: 1 })])
