/** @module worker-test/rpc-calls  Parses the bodies of requests to /rpc, and creates error responses. */
import { RPC_ERRORS, type RpcErrorName, type RpcRequest } from '../protocol/index.ts'

/** The methods that a worker needs for its tasks. */
export const TASK_METHODS: ReadonlySet<string> = new Set([
  'tasks.reserve',
  'tasks.ack',
  'tasks.nack',
  'tasks.release',
  'tasks.extend',
])

/** Parses the body of a request to /rpc. @returns null if it is neither a call nor a list of calls. */
export function readCalls(text: string): RpcRequest | RpcRequest[] | null {
  try {
    const body = JSON.parse(text) as RpcRequest | RpcRequest[]
    return (Array.isArray(body) ? body : [body]).every(isCall) ? body : null
  } catch {
    return null
  }
}

const isCall = (call: Partial<RpcRequest> | null): boolean =>
  typeof call?.method === 'string' && typeof call.params === 'object' && call.params !== null

export const errorResponse = (id: RpcRequest['id'], name: RpcErrorName, message: string): object => ({
  jsonrpc: '2.0',
  id,
  error: { code: RPC_ERRORS[name], message, data: { code: name } },
})
