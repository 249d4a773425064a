// The interface of muster/client, written by hack/update-client-api.mjs. The module exports these names:
//   AutomationClient
//   CallOptions
//   CancelledTask
//   DeadLetters
//   DeadTask
//   EventsOptions
//   FailedAttempt
//   Fault
//   FleetEvent
//   FoundTask
//   JsonObject
//   ListOptions
//   ListedTask
//   MusterClient
//   MusterClientOptions
//   MusterError
//   MusterErrorCode
//   NewTask
//   OutputEntry
//   OutputGap
//   OutputOf
//   OutputsOptions
//   Page
//   PageOptions
//   Pause
//   PayloadOf
//   QueuePage
//   QueuedTask
//   ResultOf
//   SelectedTask
//   SubmitOutcome
//   SubmittedTask
//   TaskFailed
//   TaskOptions
//   TaskRetry
//   TaskState
//   UnsupportedByMaster
import type { Automation } from '../../src/automation/public.ts'
// published/muster-client.d.ts
export declare class MusterClient {
  constructor(options: MusterClientOptions)
  automation(type: string): AutomationClient<JsonObject, JsonObject>
  automation<A extends Automation>(automation: string | A): AutomationClient<PayloadOf<A>, OutputOf<A>, ResultOf<A>>
  findTask(id: string, options?: CallOptions): Promise<readonly FoundTask[]>
  events(options?: EventsOptions): AsyncGenerator<FleetEvent, void, undefined>
}

// published/muster-error.d.ts
export interface Fault {
  readonly field: string
  readonly problem: string
}
export type MusterErrorCode =
  | 'BAD_REQUEST'
  | 'UNAUTHENTICATED'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'TIMED_OUT'
  | 'CLAIMED'
  | 'STALE_GENERATION'
  | 'TOO_LARGE'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'INVALID'
  | 'RATE_LIMITED'
  | 'UNAVAILABLE'
  | 'UNREACHABLE'
  | 'BROKEN'
  | 'FOREIGN'
export interface MusterErrorFacts {
  readonly outcome: MusterError['outcome']
  readonly retryable: boolean
  readonly requestId?: string | undefined
  readonly faults?: readonly Fault[] | undefined
  readonly cause?: unknown
}
export declare class MusterError extends Error {
  readonly name: 'MusterError' | 'UnsupportedByMaster'
  readonly code: MusterErrorCode
  readonly outcome: 'not_sent' | 'not_done' | 'unknown'
  readonly retryable: boolean
  readonly requestId: string | undefined
  readonly faults: readonly Fault[]
  constructor(code: MusterErrorCode, message: string, facts: MusterErrorFacts)
}
export declare class UnsupportedByMaster extends MusterError {
  readonly name = 'UnsupportedByMaster'
}
export declare function publishing<T>(call: Promise<T>, missing?: MusterErrorCode): Promise<T>
export declare const bodyOf: <T>(
  call: Promise<{
    readonly body: T
  }>,
) => Promise<T>
export declare function published(error: unknown, missing?: MusterErrorCode): unknown

// published/task-failed.d.ts
export interface TaskFailedFacts {
  readonly taskId: string
  readonly place: TaskFailed['place']
  readonly attempts: number
  readonly lastError: string | null
}
export declare class TaskFailed extends Error {
  readonly name = 'TaskFailed'
  readonly taskId: string
  readonly place: 'dead' | 'expired' | 'cancelled' | 'unknown' | 'done'
  readonly attempts: number
  readonly lastError: string | null
  constructor(message: string, facts: TaskFailedFacts)
}

// published/api.d.ts
export type JsonObject = Readonly<Record<string, unknown>>
export type PayloadOf<A extends Automation> = Parameters<A['run']>[0] extends {
  readonly task: {
    readonly payload: infer P
  }
}
  ? P
  : never
export type OutputOf<A extends Automation> = Parameters<A['run']>[0] extends {
  readonly emit: (output: infer O) => unknown
}
  ? O
  : never
export type ResultOf<A extends Automation> = Awaited<ReturnType<A['run']>>
export interface MusterClientOptions {
  readonly url: string
  readonly token: string | (() => string | Promise<string>)
  readonly timeoutMs?: number
  readonly dedupe?: boolean
  readonly actor?: string
  readonly fetch?: typeof globalThis.fetch
}
export interface CallOptions {
  readonly signal?: AbortSignal | undefined
}
export interface TaskRetry {
  readonly baseSeconds?: number | undefined
  readonly factor?: number | undefined
  readonly capSeconds?: number | undefined
}
export interface TaskOptions {
  readonly id?: string | undefined
  readonly priority?: number | undefined
  readonly ttlSeconds?: number | undefined
  readonly delaySeconds?: number | undefined
  readonly notBefore?: Date | undefined
  readonly maxAttempts?: number | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
  readonly retry?: TaskRetry | undefined
  readonly traceparent?: string | undefined
  readonly tracestate?: string | undefined
  readonly idempotencyKey?: string | undefined
  readonly idempotencyTtlSeconds?: number | undefined
  readonly uniqueKey?: string | undefined
  readonly uniqueUntil?: 'started' | 'finished' | undefined
  readonly onConflict?: 'keep' | 'replace' | undefined
  readonly groupKey?: string | undefined
  readonly retainSeconds?: number | undefined
}
export interface NewTask<Payload> extends TaskOptions {
  readonly payload: Payload
}
export interface SubmittedTask<Result = unknown> {
  readonly id: string
  readonly isDuplicate: boolean
  readonly replacedId?: string
  result(options?: CallOptions): Promise<Result>
}
export type SubmitOutcome<Result = unknown> =
  | {
      readonly kind: 'submitted'
      readonly task: SubmittedTask<Result>
    }
  | {
      readonly kind: 'failed'
      readonly error: unknown
    }
