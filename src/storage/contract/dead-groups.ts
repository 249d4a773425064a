/**
 * @module storage/contract/dead-groups
 * Defines the groups of dead tasks: those of one type whose errors have the same pattern (D157). A task enters its
 * group in the step in which it dies, and leaves it in the step in which it is replayed or removed. At most
 * `MAX_DEAD_GROUPS` groups exist; tasks for which there is none left are in `OTHER_GROUP`.
 *
 * A master of an earlier release keeps no groups. What it did is found by `groupDead`, which repairs the groups in
 * steps. Until it has returned false, tasks may be missing in their groups, or listed in them after they were replayed.
 */
import type { JsonText } from '../../protocol/index.ts'
import type { EpochMs } from './common.ts'
import type { DeadRow } from './dead-letters.ts'

/** The dead tasks of one type with the same pattern of error. */
export interface DeadGroup {
  /** 16 hexadecimal digits. */
  readonly group: string
  /** Dead tasks, 1 or more. */
  readonly count: number
  /** Of the oldest and of the newest death. */
  readonly firstDiedAtMs: EpochMs
  readonly lastDiedAtMs: EpochMs
  /** How many of the tasks died in each of the last 12 intervals of `TREND_INTERVAL_MS`, the current one last. */
  readonly trend: readonly number[]
  /** The workers of the newest 8 deaths, at most 3, without repetitions, newest first. */
  readonly workers: readonly string[]
  /** The newest death. */
  readonly example: {
    readonly id: string
    /** At most 1,024 characters. */
    readonly lastError: string
  }
}

/** Delays the tasks of a replay, so that they are not due all together. */
export interface ReplayPace {
  /** When the first task of the call is due, from now on, 0 or more. */
  readonly delayMs: number
  /** From one task to the next, above 0. */
  readonly intervalMs: number
}

/** What to do with which tasks of a group of dead tasks. */
export interface DeadGroupAct {
  readonly group: string
  /** `replay` makes the tasks pending, as `replay` of the dead letters does; `remove` deletes them. */
  readonly action: 'replay' | 'remove'
  /** Later deaths, and those of this millisecond, stay dead. */
  readonly diedBeforeMs: EpochMs
  /** At most this many tasks, 1 to 500. */
  readonly n: number
  /**
   * For a replay alone: the tasks are scheduled, and go to the back of their own tiers when they are due. Their ttl
   * starts then.
   */
  readonly pace?: ReplayPace | undefined
  /** For a replay alone: its id, under which the ends of the tasks are counted (replays.ts). */
  readonly replay?: string | undefined
}

/** A page of dead tasks, newest death first. */
export interface NewestDead {
  readonly items: readonly DeadRow[]
  /** The `before` of the next page; `null` behind the last one. */
  readonly next: string | null
}

/** The groups of dead tasks. The rules of `Tasks` for lists and `bytes` apply. */
export interface DeadGroups {
  /**
   * Lists the groups, newest death first.
   *
   * @param type The automation type.
   * @returns at most `MAX_DEAD_GROUPS` groups and `OTHER_GROUP`.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  deadGroups(type: string): Promise<readonly DeadGroup[]>
  /**
   * Repairs the groups after a release that keeps none has used the store. Call it until it returns false.
   *
   * @param type The automation type.
   * @param n Tasks of one step, 1 to 500.
   * @returns whether more is left.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  groupDead(type: string, n: number): Promise<boolean>
  /**
   * Lists dead tasks, newest death first.
   *
   * @param type The automation type.
   * @param group `null` for all tasks.
   * @param before The `next` of the page before; `null` for the first page.
   * @param n At most this many tasks, 1 to 500.
   * @param bytes Ends the page early, 1 to 32 MiB; 32 MiB if omitted.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  newestDead(type: string, group: string | null, before: string | null, n: number, bytes?: number): Promise<NewestDead>
  /**
   * Replays or removes the oldest tasks of a group that died before a moment.
   *
   * @param type The automation type.
   * @returns how many were replayed or removed. Call again unless it is 0.
   * @throws {FleetError} STORAGE_UNAVAILABLE. If the outcome is unknown, a retry may act on up to `n` further tasks.
   * @see D158
   */
  applyToDeadGroup(type: string, act: DeadGroupAct): Promise<number>
  /**
   * Reads one dead task.
   *
   * @param type The automation type.
   * @param id Its id.
   * @returns `null` if it is not dead.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  deadTask(type: string, id: string): Promise<DeadRow | null>
  /**
   * Replaces the body of a dead task and replays it in one step.
   *
   * @param type The automation type.
   * @param id Its id.
   * @param diedAtMs Of the death that the caller has read. A task that died again since then is not replayed.
   * @param body Differs from the stored one in the payload alone.
   * @returns false if the task is not dead since `diedAtMs`.
   * @throws {FleetError} STORAGE_UNAVAILABLE, STORAGE_FULL. Safe to retry; a repeat returns false.
   */
  replayEdited(type: string, id: string, diedAtMs: EpochMs, body: JsonText): Promise<boolean>
}
