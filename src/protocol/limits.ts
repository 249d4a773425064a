/**
 * @module protocol/limits
 * Defines every bound of the wire, once. Bytes are bytes of UTF-8; durations name their unit.
 */

/** The version that a worker sends in `register`; another one is closed with 4000. */
export const PROTOCOL_VERSION = 1
/** The path below which the routes of the API are. */
export const API_PREFIX = '/api/v1'

// Values a client chooses.
/** Greatest `slots` of a config. */
export const MAX_SLOTS = 1024
/** Greatest `max_attempts` of a config or task. */
export const MAX_ATTEMPTS = 1000
/** Greatest `n` and `limit` of a request (D9). */
export const MAX_N = 10_000
/** Longest name: worker and task ids, keys, pools, locks, topics (D56). */
export const MAX_NAME_CHARS = 256
/** Longest `ttl_seconds` of a task or a value: one year. */
export const MAX_TTL_SECONDS = 31_536_000
/** The longest delay of a task, and the longest pause of a queue that ends by time: one year. */
export const MAX_DELAY_SECONDS = 31_536_000
/** Longest `retain_seconds` of a task: one week (D110). */
export const MAX_RETAIN_SECONDS = 604_800
/** Longest `wait_seconds` of a request for the state of tasks (D111). */
export const MAX_WAIT_SECONDS = 30
/** Longest delay of a retry: one day. */
export const MAX_RETRY_IN_MS = 86_400_000
/** Greatest number of tasks in the groups of a type: in flight, per time and in a burst (D119). */
export const MAX_GROUP_TASKS = 10_000
/** Longest time that the rate of groups counts in: one day. */
export const MAX_GROUP_RATE_SECONDS = 86_400
/** Number of groups that the queue of a type shows at most. */
export const MAX_SHOWN_GROUPS = 50
/** Largest number of labels of a task (D113). */
export const MAX_LABELS_PER_TASK = 16
/** Longest value of a label, in characters. */
export const MAX_LABEL_CHARS = 256
/** Largest number of labels of a worker (D136). */
export const MAX_LABELS_PER_WORKER = 16
/** Longest key and longest value of a label of a worker, in characters. */
export const MAX_WORKER_LABEL_CHARS = 63
/** Longest `tracestate` of a task, in characters. */
export const MAX_TRACESTATE_CHARS = 512
/** Longest hold of a lock or a claim: 12 hours. */
export const MAX_HOLD_MS = 43_200_000
/** Shortest hold of a lock or a claim. */
export const MIN_HOLD_MS = 1_000
/** Longest `wait_ms` of `tasks.reserve`. */
export const MAX_WAIT_MS = 30_000
/** Length at which `last_error` is cut. */
export const MAX_ERROR_CHARS = 4_096
/** Failed attempts that are kept of a task: the newest. */
export const MAX_KEPT_ATTEMPTS = 5
/** Length at which the error of a failed attempt is cut. */
export const MAX_ATTEMPT_ERROR_CHARS = 256
/** Largest progress of a task, as JSON. */
export const MAX_PROGRESS_BYTES = 1_024
/** Largest stored config. */
export const MAX_CONFIG_BYTES = 262_144
/** Largest value of the key-value store. */
export const MAX_KV_VALUE_BYTES = 262_144
/** Largest message of `bus.publish`. */
export const MAX_BUS_MESSAGE_BYTES = 65_536
/** Largest result of a task; a larger one is omitted (D110). */
export const MAX_RESULT_BYTES = 65_536
/** Bus topics that one worker can follow at a time. */
export const MAX_BUS_TOPICS = 64
/** Longest `Muster-Actor` (D39). */
export const MAX_ACTOR_CHARS = 128
/** Longest `managed_by` of a claim (D51). */
export const MAX_MANAGED_BY_CHARS = 128

// What one parsed document may hold, so that checking it stays cheap.
/** Deepest nesting of objects and arrays. */
export const MAX_JSON_DEPTH = 64
/** Most keys of one object. */
export const MAX_JSON_KEYS = 10_000
/** Most values of one document, at any depth. */
export const MAX_JSON_VALUES = 100_000
/** Most faults that a 422 lists. */
export const MAX_FIELD_ERRORS = 100

