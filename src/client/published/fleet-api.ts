/**
 * @module client/published/fleet-api
 * Defines what the published client shows of logs, groups of dead tasks, operations, alerts and events. Points in time
 * are `Date` objects.
 */
import type { CallOptions, DeadTask, JsonObject } from './api.ts'
import type { Fault } from './muster-error.ts'

/** The level of a log entry, the least severe first. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

/** One log entry. `slotId`, `taskId` and `attempt` are null outside of a slot, or outside of a run. */
export interface LogEntry {
  /** Grows by 1 with each entry of a process, and over its restarts. */
  readonly seq: number
  readonly at: Date
  readonly level: LogLevel
  readonly message: string
  readonly slotId: number | null
  readonly taskId: string | null
  readonly attempt: number | null
  readonly fields: JsonObject
}

/** Which entries `workerLogs` returns: the newest 200 if every field is omitted. */
export interface LogsOptions extends CallOptions {
  /** Only entries of the runs of this task. */
  readonly taskId?: string | undefined
  /** Only entries of this level and of more severe ones. */
  readonly level?: LogLevel | undefined
  /** The `next` of an earlier page, a number of an entry, to continue behind it; 0 for the oldest entries. */
  readonly after?: number | undefined
  /** At most this many entries: 1 to 1,000. */
  readonly limit?: number | undefined
}

/** Log entries of a worker, oldest first. */
export interface LogPage {
  /** When the process of the worker started. */
  readonly startedAt: Date
  readonly entries: readonly LogEntry[]
  /** The `after` of the next read: a number of an entry. */
  readonly next: number
  /** Whether entries behind `next` were left out. */
  readonly hasMore: boolean
  /** Number of entries behind `after` that the worker no longer has; null if the worker has restarted since. */
  readonly missed: number | null
}

/** The dead tasks whose errors have the same pattern. */
export interface DeadGroup {
  /** The name of the group. */
  readonly group: string
  /** The error without its variable parts, such as `ENOTFOUND <host>`; null for the group of all other errors. */
  readonly pattern: string | null
  readonly count: number
  readonly firstDiedAt: Date
  readonly lastDiedAt: Date
  /** Deaths in each of the last twelve intervals of 5 minutes, the current one last. */
  readonly trend: readonly number[]
  /** The workers of the newest deaths, at most 3. */
  readonly workers: readonly string[]
  /** The newest death. */
  readonly example: { readonly taskId: string; readonly error: string }
}

/** The groups of dead tasks, newest death first. */
export interface DeadGroupList {
  /** Whether no dead task is missing. It is false while the tasks of an earlier release are put into groups. */
  readonly complete: boolean
  /** All of these tasks died before; null without groups. */
  readonly asOf: Date | null
  readonly groups: readonly DeadGroup[]
}

/** Which tasks of a group are replayed, and how fast. */
export interface GroupReplayOptions extends CallOptions {
  /** Tasks that died at this time or later stay dead. */
  readonly before: Date
  /** This many tasks a second become due, 0.01 to 10,000; all are pending immediately if omitted. */
  readonly perSecond?: number | undefined
  /** When the first of them is due, in seconds. */
  readonly delaySeconds?: number | undefined
}

/** What became of a replay of dead tasks. */
export interface DeadReplay {
  readonly id: string
  /** `group`, `before` and `pattern` are null unless a group was replayed. */
  readonly group: string | null
  readonly before: Date | null
  readonly pattern: string | null
  /** The id of the operation that replays the tasks, if there is one. */
  readonly operation?: string | undefined
  readonly startedAt: Date
  /** Number of tasks. */
  readonly replayed: number
  /** Number of tasks that a worker has finished since. */
  readonly done: number
  /** Number of tasks that are dead again. */
  readonly died: number
}

/** Options of `newest`. */
export interface NewestDeadOptions extends CallOptions {
  /** Only tasks of this group. */
  readonly group?: string | undefined
  /** At most this many tasks, 1 to 500; 50 if omitted. */
  readonly limit?: number | undefined
  /** The `cursor` of the page before. */
  readonly cursor?: string | undefined
}

