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
export const MAX_FRAGMENTS = 64
export const MAX_OUTPUTS_PER_FRAME = 1_000
export const MAX_TASKS_PER_BATCH = 1_000
export const MAX_SETTLE_ITEMS = 1_000
export const MAX_RPC_CALLS = 1_000
export const MAX_RESERVED_PER_CALL = 500
export const MAX_RESERVE_BYTES = 12 * 1_048_576
export const MAX_ANSWER_BYTES = 32 * 1_048_576
export const MAX_HEADER_BYTES = 16_384
export const MAX_HEADERS = 100
export const MAX_URL_BYTES = 8_192

// Defaults of `n` when it is left out (D9).
export const DEFAULT_N = { stream: 10, queue: 20, dead: 50, pool: 20, stats: 240 } as const

// Streams, statistics, history.
export const STREAM_MAX_ENTRIES = 50_000
export const STREAM_MAX_AGE_MS = 3_600_000
export const STATS_FRAMES = 240
export const MAX_RING_FRAME_BYTES = 262_144
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
