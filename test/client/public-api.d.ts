// The interface of muster/client, written by hack/update-client-api.mjs. The module exports these names:
//   Alert
//   AutomationClient
//   CallOptions
//   CancelledTask
//   DeadGroup
//   DeadGroupList
//   DeadGroups
//   DeadLetters
//   DeadReplay
//   DeadTask
//   EventsOptions
//   FailedAttempt
//   Fault
//   FleetEvent
//   FoundTask
//   GroupReplayOptions
//   JsonObject
//   ListOptions
//   ListedTask
//   LogEntry
//   LogLevel
//   LogPage
//   LogsOptions
//   MusterClient
//   MusterClientOptions
//   MusterError
//   MusterErrorCode
//   NewTask
//   NewestDeadOptions
//   Operation
//   OperationChange
//   OperationPace
//   OperationPreview
//   OperationResult
//   Operations
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
//   WorkerSelection
import type { Automation } from '../../src/automation/public.ts'
// published/muster-client.d.ts
export declare class MusterClient {
  constructor(options: MusterClientOptions)
  automation(type: string): AutomationClient<JsonObject, JsonObject>
  automation<A extends Automation>(automation: string | A): AutomationClient<PayloadOf<A>, OutputOf<A>, ResultOf<A>>
  findTask(id: string, options?: CallOptions): Promise<readonly FoundTask[]>
  events(options?: EventsOptions): AsyncGenerator<FleetEvent, void, undefined>
  alerts(options?: CallOptions): Promise<readonly Alert[]>
  operations(options?: CallOptions): Promise<readonly Operation[]>
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
export declare const faultsOf: (faults: readonly FieldError[]) => readonly Fault[]

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
  readonly workerId?: string
  readonly taskId?: string
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
export interface DeadLetters<Payload> extends DeadGroups<Payload> {
  list(options?: PageOptions): Promise<Page<DeadTask<Payload>>>
  replay(ids: readonly string[], options?: CallOptions): Promise<readonly SelectedTask[]>
  replayOldest(limit: number, options?: CallOptions): Promise<number>
  delete(ids: readonly string[], options?: CallOptions): Promise<readonly SelectedTask[]>
  deleteAll(options?: CallOptions): Promise<number>
}
export interface AutomationClient<Payload, Output, Result = unknown> {
  readonly type: string
  readonly deadLetters: DeadLetters<Payload>
  readonly operations: Operations
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
  workerLogs(workerId: string, options?: LogsOptions): Promise<LogPage>
}

// published/fleet-api.d.ts
export type LogLevel = 'debug' | 'info' | 'warn' | 'error'
export interface LogEntry {
  readonly seq: number
  readonly at: Date
  readonly level: LogLevel
  readonly message: string
  readonly slotId: number | null
  readonly taskId: string | null
  readonly attempt: number | null
  readonly fields: JsonObject
}
export interface LogsOptions extends CallOptions {
  readonly taskId?: string | undefined
  readonly level?: LogLevel | undefined
  readonly after?: number | undefined
  readonly limit?: number | undefined
}
export interface LogPage {
  readonly startedAt: Date
  readonly entries: readonly LogEntry[]
  readonly next: number
  readonly hasMore: boolean
  readonly missed: number | null
}
export interface DeadGroup {
  readonly group: string
  readonly pattern: string | null
  readonly count: number
  readonly firstDiedAt: Date
  readonly lastDiedAt: Date
  readonly trend: readonly number[]
  readonly workers: readonly string[]
  readonly example: {
    readonly taskId: string
    readonly error: string
  }
}
export interface DeadGroupList {
  readonly complete: boolean
  readonly asOf: Date | null
  readonly groups: readonly DeadGroup[]
}
export interface GroupReplayOptions extends CallOptions {
  readonly before: Date
  readonly perSecond?: number | undefined
  readonly delaySeconds?: number | undefined
}
export interface DeadReplay {
  readonly id: string
  readonly group: string | null
  readonly before: Date | null
  readonly pattern: string | null
  readonly operation?: string | undefined
  readonly startedAt: Date
  readonly replayed: number
  readonly done: number
  readonly died: number
}
export interface NewestDeadOptions extends CallOptions {
  readonly group?: string | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}
export interface DeadGroups<Payload> {
  groups(options?: CallOptions): Promise<DeadGroupList>
  newest(options?: NewestDeadOptions): Promise<{
    readonly items: readonly DeadTask<Payload>[]
    readonly cursor: string | null
  }>
  replayGroup(
    group: string,
    options: GroupReplayOptions,
  ): Promise<{
    readonly replayed: number
    readonly more: boolean
    readonly delaySeconds: number
  }>
  deleteGroup(
    group: string,
    before: Date,
    options?: CallOptions,
  ): Promise<{
    readonly removed: number
    readonly more: boolean
  }>
  replayEdited(
    task: {
      readonly id: string
      readonly diedAt: Date
    },
    payload: Payload,
    options?: CallOptions,
  ): Promise<boolean>
  replays(options?: CallOptions): Promise<readonly DeadReplay[]>
}
export interface WorkerSelection {
  readonly workers?: readonly string[] | undefined
  readonly idPatterns?: readonly string[] | undefined
  readonly matchLabels?: Readonly<Record<string, string>> | undefined
}
export type OperationChange =
  | ({
      readonly kind: 'patch'
      readonly patch: JsonObject
    } & WorkerSelection)
  | ({
      readonly kind: 'drain'
    } & WorkerSelection)
  | {
      readonly kind: 'replay'
      readonly group?: string | undefined
      readonly before?: Date | undefined
    }
export interface OperationPace {
  readonly note?: string | undefined
  readonly perSecond?: number | undefined
  readonly parallel?: number | undefined
  readonly waitSeconds?: number | undefined
  readonly bakeSeconds?: number | undefined
  readonly stopAfter?: number | undefined
  readonly stopShare?: number | undefined
  readonly expected?: number | undefined
}
export interface OperationPreview {
  readonly kind: OperationChange['kind']
  readonly total: number
  readonly change: number
  readonly unchanged: number
  readonly refused: number
  readonly unknown: number
  readonly offline: number
  readonly generations: readonly {
    readonly configGen: number
    readonly workers: number
  }[]
  readonly values: readonly {
    readonly values: JsonObject
    readonly workers: number
  }[]
  readonly managed: readonly {
    readonly managedBy: string
    readonly workers: number
  }[]
  readonly refusedBecause: readonly {
    readonly detail: string | readonly Fault[]
    readonly workers: number
  }[]
}
export interface OperationResult {
  readonly workerId: string
  readonly result: keyof Operation['counts']
  readonly configGenBefore: number
  readonly configGen: number | null
  readonly message: string | null
}
export interface Operation {
  readonly operation: string
  readonly type: string
  readonly kind: OperationChange['kind']
  readonly state: 'running' | 'done' | 'stopped' | 'cancelled'
  readonly reason: string | null
  readonly note: string | null
  readonly createdAt: Date
  readonly createdBy: string
  readonly endedAt: Date | null
  readonly total: number
  readonly counts: Readonly<
    Record<
      'pending' | 'active' | 'done' | 'offline' | 'unchanged' | 'conflict' | 'refused' | 'failed' | 'unknown',
      number
    >
  >
  readonly patch: JsonObject | null
  readonly fields: readonly string[]
  readonly group: string | null
  readonly before: Date | null
  readonly perSecond: number
  readonly parallel: number
  readonly waitSeconds: number
  readonly bakeSeconds: number
  readonly stopAfter: number | null
  readonly stopShare: number | null
  readonly failures: readonly {
    readonly workerId: string
    readonly message: string
  }[]
  readonly undoOf: string | null
  readonly undoneBy: string | null
  readonly canUndo: boolean
}
export interface Operations {
  preview(change: OperationChange, options?: CallOptions): Promise<OperationPreview>
  create(change: OperationChange & OperationPace, options?: CallOptions): Promise<Operation>
  get(operation: string, options?: CallOptions): Promise<Operation>
  results(operation: string, options?: CallOptions): Promise<readonly OperationResult[]>
  cancel(operation: string, options?: CallOptions): Promise<Operation>
  undo(operation: string, options?: CallOptions): Promise<Operation>
}
export interface Alert {
  readonly id: string
  readonly type: string
  readonly kind: string
  readonly item: string
  readonly severity: 'critical' | 'warning'
  readonly subject: string
  readonly text: string
  readonly count: number
  readonly since: Date
  readonly firedAt: Date
  readonly resolvedAt: Date | null
  readonly acknowledged: boolean
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