// What one call or frame may hold.
/** Largest request body, unless `SVC_MAX_BODY_BYTES` sets another. */
export const MAX_BODY_BYTES = 1_048_576
/** Largest frame of the control channel, in all its fragments (D12, D74). */
export const MAX_FRAME_BYTES = 1_048_576
/** Most outputs of one `output_batch` frame (D37). */
export const MAX_OUTPUTS_PER_FRAME = 1_000
/** Most tasks of one batch submit, and ids of one selection of tasks (D38, D50, D109). */
export const MAX_TASKS_PER_BATCH = 1_000
/** Most items of one `tasks.ack`, `tasks.nack`, `tasks.extend` or `tasks.release`. */
export const MAX_SETTLE_ITEMS = 1_000
/** Most calls of one JSON-RPC batch. */
export const MAX_RPC_CALLS = 1_000
/** Greatest number of tasks that one reserve leases, whatever its `limit`. */
export const MAX_RESERVED_PER_CALL = 500
/** Greatest number of reserves of one worker id that wait at a master (D78). */
export const MAX_RESERVES_PER_WORKER = 64
/** Bytes of bodies after which one reserve leases no further task. */
export const MAX_RESERVE_BYTES = 12 * 1_048_576
/** Bytes after which the response of an inspection ends early (D56). */
export const MAX_RESPONSE_BYTES = 32 * 1_048_576
/** `SVC_MAX_OUTCOMES`, if it is not set: number of retained outcomes of one automation type (D110). */
export const DEFAULT_MAX_OUTCOMES = 100_000
/** Bytes of the retained outcomes of one automation type; the one nearest to its expiry is evicted first (D110). */
export const MAX_OUTCOME_BYTES = 64 * 1_048_576
/** Tasks that wait at one master for their end, in long polls of clients (D111). */
export const MAX_WAITING_TASKS = 20_000
/** Greatest number of requests for `/me` that wait at one master because of `Prefer: wait` (D218). */
export const MAX_WAITING_PROBES = 200
/**
 * What one step of the store reads for an inspection: a larger response is read in pieces, so that other calls run in
 * between (D82).
 */
export const RESPONSE_PIECE_BYTES = 1_048_576
/**
 * Inspections that run and wait at a time, and the bytes that they read and hold, in one master: per token and in all
 * (D82).
 */
export const INSPECTIONS = {
  runningPerToken: 2,
  running: 4,
  waitingPerToken: 16,
  waiting: 64,
  bytesPerToken: 64 * 1_048_576,
  bytes: 128 * 1_048_576,
  bytesPerSecondPerToken: 8 * 1_048_576,
  bytesPerSecond: 16 * 1_048_576,
  burstBytesPerToken: 8 * 1_048_576,
  burstBytes: 16 * 1_048_576,
} as const
/** Largest head of a request. */
export const MAX_HEADER_BYTES = 16_384
/** Most headers of a request. */
export const MAX_HEADERS = 100
/** Longest target of a request. */
export const MAX_URL_BYTES = 8_192

// Capacity of the HTTP server (D71).
/** Requests of one connection whose response is not complete. */
export const MAX_REQUESTS_PER_SOCKET = 32
/** Requests to routes without a token, probes excepted, whose response is not complete. */
export const MAX_OPEN_REQUESTS = 4_000
/** Requests with a token that are in work at a time. */
export const MAX_REQUESTS_IN_WORK = 2_000
/** Slowest arrival of a body after {@link BODY_GRACE_MS}. */
export const MIN_BODY_BYTES_PER_SECOND = 240
/** How long a body may arrive more slowly than {@link MIN_BODY_BYTES_PER_SECOND}. */
export const BODY_GRACE_MS = 5_000
/** Dry runs of one token in a second (D49). */
export const MAX_DRY_RUNS_PER_SECOND = 50
/** Bus streams of one master. */
export const MAX_BUS_STREAMS = 10_000
/** A worker opens one stream for each topic; those of a lost connection may still be counted when it comes back. */
export const MAX_BUS_STREAMS_PER_WORKER = 2 * MAX_BUS_TOPICS
/** Sockets that were accepted only to send a close code (D70). */
export const MAX_REFUSED_SOCKETS = 100
/** `SVC_MAX_SOCKETS`, if it is not set: control sockets of one master. Each costs about 10 KiB. */
export const DEFAULT_MAX_SOCKETS = 50_000
/** Number of these sockets whose register is not stored yet (D101). */
export const MAX_UNREGISTERED = 256
/** Number of handshakes that wait until the master admits them (D101). */
export const MAX_WAITING_HANDSHAKES = 20_000
/** How long a handshake waits at most. Shorter than the 15 s that a worker waits for the upgrade (D101). */
export const HANDSHAKE_WAIT_MS = 10_000

/** Tasks that one page of a list has, if `limit` is omitted; the most that it may have and examine (D116). */
export const TASK_PAGE = { limit: 100, maxLimit: 1_000, maxExamined: 5_000 } as const
/** The `n` or `limit` of an inspection that names none (D9). */
export const DEFAULT_N = { stream: 10, queue: 20, dead: 50, pool: 20, stats: 240, logs: 200 } as const

