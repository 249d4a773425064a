/**
 * @module automation/slot
 * Defines the interface between the slot runners and their environment. The worker implements it with sockets and RPC,
 * the test harness with a memory backend on virtual time.
 *
 *   runBatchSlot       take ─▶ run ─▶ settle ─▶ take …      ends after its task when `stopping` aborts
 *   runContinuousSlot  run ─▶ (error: backoff 1 s … 60 s; return: 1 s) ─▶ run …   aborts the run when `stopping` aborts
 */
import type { Clock, Random, RetryPolicy, SpanOrigin, Timers, TraceHeaders } from '../runtime/index.ts'
import type { BaseConfig, JsonObject, RpcMethod, RpcParams, RpcResult } from '../protocol/index.ts'
import type { Metrics, SlotLog } from './context.ts'

/** An applied config, frozen. */
export type AppliedConfig = Readonly<BaseConfig & JsonObject>

/** One reserved task. The environment extends its lease until its outcome is reported. */
export interface TaskLease {
  readonly id: string
  readonly payload: JsonObject
  readonly attempt: number
  readonly labels: Readonly<Record<string, string>>
  /** The group of the task; null if it has none. */
  readonly groupKey: string | null
  /** The policy of this task; undefined: that of the automation. */
  readonly retry: RetryPolicy | undefined
  /** The trace of the submit. */
  readonly trace: TraceHeaders | undefined
  /** The config at the time of the reserve. */
  readonly config: AppliedConfig
  /** The signal of the run. Aborts with a SlotStopped when the lease is lost, and on {@link interrupt}. */
  readonly signal: AbortSignal
  /** The lease was lost, so the outcome will be ignored. */
  readonly isLost: boolean
  /** Aborts the signal of the run with `reason`. */
  interrupt(reason: unknown): void
  /** What an earlier run of the task reported last; null if none did. */
  readonly lastProgress: unknown
  /** Extends the lease now. @throws {LeaseLost} when it was lost. */
  extend(): Promise<void>
  /** Reports the progress of the run. @param text JSON of at most 1 KiB. */
  report(text: string): void
  /**
   * Reports success. The first call of `ack`, `nack` and `release` counts; its delivery is retried by the environment.
   * @param result What the run returned, if the automation declares a result; kept if the task is retained (D110).
   */
  ack(result?: unknown): void
  /**
   * Reports a failed attempt.
   * @param error The text of `last_error`; truncated to 4,096 characters.
   * @param options `retryInMs` 0 to 86,400,000 replaces the automation's backoff; `permanent` moves the task to the
   * dead letters.
   */
  nack(error: string, options?: { readonly retryInMs?: number; readonly permanent?: boolean }): void
  /** Returns the task to the queue without counting an attempt. */
  release(): void
}

export interface TaskSource {
  /**
   * Waits for the next task.
   * @param stopping Aborts the wait.
   * @returns null when `stopping` aborted first.
   */
  take(stopping: AbortSignal): Promise<TaskLease | null>
}

/** The calls of plugins (D23), by method. The context uses only this interface. */
export interface Primitives {
  /**
   * Sends one call to the master.
   * @throws {RpcError} with the master's code, or `unavailable` without a response.
   */
  call<M extends RpcMethod>(method: M, params: RpcParams<M>): Promise<RpcResult<M>>
  /** Yields the messages published on `topic` during the iteration. Ends when `signal` aborts. */
  subscribe(topic: string, signal: AbortSignal): AsyncIterable<unknown>
}

/** A run that has ended. A run whose lease was lost, or that was stopped with its slot, is none. */
export interface EndedRun {
  /** The config under which it began. */
  readonly config: AppliedConfig
  /** `released`: the run was interrupted, and its task is queued again. */
  readonly outcome: 'ok' | 'failed' | 'released'
  /** The error of a failed run of a batch automation, without secrets. */
  readonly error?: string
  /** Its duration in milliseconds. */
  readonly ms: number
}

export interface SlotDeps {
  readonly clock: Clock
  readonly timers: Timers
  readonly random: Random
  readonly log: SlotLog
  readonly metrics: Metrics
  readonly primitives: Primitives
  /** @returns the newest applied config. */
  readonly config: () => AppliedConfig
  /**
   * Serialises one output and buffers it in the worker.
   * @param taskId The task of the run; null for a continuous one.
   * @throws {RangeError} when it is larger than a frame.
   */
  readonly emit: (output: JsonObject, taskId: string | null) => void
  /** Reports the last failure of the slot for `last_error`; null when it has recovered. */
  readonly onError: (message: string | null) => void
  /** Called after each run. */
  readonly onRunEnded: (run: EndedRun) => void
  /** Runs work in a span (`slot.reserve`, `slot.run_one`, `slot.run_continuous`) and records its exception. */
  readonly span: <T>(
    name: SlotSpan,
    attributes: Readonly<Record<string, string | number>>,
    inside: () => Promise<T>,
    origin?: SpanOrigin,
  ) => Promise<T>
}
export type SlotSpan = 'slot.run_continuous' | 'slot.reserve' | 'slot.run_one'

/** Stops a slot. Both signals abort with a SlotStopped. */
export interface SlotControl {
  /** For spans and log lines. */
  readonly workerId: string
  readonly slotId: number
  /** Take no further tasks. A batch run continues; a continuous run is aborted. */
  readonly stopping: AbortSignal
  /** The deadline has passed: runs are interrupted and their tasks released. */
  readonly killed: AbortSignal
}

/** @returns the attributes of every span of a slot. */
export function slotAttributes(
  { type }: { readonly type: string },
  { workerId, slotId }: SlotControl,
): Readonly<Record<string, string | number>> {
  return { 'fleet.automation_type': type, 'fleet.worker_id': workerId, 'fleet.slot_id': slotId }
}

/** @returns the fields of every log line of a slot. */
export function slotLogFields(
  { type }: { readonly type: string },
  { workerId, slotId }: SlotControl,
): Readonly<Record<string, string | number>> {
  return { automation_type: type, worker_id: workerId, slot_id: slotId }
}
