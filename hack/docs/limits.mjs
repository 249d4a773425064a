// Lists the limits that users can reach: the value, its setting, and what happens above it. The numbers come from
// src/protocol/limits.ts.

const count = (number) => number.toLocaleString('en-US')
const bytes = (number) => (number % 1_048_576 === 0 ? `${number / 1_048_576} MiB` : `${number / 1_024} KiB`)
const seconds = (ms) => (ms >= 3_600_000 ? `${ms / 3_600_000} h` : `${count(ms / 1_000)} s`)

/** Limits of HTTP requests. */
const requestRows = (l) => [
  ['request body', bytes(l.MAX_BODY_BYTES), '`SVC_MAX_BODY_BYTES`', '413'],
  ['URL; headers', `${bytes(l.MAX_URL_BYTES)}; ${bytes(l.MAX_HEADER_BYTES)}, ${l.MAX_HEADERS} of them`, '', '414; 431'],
  [
    'speed of a request body',
    `${l.MIN_BODY_BYTES_PER_SECOND} bytes a second after ${seconds(l.BODY_GRACE_MS)}`,
    '',
    '408',
  ],
  [
    'requests of a connection without a complete response',
    count(l.MAX_REQUESTS_PER_SOCKET),
    '',
    '503, and the connection ends',
  ],
  [
    'concurrent requests; of one token; reserved for admin and workers',
    `${count(l.MAX_REQUESTS_IN_WORK)}; a quarter; a tenth`,
    '',
    '503',
  ],
  ['concurrent requests without a token, except `/healthz` and `/readyz`', count(l.MAX_OPEN_REQUESTS), '', '503'],
  [
    'depth of a JSON document; keys of an object; values in total',
    [l.MAX_JSON_DEPTH, l.MAX_JSON_KEYS, l.MAX_JSON_VALUES].map(count).join('; '),
    '',
    '422',
  ],
  ['entries in the `detail` of a 422', count(l.MAX_FIELD_ERRORS), '', 'cut off'],
  ['`n`, `limit`', `1..${count(l.MAX_N)}`, '', '422'],
]

/** Limits of names, configs and tasks. */
const taskRows = (l) => [
  [
    'names of workers, tasks, keys, pools, locks, counters, topics',
    `1..${l.MAX_NAME_CHARS} characters`,
    '',
    '422, rpc error, 1008',
  ],
  ['`slots`; `max_attempts`', `0..${count(l.MAX_SLOTS)}; 1..${count(l.MAX_ATTEMPTS)}`, '', '422'],
  ['`ttl_seconds`', `1..${count(l.MAX_TTL_SECONDS)}`, '', '422'],
  ['config of a worker', bytes(l.MAX_CONFIG_BYTES), '', '422'],
  ['past configs kept of a worker', count(l.CONFIG_HISTORY_ROWS), '', 'oldest dropped'],
  [
    'tasks in a batch; ids in a `dead/select`, `tasks/select` or `tasks/await`',
    `1..${count(l.MAX_TASKS_PER_BATCH)}`,
    '',
    '422',
  ],
  ['`retain_seconds`; `wait_seconds`', `0..${count(l.MAX_RETAIN_SECONDS)}; 0..${l.MAX_WAIT_SECONDS}`, '', '422'],
  ['result of a task', bytes(l.MAX_RESULT_BYTES), '', 'left out; `result_omitted`'],
  [
    'retained outcomes of an automation; all of them',
    `${count(l.DEFAULT_MAX_OUTCOMES)}; ${bytes(l.MAX_OUTCOME_BYTES)}`,
    '`SVC_MAX_OUTCOMES`',
    'the one that expires first is removed',
  ],
  ['tasks that clients wait for at one master', count(l.MAX_WAITING_TASKS), '', '503'],
  [
    'labels of a task; value of one; `tracestate`',
    `${l.MAX_LABELS_PER_TASK}; ${l.MAX_LABEL_CHARS} characters; ${l.MAX_TRACESTATE_CHARS} characters`,
    '',
    '422',
  ],
  [
    'tasks of an automation, dead ones included',
    count(l.DEFAULT_MAX_QUEUE_LENGTH),
    '`SVC_MAX_QUEUE_LENGTH`',
    '503; no stored task is dropped',
  ],
  ['submissions a second and token', 'unlimited', '`SVC_SUBMIT_RPS_PER_TOKEN`', '429'],
  [
    'lifetime of an idempotency key',
    `${l.DEFAULT_IDEMPOTENCY_TTL_SECONDS / 3_600} h`,
    '`SVC_IDEMPOTENCY_TTL_SECONDS`',
    'forgotten',
  ],
  ['lost leases of a task', count(l.DEFAULT_MAX_LOST_LEASES), '`SVC_MAX_LOST_LEASES`', 'the task is dead'],
  [
    'visibility timeout',
    `${seconds(l.VISIBILITY_MS)}; ${seconds(l.MIN_VISIBILITY_MS)} to ${seconds(l.MAX_VISIBILITY_MS)}`,
    'the automation',
    'the task is pending again',
  ],
  [
    'backoff of a failed task',
    `${seconds(l.RETRY.baseMs)} × ${l.RETRY.factor}ⁿ, cap ${seconds(l.RETRY.capMs)}, full jitter`,
    'the automation',
    '',
  ],
  ['sweep of expired leases and due retries', `every ${seconds(l.SWEEP_EVERY_MS)}`, '', ''],
]

