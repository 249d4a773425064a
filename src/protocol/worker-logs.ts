/**
 * @module protocol/worker-logs
 * Defines how the newest log entries of a worker are read (D181). A worker keeps them in memory, and sends them only in
 * response to a `read_logs` frame.
 *
 *   client ── GET …/workers/{id}/logs?after=41 ──▶ master ── read_logs ──▶ worker
 *   client ◀── {entries, next: 57, missed: 0} ──── master ◀── logs ─────── worker
 *
 * Sequence numbers grow with each entry, also from one process of a worker to the next. They are no counts: the first
 * one of a process is the time of its start.
 */
import { Type, type Static } from 'typebox'
import { MAX_LOG_ENTRIES_PER_READ } from './limits.ts'
import { AnyObject, Name, Nullable, Seconds, Strict } from './names.ts'

/** The levels of log entries, the least severe first. */
export const WORKER_LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
const Level = Type.Union([Type.Literal('debug'), Type.Literal('info'), Type.Literal('warn'), Type.Literal('error')])
const Sequence = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const Limit = Type.Integer({ minimum: 1, maximum: MAX_LOG_ENTRIES_PER_READ })

/** One log entry. `slot_id`, `task_id` and `attempt` are null outside of a slot, or outside of a run. */
export const WorkerLogEntry = Strict({
  seq: Sequence,
  ts: Seconds,
  level: Level,
  message: Type.String(),
  slot_id: Nullable(Type.Integer({ minimum: 0 })),
  task_id: Nullable(Type.String()),
  attempt: Nullable(Type.Integer({ minimum: 0 })),
  fields: AnyObject,
})
export type WorkerLogEntry = Static<typeof WorkerLogEntry>

/** What a `read_logs` frame and the query of the route select. */
const logFilterFields = {
  /** Only entries of the runs of this task. */
  task_id: Type.Optional(Name),
  /** Only entries of this level and of more severe ones. */
  level: Type.Optional(Level),
  /** The oldest entries behind this sequence number, 0 for all. Without it: the newest entries. */
  after: Type.Optional(Sequence),
}
/** The query of the log of a worker. */
export const WorkerLogsQuery = Strict({ ...logFilterFields, limit: Type.Optional(Limit) })
export type WorkerLogsQuery = Static<typeof WorkerLogsQuery>

/** The fields of a `read_logs` frame. */
export const readLogsFields = { id: Name, limit: Limit, ...logFilterFields }

const bodyFields = {
  /** When the process of the worker started. */
  started_at: Seconds,
  /** Oldest first. */
  entries: Type.Array(WorkerLogEntry, { maxItems: MAX_LOG_ENTRIES_PER_READ }),
  /** The `after` of the next read. */
  next: Sequence,
  /** Whether entries behind `next` were left out, because of `limit` or of the size of the response. */
  has_more: Type.Boolean(),
  /**
   * Entries behind `after` that the worker no longer has, of every level and task. null if they are not known, because
   * another process of the worker logged the entry `after`.
   */
  missed: Nullable(Type.Integer({ minimum: 0 })),
}
/** The log of a worker. */
export const WorkerLogsBody = Strict(bodyFields)
export type WorkerLogsBody = Static<typeof WorkerLogsBody>

/** The fields of a `logs` frame: `id` is that of the request. */
export const logsFields = { id: Name, ...bodyFields }