/** Dead tasks by the groups of their errors. No call that changes them is repeated, except `deleteGroup`. */
export interface DeadGroups<Payload> {
  /** Returns the groups of dead tasks, newest death first. */
  groups(options?: CallOptions): Promise<DeadGroupList>
  /** Returns dead tasks, newest death first. `cursor` is null behind the last page. */
  newest(
    options?: NewestDeadOptions,
  ): Promise<{ readonly items: readonly DeadTask<Payload>[]; readonly cursor: string | null }>
  /**
   * Queues the tasks of a group again that died before a moment, the oldest death first, 10,000 at most.
   * @param group The name of the group.
   * @param options `before`: usually `asOf` of the groups, so that only tasks are replayed that were counted there.
   * @returns how many. With `more`, call again with its `delaySeconds`.
   */
  replayGroup(
    group: string,
    options: GroupReplayOptions,
  ): Promise<{ readonly replayed: number; readonly more: boolean; readonly delaySeconds: number }>
  /**
   * Removes the tasks of a group permanently that died before a moment, 10,000 at most.
   * @param group The name of the group.
   * @param before Tasks that died at this time or later stay dead.
   * @returns how many. With `more`, call again.
   */
  deleteGroup(
    group: string,
    before: Date,
    options?: CallOptions,
  ): Promise<{ readonly removed: number; readonly more: boolean }>
  /**
   * Queues a dead task again with another payload.
   * @param task The ID of the task, and the death that the caller has seen.
   * @param payload Has to match the payload schema of the automation.
   * @returns false if the task is not dead, or died again since then.
   */
  replayEdited(
    task: { readonly id: string; readonly diedAt: Date },
    payload: Payload,
    options?: CallOptions,
  ): Promise<boolean>
  /** Returns the newest 20 replays, newest first, with how many of their tasks are done and dead again. */
  replays(options?: CallOptions): Promise<readonly DeadReplay[]>
}

/** Which workers an operation changes: these, or those that all given parts select. */
export interface WorkerSelection {
  /** 1 to 10,000 IDs. */
  readonly workers?: readonly string[] | undefined
  /** Patterns of IDs, with `*` for any text. */
  readonly idPatterns?: readonly string[] | undefined
  /** Labels that a worker has to have. */
  readonly matchLabels?: Readonly<Record<string, string>> | undefined
}

/** What an operation does. `replay`: dead tasks of a group, or of all, that died before a moment, now by default. */
export type OperationChange =
  | ({ readonly kind: 'patch'; readonly patch: JsonObject } & WorkerSelection)
  | ({ readonly kind: 'drain' } & WorkerSelection)
  | { readonly kind: 'replay'; readonly group?: string | undefined; readonly before?: Date | undefined }

/** How an operation proceeds. The master chooses what is omitted. */
export interface OperationPace {
  /** Why it is done, 1 to 256 characters. */
  readonly note?: string | undefined
  /** Workers or tasks that begin in a second, 0.1 to 1,000. */
  readonly perSecond?: number | undefined
  /** Number of workers that may be active at a time, 1 to 500. */
  readonly parallel?: number | undefined
  /** A worker that has not confirmed after this time has failed, 1 to 86,400 seconds. */
  readonly waitSeconds?: number | undefined
  /** How long a worker has to be without an error after the change, 0 to 3,600 seconds. */
  readonly bakeSeconds?: number | undefined
  /** Stops the operation when this number of workers has failed. */
  readonly stopAfter?: number | undefined
  /** Stops the operation when this share of at least 10 workers has failed, up to 1. */
  readonly stopShare?: number | undefined
  /** Creates the operation only if this number of workers or tasks would change. */
  readonly expected?: number | undefined
}

/** What an operation would do. */
export interface OperationPreview {
  readonly kind: OperationChange['kind']
  /** Number of selected workers or tasks. */
  readonly total: number
  /** Number of workers or tasks that would change. */
  readonly change: number
  /** Number of workers that have these values already. */
  readonly unchanged: number
  /** Number of workers whose config would be invalid. */
  readonly refused: number
  /** Number of workers without a record. */
  readonly unknown: number
  /** Number of workers that would change and are not connected. */
  readonly offline: number
  /** The present generations of the workers that would change, at most 20, the most frequent first. */
  readonly generations: readonly { readonly configGen: number; readonly workers: number }[]
  /** The present values of the patched fields, like `generations`; secrets are masked. */
  readonly values: readonly { readonly values: JsonObject; readonly workers: number }[]
  /** Who manages these workers. */
  readonly managed: readonly { readonly managedBy: string; readonly workers: number }[]
  /** Why workers would not change, at most 20 reasons. */
  readonly refusedBecause: readonly { readonly detail: string | readonly Fault[]; readonly workers: number }[]
}

/** What became of one worker of an operation. */
export interface OperationResult {
  readonly workerId: string
  readonly result: keyof Operation['counts']
  /** Number of the generation before. */
  readonly configGenBefore: number
  /** The generation that the operation wrote; null if none. */
  readonly configGen: number | null
  readonly message: string | null
}