/** Limits of event, bus and output streams. */
const streamRows = (l) => [
  [
    'event log; events a stream may be behind; streams of a master',
    `${count(l.EVENT_LOG_LENGTH)}, ${bytes(l.EVENT_LOG_BYTES)}; ` +
      `${count(l.MAX_EVENTS_BEHIND)}; ${count(l.MAX_EVENT_STREAMS)}`,
    '',
    '`reset`; `reset`; 503',
  ],
  ['requests for `/me` that wait at one master', count(l.MAX_WAITING_PROBES), '', '503 with `Retry-After`'],
  ['event streams of one token; reserved for admin and workers', 'a quarter; a tenth', '', '503'],
  [
    'bus streams of a worker id; of a master',
    `${count(l.MAX_BUS_STREAMS_PER_WORKER)}; ${count(l.MAX_BUS_STREAMS)}`,
    '',
    '503',
  ],
  ['dry runs (`validate`) a second and token', count(l.MAX_DRY_RUNS_PER_SECOND), '', '429'],
  [
    'output stream',
    `${count(l.STREAM_MAX_ENTRIES)} entries, ${seconds(l.STREAM_MAX_AGE_MS)}, ${bytes(l.STREAM_MAX_BYTES)}; ` +
      `${bytes(l.ALL_STREAMS_MAX_BYTES)} in all streams`,
    '',
    'oldest dropped, at each push and every 10 s',
  ],
  [
    'outputs and key-value store',
    `all but ${100 * l.TASKS_RESERVE} % of the store, which are reserved for tasks`,
    '',
    'oldest outputs dropped; rpc error',
  ],
]

/** Limits of responses that list tasks and outputs. */
const inspectionRows = (l) => [
  [
    'response of queue, dead, peek, pop, tail',
    bytes(l.MAX_RESPONSE_BYTES),
    '',
    'ends early; pop removes only what it returns',
  ],
  [
    'inspections of a token: running; waiting; bytes a second',
    `${l.INSPECTIONS.runningPerToken}; ${l.INSPECTIONS.waitingPerToken}; ` +
      bytes(l.INSPECTIONS.bytesPerSecondPerToken),
    '',
    'waits; 503; waits',
  ],
  [
    'inspections of all tokens: running; waiting; bytes a second; bytes not yet sent',
    `${l.INSPECTIONS.running}; ${l.INSPECTIONS.waiting}; ` +
      `${bytes(l.INSPECTIONS.bytesPerSecond)}; ${bytes(l.INSPECTIONS.bytes)}`,
    '',
    'waits; 503; waits; waits',
  ],
]

