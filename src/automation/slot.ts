/**
 * @module automation/slot
 * The ports of the slot runners: everything a running slot needs from the process around it. The worker stands on the
 * other side with sockets and rpc, the test harness with a memory backend on virtual time.
 *
 *   runBatchSlot       take ─▶ run ─▶ settle ─▶ take …      ends after its task when `stopping` aborts
 *   runContinuousSlot  run ─▶ (error: backoff 1 s … 60 s; return: 1 s) ─▶ run …   told at once when `stopping` aborts
 */
import type { Clock, Random, Timers } from '../runtime/index.ts'
import type { BaseConfig, JsonObject, RpcMethod, RpcParams, RpcResult } from '../protocol/index.ts'
import type { Metrics, SlotLog } from './context.ts'

/** A config as it is applied: frozen. */
export type AppliedConfig = Readonly<BaseConfig & JsonObject>

/** One reserved task. Its lease is extended by the process around until it is settled. */
export interface TaskLease {
  readonly id: string
  readonly payload: JsonObject
  readonly attempt: number
  /** As it was when the task was reserved. */
  readonly config: AppliedConfig
  /** What the run is told by: aborts with a SlotStopped when the lease is lost, and by {@link interrupt}. */
  readonly signal: AbortSignal
  /** The lease has ended against our will; the outcome is then ignored. */
  readonly isLost: boolean
  /** Tells the run to stop. */
  interrupt(reason: unknown): void
  /** @throws LeaseLost */
  extend(): Promise<void>
  /** Hand the outcome over; retried by the process around until it is answered. Only the first call counts. */
  ack(): void
  nack(error: string, options?: { readonly retryInMs?: number; readonly permanent?: boolean }): void
  release(): void
}

export interface TaskSource {
  /** Waits for the next task. null: `stopping` aborted first. */
  take(stopping: AbortSignal): Promise<TaskLease | null>
}

/** The plugin primitives of D23, by method; the context is built over this one call. */
export interface Primitives {
  /** @throws RpcError as the master answered, or `unavailable`. */
  call<M extends RpcMethod>(method: M, params: RpcParams<M>): Promise<RpcResult<M>>
  /** Messages published while the iteration runs; ends when the signal aborts. */
  subscribe(topic: string, signal: AbortSignal): AsyncIterable<unknown>
}

export interface SlotPorts {
  readonly clock: Clock
  readonly timers: Timers
  readonly random: Random
  readonly log: SlotLog
  readonly metrics: Metrics
  readonly primitives: Primitives
  /** The newest applied config. */
  readonly config: () => AppliedConfig
  /** Puts one output, serialised before this returns, into the worker's buffer. @throws RangeError when it does not fit a frame. */
  readonly emit: (output: JsonObject) => void
  /** The slot's last failure, for the worker's `last_error`; null when it runs well again. */
  readonly onError: (message: string | null) => void
  /** Wraps work in a span (`slot.reserve`, `slot.run_one`, `slot.run_continuous`); records the exception. */
  readonly span: <T>(
    name: SlotSpan,
    attributes: Readonly<Record<string, string | number>>,
    inside: () => Promise<T>,
  ) => Promise<T>
}
export type SlotSpan = 'slot.run_continuous' | 'slot.reserve' | 'slot.run_one'

/** How the process around ends a slot. Both abort with a SlotStopped as reason. */
export interface SlotControl {
  /** Stands on spans and log lines. */
  readonly workerId: string
  readonly slotId: number
  /** Take nothing new; a batch task goes on, a continuous run is told at once. */
  readonly stopping: AbortSignal
  /** The deadline has passed: what still runs is interrupted, its task released. */
  readonly killed: AbortSignal
}

/** What stands on every span of a slot. */
export function slotAttributes(
  { type }: { readonly type: string },
  { workerId, slotId }: SlotControl,
): Readonly<Record<string, string | number>> {
  return { 'fleet.automation_type': type, 'fleet.worker_id': workerId, 'fleet.slot_id': slotId }
}

/** The same on every log line inside. */
export function slotLogFields(
  { type }: { readonly type: string },
  { workerId, slotId }: SlotControl,
): Readonly<Record<string, string | number>> {
  return { automation_type: type, worker_id: workerId, slot_id: slotId }
}