/** A change of many workers, or of many dead tasks, that the master carries out. */
export interface Operation {
  /** Its name. */
  readonly operation: string
  /** The automation type. */
  readonly type: string
  readonly kind: OperationChange['kind']
  /** `stopped`: because of failures. */
  readonly state: 'running' | 'done' | 'stopped' | 'cancelled'
  /** Why it was stopped or cancelled. */
  readonly reason: string | null
  readonly note: string | null
  readonly createdAt: Date
  readonly createdBy: string
  readonly endedAt: Date | null
  /** Number of workers or tasks. */
  readonly total: number
  /** Numbers of workers, or of tasks, by result. */
  readonly counts: Readonly<
    Record<
      'pending' | 'active' | 'done' | 'offline' | 'unchanged' | 'conflict' | 'refused' | 'failed' | 'unknown',
      number
    >
  >
  /** Secrets are masked; null unless it is of kind patch, and for an undo. */
  readonly patch: JsonObject | null
  /** The fields that it patches. */
  readonly fields: readonly string[]
  /** The group of dead tasks that it replays, and the moment before which they died; null otherwise. */
  readonly group: string | null
  readonly before: Date | null
  /** Number of workers or tasks that begin in a second. */
  readonly perSecond: number
  /** Number of workers that may be active at a time. */
  readonly parallel: number
  readonly waitSeconds: number
  readonly bakeSeconds: number
  /** Number of failed workers that stops the operation; null: no number does. */
  readonly stopAfter: number | null
  /** Share of failed workers that stops the operation, a number up to 1; null: no share does. */
  readonly stopShare: number | null
  /** The first workers that failed, at most 20; the results have all. */
  readonly failures: readonly { readonly workerId: string; readonly message: string }[]
  readonly undoOf: string | null
  readonly undoneBy: string | null
  /** It has changed configs, has ended, and was not undone. */
  readonly canUndo: boolean
}

/** The operations of one automation type. A create and an undo are not repeated when their response was lost. */
export interface Operations {
  /** Returns what an operation would do. It changes nothing. @param change The operation. */
  preview(change: OperationChange, options?: CallOptions): Promise<OperationPreview>
  /**
   * Creates an operation.
   * @param change What it does, and how it proceeds.
   * @returns the operation. Rejects with INVALID when nothing would change.
   */
  create(change: OperationChange & OperationPace, options?: CallOptions): Promise<Operation>
  /**
   * Returns an operation. Rejects with NOT_FOUND when there is none, or not any more.
   * @param operation Its name.
   */
  get(operation: string, options?: CallOptions): Promise<Operation>
  /** Returns what became of each worker. @param operation The name of the operation. */
  results(operation: string, options?: CallOptions): Promise<readonly OperationResult[]>
  /**
   * Ends an operation: no further worker begins.
   * @param operation Its name.
   * @returns the operation, also if it has ended before.
   */
  cancel(operation: string, options?: CallOptions): Promise<Operation>
  /**
   * Creates the operation that undoes another one. Rejects with INVALID if that one runs, or is undone already.
   * @param operation The name of the one to undo.
   * @returns the new operation.
   */
  undo(operation: string, options?: CallOptions): Promise<Operation>
}

/** A problem that has lasted. It fires from `firedAt` to `resolvedAt`, which is null while it fires. */
export interface Alert {
  /** The same for as long as the alert fires; never used again. */
  readonly id: string
  /** The automation type. */
  readonly type: string
  /** Such as `error`, `offline` or `dead`. */
  readonly kind: string
  /** The item of the attention list, by which it is acknowledged. */
  readonly item: string
  readonly severity: 'critical' | 'warning'
  /** The type, or `TYPE/WORKER` if one worker is affected. */
  readonly subject: string
  readonly text: string
  /** The affected workers or tasks. */
  readonly count: number
  /** When the problem began. */
  readonly since: Date
  readonly firedAt: Date
  readonly resolvedAt: Date | null
  readonly acknowledged: boolean
}

/** Options of `events`. */
export interface EventsOptions {
  /** ID of the last event that was handled, to continue after it; only new events are yielded if omitted. */
  readonly lastEventId?: string | undefined
  /** Ends the iteration. */
  readonly signal?: AbortSignal | undefined
}

/** What `events` yields. `reset`: events in between are lost, so read again what you derived from them. */
export type FleetEvent =
  | {
      readonly kind: 'event'
      /** The position to resume after. */
      readonly id: string
      /** Such as `worker.state` or `queue.totals`. */
      readonly name: string
      readonly data: JsonObject
    }
  | { readonly kind: 'reset'; readonly id: string }
