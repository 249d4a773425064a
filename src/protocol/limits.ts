/**
 * @module protocol/limits
 * Every bound of the wire, once. Bytes are bytes of UTF-8; durations name their unit.
 */

export const PROTOCOL_VERSION = 1
export const API_PREFIX = '/api/v1'

// Values a client chooses.
export const MAX_SLOTS = 1024
export const MAX_ATTEMPTS = 1000
export const MAX_N = 10_000
export const MAX_NAME_CHARS = 256
export const MAX_TTL_SECONDS = 31_536_000
export const MAX_RETRY_IN_MS = 86_400_000
export const MAX_HOLD_MS = 43_200_000
export const MIN_HOLD_MS = 1_000
export const MAX_WAIT_MS = 30_000
export const MAX_ERROR_CHARS = 4_096
export const MAX_CONFIG_BYTES = 262_144
export const MAX_KV_VALUE_BYTES = 262_144
export const MAX_BUS_MESSAGE_BYTES = 65_536
export const MAX_BUS_TOPICS = 64
export const MAX_ACTOR_CHARS = 128
export const MAX_MANAGED_BY_CHARS = 128

// What one parsed document may hold, so that checking it stays cheap.
export const MAX_JSON_DEPTH = 64
export const MAX_JSON_KEYS = 10_000
export const MAX_JSON_VALUES = 100_000
export const MAX_FIELD_ERRORS = 100

// What one call or frame may hold.
export const MAX_BODY_BYTES = 1_048_576
export const MAX_FRAME_BYTES = 1_048_576
export const MAX_OUTPUTS_PER_FRAME = 1_000
export const MAX_TASKS_PER_BATCH = 1_000
export const MAX_SETTLE_ITEMS = 1_000
export const MAX_RPC_CALLS = 1_000
export const MAX_RESERVED_PER_CALL = 500
export const MAX_RESERVES_PER_WORKER = 64
export const MAX_RESERVE_BYTES = 12 * 1_048_576
export const MAX_ANSWER_BYTES = 32 * 1_048_576
/**
 * What one step of the store reads for an inspection: a larger response is read in pieces, so that other calls run in
 * between (D82).
 */
export const ANSWER_PIECE_BYTES = 1_048_576
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
export const MAX_HEADER_BYTES = 16_384
export const MAX_HEADERS = 100
export const MAX_URL_BYTES = 8_192

// Capacity of the HTTP server.
/** Requests of one connection whose response is not complete. */
export const MAX_REQUESTS_PER_SOCKET = 32
/** Requests to routes without a token, probes excepted, whose response is not complete. */
export const MAX_OPEN_REQUESTS = 4_000
export const MAX_REQUESTS_IN_WORK = 2_000
/** A body may be slower than this for so long. */
export const MIN_BODY_BYTES_PER_SECOND = 240
export const BODY_GRACE_MS = 5_000
export const MAX_DRY_RUNS_PER_SECOND = 50
export const MAX_BUS_STREAMS = 10_000
/** A worker opens one stream for each topic; those of a lost connection may still be counted when it comes back. */
export const MAX_BUS_STREAMS_PER_WORKER = 2 * MAX_BUS_TOPICS
/** Sockets that were accepted only to send a close code. */
export const MAX_REFUSED_SOCKETS = 100

// Defaults of `n` when it is left out (D9).
export const DEFAULT_N = { stream: 10, queue: 20, dead: 50, pool: 20, stats: 240 } as const

// Streams, statistics, history.
export const STREAM_MAX_ENTRIES = 50_000
export const STREAM_MAX_AGE_MS = 3_600_000
/** Of one stream, and of all streams together; the oldest entries are dropped beyond them (D83). */
export const STREAM_MAX_BYTES = 256 * 1_048_576
export const ALL_STREAMS_MAX_BYTES = 1_024 * 1_048_576
/** Share of the store that outputs and values may not use: it is kept for tasks (D83). */
export const TASKS_RESERVE = 0.1
export const STATS_FRAMES = 240
/** A larger frame is kept in the history without `per_slot`, then without `metrics` (D84). */
export const MAX_RING_FRAME_BYTES = 131_072
export const CONFIG_HISTORY_ROWS = 50
export const QUEUE_SAMPLES = 240
export const QUEUE_SAMPLE_EVERY_MS = 15_000

// Tasks (D25, D26, D54).
export const VISIBILITY_MS = 60_000
export const MIN_VISIBILITY_MS = 1_000
export const MAX_VISIBILITY_MS = 43_200_000
export const RETRY = { baseMs: 1_000, factor: 2, capMs: 300_000 } as const
export const DEFAULT_MAX_ATTEMPTS = 3
export const DEFAULT_MAX_LOST_LEASES = 10
export const DEFAULT_MAX_QUEUE_LENGTH = 5_000_000
export const DEFAULT_IDEMPOTENCY_TTL_SECONDS = 86_400
export const SWEEP_EVERY_MS = 10_000

// The event stream (D31, D51).
export const EVENT_LOG_LENGTH = 10_000
export const EVENT_LOG_BYTES = 16 * 1_048_576
export const MAX_EVENT_STREAMS = 1_000
export const MAX_EVENTS_BEHIND = 1_000
export const EVENT_COMMENT_MS = 15_000

// Worker and control channel.
export const CONFIG_POLL_MS = 30_000
export const STATE_EVERY_MS = 15_000
export const RECONNECT_BASE_MS = 1_000
export const RECONNECT_CAP_MS = 30_000
export const REGISTER_WITHIN_MS = 10_000
export const PING_EVERY_MS = 20_000
export const WORKER_SILENCE_MS = 45_000
export const WORKER_BUFFER_FRAMES = 1_024
export const WORKER_BUFFER_BYTES = 16 * 1_048_576
export const MAX_METRIC_NAMES = 500
