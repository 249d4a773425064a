/** @module worker-test/rpc-calls  Parses requests to /rpc, and creates error responses. */
import type { IncomingMessage } from 'node:http'
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

/** Whether a call is a reserve that streams. */
export const isStreamed = ({ method, params }: Pick<RpcRequest, 'method' | 'params'>): boolean =>
  method === 'tasks.reserve' && (params as Record<string, unknown>)['stream'] === true

export const errorResponse = (id: RpcRequest['id'], name: RpcErrorName, message: string): object => ({
  jsonrpc: '2.0',
  id,
  error: { code: RPC_ERRORS[name], message, data: { code: name } },
})

/** Whether a request carries the token. Only a handshake may carry it in its query. */
export function carriesToken({ headers, url }: IncomingMessage, token: string): boolean {
  if (headers.authorization === `Bearer ${token}`) return true
  const { pathname, searchParams } = new URL(url ?? '', 'http://peer')
  return pathname.endsWith('/control') && searchParams.get('token') === token
}