export interface FailedAttempt {
  readonly attempt: number
  readonly at: Date
  readonly kind: 'failed' | 'lease_lost'
  readonly error: string | null
  readonly workerId: string
}
export interface TaskState {
  readonly id: string
  readonly place: 'pending' | 'in_flight' | 'scheduled' | 'dead' | 'done' | 'expired' | 'cancelled'
  readonly attempts: readonly FailedAttempt[]
  readonly progress?: unknown
  readonly progressAt?: Date
}
export interface FoundTask extends TaskState {
  readonly type: string
}
export interface CancelledTask {
  readonly id: string
  readonly outcome: 'cancelled' | 'dead' | 'done' | 'expired' | 'not_found'
}
export interface QueuedTask<Payload> {
  readonly id: string
  readonly payload: Payload
  readonly attempt: number
  readonly priority: number
  readonly submittedAt: Date
  readonly notBefore: Date | null
  readonly labels: Readonly<Record<string, string>>
}
export interface DeadTask<Payload> extends QueuedTask<Payload> {
  readonly maxAttempts: number
  readonly lastError: string | null
  readonly diedAt: Date
}
export interface ListedTask<Payload> extends QueuedTask<Payload> {
  readonly place: 'pending' | 'in_flight' | 'scheduled' | 'dead'
  readonly workerId: string | null
  readonly at: Date | null
  readonly lastError: string | null
}
export interface ListOptions extends CallOptions {
  readonly place?: ListedTask<unknown>['place'] | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
  readonly text?: string | undefined
}
export interface Page<Item> {
  readonly length: number
  readonly items: readonly Item[]
}
export interface Pause {
  readonly note: string | null
  readonly actor: string
  readonly since: Date
  readonly until: Date | null
}
export interface QueuePage<Payload> extends Page<QueuedTask<Payload>> {
  readonly paused: Pause | null
}
export interface PageOptions extends CallOptions {
  readonly limit?: number | undefined
}
export interface OutputEntry<Output> {
  readonly gap: false
  readonly id: string
  readonly slotId: number
  readonly emittedAt: Date
  readonly payload: Output
}
export interface OutputGap {
  readonly gap: true
}
export interface OutputsOptions {
  readonly after?: string | undefined
  readonly last?: number | undefined
  readonly signal?: AbortSignal | undefined
}
export interface SelectedTask {
  readonly id: string
  readonly outcome: 'replayed' | 'removed' | 'not_dead'
}
export interface DeadLetters<Payload> {
  list(options?: PageOptions): Promise<Page<DeadTask<Payload>>>
  replay(ids: readonly string[], options?: CallOptions): Promise<readonly SelectedTask[]>
  replayOldest(limit: number, options?: CallOptions): Promise<number>
  delete(ids: readonly string[], options?: CallOptions): Promise<readonly SelectedTask[]>
  deleteAll(options?: CallOptions): Promise<number>
}
export interface AutomationClient<Payload, Output, Result = unknown> {
  readonly type: string
  readonly deadLetters: DeadLetters<Payload>
  submit(payload: Payload, options?: TaskOptions & CallOptions): Promise<SubmittedTask<Result>>
  submitMany(tasks: readonly NewTask<Payload>[], options?: CallOptions): Promise<readonly SubmitOutcome<Result>[]>
  result(id: string, options?: CallOptions): Promise<Result>
  getTask(id: string, options?: CallOptions): Promise<TaskState>
  listTasks(options?: ListOptions): AsyncGenerator<ListedTask<Payload>, void, undefined>
  cancel(ids: readonly string[], options?: CallOptions): Promise<readonly CancelledTask[]>
  queue(options?: PageOptions): Promise<QueuePage<Payload>>
  outputs(options?: OutputsOptions): AsyncGenerator<OutputEntry<Output> | OutputGap, void, undefined>
  peek(n: number, options?: CallOptions): Promise<readonly OutputEntry<Output>[]>
  pop(n: number, options?: CallOptions): Promise<readonly OutputEntry<Output>[]>
}
export interface EventsOptions {
  readonly lastEventId?: string | undefined
  readonly signal?: AbortSignal | undefined
}
export type FleetEvent =
  | {
      readonly kind: 'event'
      readonly id: string
      readonly name: string
      readonly data: JsonObject
    }
  | {
      readonly kind: 'reset'
      readonly id: string
    }