/** The maximum number of claims in one list of a pool (D186). */
export const MAX_CLAIMS_LISTED = 1_000

// Streams, statistics, history.
/** Most entries of one output stream. */
export const STREAM_MAX_ENTRIES = 50_000
/** Age at which an entry of an output stream is dropped. */
export const STREAM_MAX_AGE_MS = 3_600_000
/** Size of one output stream beyond which its oldest entries are dropped (D83). */
export const STREAM_MAX_BYTES = 268_435_456
/** Size of all output streams together beyond which the oldest entries are dropped (D83). */
export const ALL_STREAMS_MAX_BYTES = 1_073_741_824
/** Share of the store that outputs and values may not use: it is kept for tasks (D83). */
export const TASKS_RESERVE = 0.1
/** Stats frames that the history of one worker keeps. */
export const STATS_FRAMES = 240
/** A larger frame is kept in the history without `per_slot`, then without `metrics` (D84). */
export const MAX_RING_FRAME_BYTES = 131_072
/** Changes that the history of one config keeps (D39). */
export const CONFIG_HISTORY_ROWS = 50
/** Samples that the statistics of one queue return: the last hour (D48). */
export const QUEUE_SAMPLES = 240

// The history of queues (D166).
/** One resolution in which the history is kept. */
export interface HistoryResolution {
  readonly stepMs: number
  /** Number of steps that are kept, the current one included. */
  readonly steps: number
}
/** The resolutions, finest first: 15 s for 2 hours, 1 min for 2 days, 15 min for 30 days. */
export const HISTORY_RESOLUTIONS: readonly [HistoryResolution, HistoryResolution, HistoryResolution] = [
  { stepMs: 15_000, steps: 480 },
  { stepMs: 60_000, steps: 2_880 },
  { stepMs: 900_000, steps: 2_880 },
]
/** Greatest number of steps of the history of one type in a response. */
export const MAX_HISTORY_STEPS = 1_000
/** Greatest number of steps of each type in a response with all types. */
export const MAX_FLEET_HISTORY_STEPS = 250
/** The longest range of a history that is given by its length, in seconds. */
export const MAX_HISTORY_SECONDS = 2_592_000
/** The longest step of a history, in seconds. */
export const MAX_HISTORY_STEP_SECONDS = 86_400

// Bulk changes of configs (D132).
/** Greatest number of workers in one bulk change. */
export const MAX_BULK_WORKERS = 1_000
/** Number of workers that one step of the store changes. The step blocks other calls of the store. */
export const BULK_STEP_WORKERS = 200
/** Number of the newest revisions of a type that are kept although no worker uses them. */
export const KEPT_REVISIONS = 32
/** Greatest number of revisions of a type, those in use included. */
export const MAX_REVISIONS = 256
/** Greatest number of enrolment rules of a type (D141). */
export const MAX_ENROLMENTS = 16
/** Greatest number of rollout reports of a type (D148). */
export const MAX_ROLLOUTS = 64
/** Greatest number of operations of a type, those that have ended included (D189). */
export const MAX_OPERATIONS = 32
/** Number of the newest ended operations of a type that are kept (D189). */
export const KEPT_OPERATIONS = 20
/** Greatest number of workers in one operation (D189). */
export const MAX_OPERATION_WORKERS = 10_000
/** Number of workers in one part of a stored operation. */
export const OPERATION_PART_WORKERS = 200
/** Greatest number of parts of an operation. */
export const MAX_OPERATION_PARTS = 64
/** Largest part, in characters. */
export const MAX_OPERATION_PART_CHARS = 1_048_576
/** Greatest number of failures that an operation lists; the export has all of them. */
export const MAX_OPERATION_FAILURES = 20
/** Largest rollout report, as JSON. */
export const MAX_ROLLOUT_BYTES = 16_384
/** Greatest number of patterns of worker ids in an enrolment rule. */
export const MAX_ID_PATTERNS = 16
/** Greatest number of counters of plugins that the tally of a revision keeps (D138). */
export const MAX_TALLY_COUNTERS = 64
/** Greatest number of JSON pointers in `keep`. */
export const MAX_KEPT_POINTERS = 64
/** Longest JSON pointer in `keep`, in characters. */
export const MAX_POINTER_CHARS = 256

