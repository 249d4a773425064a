/** @module worker-test/records  Defines what a {@link Peer} records of the frames and calls of a worker. */
import type { IncomingMessage } from 'node:http'
import type { WebSocket } from 'ws'
import type { WorkerFrame } from '../protocol/index.ts'

export type Frame<T extends WorkerFrame['type']> = Extract<WorkerFrame, { type: T }>
export interface WireTask {
  readonly task_id: string
  readonly payload: object
  /** The policy of the task itself (D113). */
  readonly retry?: { readonly base_seconds: number; readonly factor: number; readonly cap_seconds: number }
  /** Default: the next one. */
  readonly token?: number
}
export interface LeasedTask extends WireTask {
  readonly token: number
}
/** One item of an ack, nack or release. */
export interface Settle {
  readonly method: string
  readonly task_id: string
  readonly token: number
  readonly error?: string
  readonly retry_in_ms?: number
  readonly atMs: number
}
export interface Arrival {
  readonly frame: WorkerFrame
  readonly bytes: number
  readonly atMs: number
  readonly socket: WebSocket
}
export interface HttpRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly atMs: number
}
export interface RpcCall {
  readonly method: string
  readonly params: Record<string, unknown>
  readonly atMs: number
}

/** @returns the payloads of the outputs in a frame; empty for a frame of another type. */
export function payloadsOf(frame: WorkerFrame): readonly Record<string, unknown>[] {
  if (frame.type === 'output') return [frame.payload]
  return frame.type === 'output_batch' ? frame.outputs.map(({ payload }) => payload) : []
}