/** Limits of statistics, and the control channel with its calls. */
const controlChannelRows = (l) => [
  [
    'stats history of a worker',
    `${l.STATS_FRAMES} frames, one every ${seconds(l.STATE_EVERY_MS)}; ${bytes(l.MAX_RING_FRAME_BYTES)} each`,
    '',
    'oldest dropped; a larger frame without `per_slot`, then without `metrics`',
  ],
  [
    'history of a queue: steps that are kept',
    l.HISTORY_RESOLUTIONS.map(({ stepMs, steps }) => `${count(steps)} of ${seconds(stepMs)}`).join('; '),
    '',
    'oldest dropped',
  ],
  [
    'steps of a history in a response; of each type, in one with all types',
    `${count(l.MAX_HISTORY_STEPS)}; ${count(l.MAX_FLEET_HISTORY_STEPS)}`,
    '',
    '422',
  ],
  ['frame of the control channel, in any number of fragments', bytes(l.MAX_FRAME_BYTES), '', '1009'],
  [
    'control sockets of a master; of these, not registered yet',
    `${count(l.DEFAULT_MAX_SOCKETS)}; ${count(l.MAX_UNREGISTERED)}`,
    '`SVC_MAX_SOCKETS`',
    '503; the next handshake waits',
  ],
  [
    'control handshakes that wait; how long',
    `${count(l.MAX_WAITING_HANDSHAKES)}; ${seconds(l.HANDSHAKE_WAIT_MS)}`,
    '',
    '503 with `Retry-After`',
  ],
  ['control sockets being closed for a wrong token, type or id', count(l.MAX_REFUSED_SOCKETS), '', '503'],
  ['outputs in a frame', count(l.MAX_OUTPUTS_PER_FRAME), '', '1007'],
  [
    '`tasks.reserve`: `wait_ms`; tasks in a response',
    `0..${count(l.MAX_WAIT_MS)}; ${l.MAX_RESERVED_PER_CALL}, about ${bytes(l.MAX_RESERVE_BYTES)}`,
    '',
    'rpc error; fewer tasks',
  ],
  [
    'reserves of one worker id that wait at one master',
    count(l.MAX_RESERVES_PER_WORKER),
    '',
    'the oldest ends empty if it has waited 5 s, else rpc error `unavailable`',
  ],
  [
    'items in a settle call; calls in a batch',
    `${count(l.MAX_SETTLE_ITEMS)}; ${count(l.MAX_RPC_CALLS)}`,
    '',
    'rpc error',
  ],
  ['error text of a nack', `${count(l.MAX_ERROR_CHARS)} characters`, '', 'cut off'],
  ['hold of a lock or claim', `${seconds(l.MIN_HOLD_MS)} to ${seconds(l.MAX_HOLD_MS)}`, '', 'rpc error'],
  ['value of the key-value store', bytes(l.MAX_KV_VALUE_BYTES), '', 'rpc error'],
]

/** Limits of the worker process. */
const workerRows = (l) => [
  [
    'frames that a worker holds while it is disconnected',
    `${count(l.WORKER_BUFFER_FRAMES)}, ${bytes(l.WORKER_BUFFER_BYTES)}`,
    '',
    'oldest outputs dropped and counted',
  ],
  [
    'log entries that a worker keeps; one of them',
    `${count(l.LOG_RING_ENTRIES)}, ${bytes(l.LOG_RING_BYTES)}; ${bytes(l.MAX_LOG_ENTRY_BYTES)}`,
    '',
    'oldest dropped; its texts or fields are cut',
  ],
  [
    'log entries in a response; reads of logs that wait in a master; of one worker',
    `${count(l.MAX_LOG_ENTRIES_PER_READ)}, ${bytes(l.MAX_LOG_READ_BYTES)}; ` +
      `${count(l.LOG_READS.waiting)}; ${count(l.LOG_READS.waitingPerWorker)}`,
    '',
    'ends early; 503',
  ],
  [
    'reconnect delay of a worker',
    `${seconds(l.RECONNECT_BASE_MS)}, doubled up to ${seconds(l.RECONNECT_CAP_MS)}`,
    '',
    '',
  ],
  ['metric names of a worker', count(l.MAX_METRIC_NAMES), '', 'dropped, logged once'],
]

/** @param l The exports of src/protocol/limits.ts. @returns one table row per limit. */
export const limitRows = (l) => [
  ...requestRows(l),
  ...taskRows(l),
  ...streamRows(l),
  ...inspectionRows(l),
  ...controlChannelRows(l),
  ...workerRows(l),
]