// The load of a type (D139).
/** Interval of the samples of the load. */
export const LOAD_SAMPLE_EVERY_MS = 5_000
/** Number of these samples that a master keeps. */
export const LOAD_SAMPLES = 24
/** The time over which rates are measured. */
export const LOAD_WINDOW_MS = 60_000
/** A retry counts for the load if it is due within this time. */
export const LOAD_DUE_WITHIN_MS = 30_000
/** `target_wait_seconds` and `SVC_LOAD_TARGET_WAIT_SECONDS`, if they are not set. */
export const DEFAULT_TARGET_WAIT_SECONDS = 30
/** Longest `target_wait_seconds`: one day. */
export const MAX_TARGET_WAIT_SECONDS = 86_400
/** Greatest number of scheduled tasks that are counted as due. */
export const MAX_COUNTED_DUE = 10_000

// Tasks (D25, D26, D54).
/** Visibility timeout of an automation that declares none. */
export const VISIBILITY_MS = 60_000
/** Shortest visibility timeout. */
export const MIN_VISIBILITY_MS = 1_000
/** Longest visibility timeout: 12 hours. */
export const MAX_VISIBILITY_MS = 43_200_000
/** Backoff of an automation that declares none. */
export const RETRY = { baseMs: 1_000, factor: 2, capMs: 300_000 } as const
/** `max_attempts` of a new config. */
export const DEFAULT_MAX_ATTEMPTS = 3
/** `SVC_MAX_LOST_LEASES`, if it is not set. */
export const DEFAULT_MAX_LOST_LEASES = 10
/** `SVC_MAX_QUEUE_LENGTH`, if it is not set. */
export const DEFAULT_MAX_QUEUE_LENGTH = 5_000_000
/** `SVC_IDEMPOTENCY_TTL_SECONDS`, if it is not set: one day. */
export const DEFAULT_IDEMPOTENCY_TTL_SECONDS = 86_400
/** Interval at which a master takes back tasks whose lease has expired. */
export const SWEEP_EVERY_MS = 10_000

// The audit log (D235).
/** Entries that the audit log keeps. */
export const AUDIT_LOG_LENGTH = 10_000
/** Characters of one entry. */
export const MAX_AUDIT_CHARS = 4_096
/** The number of entries that one call appends or lists, at most. */
export const MAX_AUDIT_PAGE = 500

// The event stream (D31, D51).
/** Most events that the event log keeps (D84). */
export const EVENT_LOG_LENGTH = 10_000
/** Size beyond which the event log drops its oldest events (D84). */
export const EVENT_LOG_BYTES = 16_777_216
/** Event streams of one master. */
export const MAX_EVENT_STREAMS = 1_000
/** Number of events that an event stream may be behind before it gets `reset`. */
export const MAX_EVENTS_BEHIND = 1_000
/** Interval of the comment that keeps an event stream open. */
export const EVENT_COMMENT_MS = 15_000

// Worker and control channel.
/** Interval at which a worker polls its config. */
export const CONFIG_POLL_MS = 30_000
/** Interval of the `state` and `stats` frames. */
export const STATE_EVERY_MS = 15_000
/** Delay before the first reconnect of a worker; it doubles with every failure. */
export const RECONNECT_BASE_MS = 1_000
/** Longest delay between reconnects of a worker. */
export const RECONNECT_CAP_MS = 30_000
/** Time within which a new connection has to send `register` (D12). */
export const REGISTER_WITHIN_MS = 10_000
/** Interval at which the master pings a worker (D12). */
export const PING_EVERY_MS = 20_000
/** Silence after which a worker gives up its connection. */
export const WORKER_SILENCE_MS = 45_000
/** Frames that a disconnected worker buffers; the oldest are dropped beyond it. */
export const WORKER_BUFFER_FRAMES = 1_024
/** Bytes that a disconnected worker buffers; the oldest frames are dropped beyond it. */
export const WORKER_BUFFER_BYTES = 16_777_216
// The log of a worker (D181).
/** Log entries that a worker keeps in memory: the newest. */
export const LOG_RING_ENTRIES = 5_000
/** Bytes of these entries, as JSON. */
export const LOG_RING_BYTES = 1_048_576
/** Largest of these entries; a larger one loses its fields and the end of its message. */
export const MAX_LOG_ENTRY_BYTES = 16_384
/** Greatest number of log entries in a response. */
export const MAX_LOG_ENTRIES_PER_READ = 1_000
/** Bytes of log entries after which a response ends early. Below 2 bytes for each of {@link MAX_JSON_VALUES}. */
export const MAX_LOG_READ_BYTES = 196_608
/** Time within which a worker has to respond to `read_logs`. */
export const LOG_READ_WITHIN_MS = 5_000
/** Reads of logs that wait for workers, in one master and of one worker. */
export const LOG_READS = { waiting: 32, waitingPerWorker: 4 } as const

/** Metrics of plugins that one worker keeps. */
export const MAX_METRIC_NAMES = 500
