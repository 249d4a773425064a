/**
 * @module storage/redis/script-constants
 * Values that TypeScript and Lua share. A Lua file takes one of them with `--- @define NAME` (script-text.ts); a value
 * that only one Lua file uses is defined there.
 */
import {
  AUDIT_LOG_LENGTH,
  CONFIG_HISTORY_ROWS,
  EVENT_LOG_BYTES,
  EVENT_LOG_LENGTH,
  KEPT_REVISIONS,
  MAX_COUNTED_DUE,
  MAX_ENROLMENTS,
  MAX_KEPT_ATTEMPTS,
  MAX_OPERATIONS,
  MAX_OUTCOME_BYTES,
  MAX_RESPONSE_BYTES,
  MAX_RESERVE_BYTES,
  MAX_RESERVED_PER_CALL,
  MAX_REVISIONS,
  MAX_ROLLOUTS,
  MAX_TALLY_COUNTERS,
  STREAM_MAX_AGE_MS,
  STREAM_MAX_BYTES,
  STREAM_MAX_ENTRIES,
  TASKS_RESERVE,
} from '../../protocol/index.ts'
import {
  errorGroup,
  GROUP_DEATHS_READ,
  lostLeaseError,
  MAX_DEAD_GROUPS,
  MAX_NAMESPACES,
  OTHER_GROUP,
  OUTCOME_BYTES,
  OUTCOMES_PER_SWEEP,
  RECLAIM_EVERY_MS,
  TREND_INTERVAL_MS,
  TREND_INTERVALS,
} from '../index.ts'

/** Reply of a script to a write with mark 0 to a namespace that holds nothing (namespaces.ts). */
export const NEW_NAMESPACE = 'new namespace'

export const SCRIPT_CONSTANTS = {
  AUDIT_LOG_LENGTH,
  CONFIG_HISTORY_ROWS,
  EVENT_LOG_BYTES,
  EVENT_LOG_LENGTH,
  GROUP_DEATHS_READ,
  KEPT_REVISIONS,
  /** The group of tasks that lost their leases too often. */
  LOST_LEASE_GROUP: errorGroup(lostLeaseError(3)),
  MAX_COUNTED_DUE,
  MAX_DEAD_GROUPS,
  MAX_ENROLMENTS,
  MAX_KEPT_ATTEMPTS,
  MAX_OPERATIONS,
  MAX_OUTCOME_BYTES,
  MAX_RESPONSE_BYTES,
  MAX_NAMESPACES,
  MAX_REVISIONS,
  MAX_ROLLOUTS,
  MAX_TALLY_COUNTERS,
  MAX_RESERVED_PER_CALL,
  MAX_RESERVE_BYTES,
  NEW_NAMESPACE,
  OTHER_GROUP,
  OUTCOME_BYTES,
  OUTCOMES_PER_SWEEP,
  RECLAIM_EVERY_MS,
  STREAM_MAX_AGE_MS,
  STREAM_MAX_BYTES,
  STREAM_MAX_ENTRIES,
  TASKS_RESERVE,
  TREND_INTERVAL_MS,
  TREND_INTERVALS,
} as const
