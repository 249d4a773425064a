/**
 * @module storage/contract/task-groups
 * Defines the groups of tasks (D119): a type with a group policy leases its pending tasks in fair turns of their
 * groups, and bounds how many tasks of one group run at a time and start per time.
 *
 * A group is ready while it has a pending task, has fewer leases than `maxInFlight`, and its rate permits a start. A
 * reserve takes one task of each ready group in turn. A ready group has a position, and the lowest one is next; of two
 * with the same position, the one whose name comes first (compareText; `null` before all). Each lease adds 1 to the
 * position of its group. A group that becomes ready, also again, enters at the position that the group of the last
 * lease has since then, so all ready groups of one position are served before it. Example: A and B have tasks and
 * `maxInFlight` is 1. A is leased, is full, and ready again after the ack; B is leased before A is leased again (G30).
 *
 * Within a group, higher tiers come first, and within a tier the order is that of an ungrouped type: first in, first
 * out, with released tasks and those of lost leases at the front.
 *
 * A task without a group is in the group `null`, which behaves as any other.
 */
import type { EpochMs } from './common.ts'

/** The bounds of each group of a type. */
export interface GroupPolicy {
  /** The most leases of one group at a time, 1 to 10,000; `null`: unbounded. */
  readonly maxInFlight: number | null
  /** `null`: unbounded. */
  readonly rate: GroupRate | null
}

/**
 * How many tasks of one group may start: at most `burst` + w / `intervalMs` in any window of w ms. A group that did not
 * use its rate may start `burst` tasks immediately, and then one per `intervalMs`.
 */
export interface GroupRate {
  /** Milliseconds per task, above 0 and at most 86,400,000; a fraction is allowed. */
  readonly intervalMs: number
  /** 1 to 10,000. */
  readonly burst: number
}

/** One group that has a pending task or a lease. */
export interface GroupRow {
  /** `null` for the tasks without a group. */
  readonly group: string | null
  readonly pending: number
  readonly inFlight: number
  /** When its rate permits the next start; `null` if that is not what the group waits for. */
  readonly nextStartAtMs: EpochMs | null
}

/**
 * How many groups of a type have tasks. Reading them costs the same for any number of groups. So a store may still
 * count a group as ready whose rate does not permit a start, until the next reserve looks at it.
 */
export interface GroupTotals {
  /** Groups whose next task can be leased now. */
  readonly ready: number
  /** Groups with a pending task and a lease to spare, whose rate permits the next start later. */
  readonly waiting: number
  /** Groups with a lease. */
  readonly inFlight: number
}

export interface TaskGroups {
  /**
   * From now on this process treats the tasks of a type in groups with this policy; tasks that are pending or in flight
   * already are included. The policy is not stored: each process sets it after it has opened the store. The groups of
   * a type that had no policy become ready with it, all at the same position. The times of their rates outlive a change
   * of the policy.
   *
   * @param type The automation type.
   * @param policy `null`: the type has no groups. Its tasks keep the names of their groups.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  setGroupPolicy(type: string, policy: GroupPolicy | null): Promise<void>
  /**
   * Lists groups of a type with a policy, those with the most pending tasks first, then by name.
   *
   * @param type The automation type.
   * @param limit At most this many, 1 to 1,000.
   * @returns none for a type without a policy. A store may choose them among 10,000 of the groups.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  groups(type: string, limit: number): Promise<readonly GroupRow[]>
}
