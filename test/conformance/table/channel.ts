/** Tokens, the control channel with its frames, the bus, errors, limits and versions. */
import { by, type Row } from './row.ts'

const rotation = by(
  'e2e/rotation.test.ts',
  'loses no task and rejects no worker in the three steps of the specification',
)

export const CHANNEL: readonly Row[] = [
  // Tokens
  ['auth/admin-token', 'The admin token may use everything except worker routes.'],
  ['auth/worker-token', 'A worker token may poll and connect, and nothing else.'],
  ['auth/peer-set', 'Further worker tokens are accepted in addition to the first.'],
  [
    'auth/peer-set-forms',
    'The set is a comma-separated string or a JSON list.',
    by('master/auth/token-settings.test.ts', 'reads every form of token setting'),
  ],
  ['auth/scoped-token', 'A scoped token may use the routes of its types; `*` is all of them.'],
  ['auth/shared', '1: tokens belong to the fleet, not to a worker.'],
  [
    'auth/generated',
    '2: missing tokens are generated at start and printed.',
    by('e2e/master.test.ts', 'generates missing tokens, prints them once and accepts them (D21)'),
  ],
  ['auth/401', '3: a missing or malformed header is 401.'],
  ['auth/403', '3: a wrong or unprivileged token is 403.'],
  [
    'auth/constant-time',
    '4: every candidate is compared, in constant time, by digest.',
    by('master/auth/authenticator.test.ts', 'compares every candidate in constant time, whichever token matches'),
  ],
  ['auth/ws-header', '5: the WebSocket accepts the token in the header.'],
  ['auth/ws-query', '5: or in the query.'],
  [
    'auth/ws-encoding',
    '5: a token that needs URL-encoding causes a warning.',
    by(
      'master/auth/token-settings.test.ts',
      'warns about short tokens and tokens that need URL encoding, without showing them',
    ),
  ],
  ['auth/crossed', '6: admin on worker routes and the reverse are 403.'],

  // Endpoint matrix
  ['auth/row-healthz', '/healthz needs no token.'],
  ['auth/row-metrics', '/metrics needs no token.'],
  ['auth/row-page', '/ is served without a token, its data only with one (D20).'],
  ['auth/row-admin', 'Automations, catalog and pools are for admin.'],
  ['auth/row-workers', 'Worker reads are for admin and covering tokens.'],
  ['auth/row-config-output', 'PATCH config and output are for admin and covering tokens (D19).'],
  ['auth/row-tasks', 'Tasks, dead letters, drain and forget are for admin and covering tokens.'],
  ['auth/row-poll', 'The poll is for workers.'],
  ['auth/row-ws', 'The control channel is for workers.'],

  // Rate limit, rotation
  ['auth/rate-limit', 'Submits are limited per token.'],
  ['auth/rate-unlimited', 'By default there is no limit.'],
  [
    'auth/rotate-admin',
    'The admin token is set at start.',
    by('e2e/master.test.ts', 'generates missing tokens, prints them once and accepts them (D21)'),
  ],
  ['auth/rotate-1', 'Rotation 1: old and new worker token are accepted.', rotation],
  ['auth/rotate-2', 'Rotation 2: workers move one at a time.', rotation],
  ['auth/rotate-3', 'Rotation 3: the old token stops working.', rotation],

  // Control channel
  ['channel/json-object', '1: every frame is a JSON object.'],
  ['channel/type-selects', '1: its `type` selects the schema.'],
  ['channel/strict', '2: unknown fields are rejected.'],
  ['channel/4000', '3: another protocol version is closed with 4000.'],
  [
    'channel/4000-no-retry',
    '3: the worker does not reconnect then.',
    by('worker/control-channel.test.ts', 'stops permanently after close code 4000'),
  ],
  ['channel/4401', '4: a wrong token is closed with 4401.'],
  [
    'channel/4401-retry',
    '4: the worker logs it and tries again.',
    by('worker/control-channel.test.ts', 'reconnects after close code 4401 with the current token, and logs advice'),
  ],
  [
    'channel/403-handshake',
    '4: a handshake rejected with 403 means the same.',
    by('worker/control-channel.test.ts', 'treats a handshake rejected with 403 as an invalid token'),
  ],
  [
    'channel/other-codes',
    '5: after any other code the worker tries again with backoff.',
    by(
      'worker/control-channel.test.ts',
      'resets the delay to one second after 30 s of connection, and registers after each reconnect',
    ),
  ],
  [
    'channel/backoff',
    '6: backoff is 1, 2, 4 … 30 s.',
    by('worker/control-channel.test.ts', 'draws each delay from [d/2, d], d = 1, 2, 4'),
  ],
  [
    'channel/registers-again',
    '6: each connection begins with register.',
    by(
      'worker/control-channel.test.ts',
      'resets the delay to one second after 30 s of connection, and registers after each reconnect',
    ),
  ],
  [
    'channel/buffer',
    '7: at most 1024 frames wait while disconnected; the oldest are dropped.',
    by('worker/outbox.test.ts', 'drops the oldest frames above the maximum number of frames'),
  ],
  ['close/4000', '4000 is a protocol version mismatch.'],
  ['close/4401', '4401 is a wrong token.'],

  // Frames
  ['frame/register', 'register creates or updates the record.'],
  ['frame/state', 'state carries state, config_gen, ts and last_error.'],
  ['frame/stats', 'stats becomes the current frame and is added to the history.'],
  ['frame/output', 'output goes to the stream of the type.'],
  ['frame/ping', 'ping gets a reply.'],
  ['frame/config_changed', 'config_changed follows a PATCH and carries config_gen.'],
  ['frame/ping-reply', 'The reply carries the same id.'],
  ['frame/task_assign', 'task_assign is never sent.'],
  [
    'bus/topics',
    'Topics are `event:<topic>`; plugins use their own.',
    by(
      'master/rpc/bus.test.ts',
      'treats a topic with and without the prefix `event:` as the same, and returns the requested name',
    ),
  ],
  [
    'bus/emit',
    'event:<type>.emit is published for each output.',
    by('e2e/bus.test.ts', 'publishes every output once, in the order in which its slot emitted it (D23, G10)'),
  ],
  ['bus/no-persistence', 'A subscriber receives only messages published while it is subscribed.'],
  ['bus/no-op', 'Without Redis, publishing has no effect.'],

  // Errors
  ['error/detail', 'An error has the single field detail.'],
  ['error/400-not-batch', '400 is a submit to a type that is no batch automation.'],
  ['error/401', '401 is a missing or malformed header.'],
  ['error/403', '403 is a wrong or unprivileged token.'],
  ['error/404-type', '404 is an unknown type.'],
  ['error/404-worker', '404 is an unknown worker.'],
  ['error/422-config', '422 is a config that fails its schema.'],
  ['error/422-payload', '422 is a payload that fails its schema.'],
  ['error/429', '429 is beyond the rate limit.'],
  [
    'error/startup',
    'The master fails to start without an automation.',
    by('e2e/master.test.ts', 'exits with 2 without an automation and says how to install one (D35)'),
  ],

  // Limits
  ['limits/slots', 'slots: at most 1024.'],
  ['limits/stream-entries', 'Stream: 50,000 entries.'],
  ['limits/stream-age', 'Stream: 3600 s.'],
  ['limits/stats-history', 'Statistics: 240 frames.'],
  ['limits/stats-limit', 'Statistics: limit 240 by default.'],
  ['limits/n-peek', 'Peek: 10.'],
  ['limits/n-queue', 'Queue: 20.'],
  ['limits/n-dead', 'Dead letters: 50.'],
  ['limits/n-pool', 'Pools: 20.'],
  [
    'limits/poll',
    'Config poll: 30 s.',
    by('worker/config.test.ts', 'polls every 30 s with the ETag of the applied config, from a random phase'),
  ],
  [
    'limits/cadence',
    'State and statistics: 15 s.',
    by('worker/parts.test.ts', 'is sent after each change and every 15 s, with changes within 100 ms in one frame'),
    by('worker/worker.test.ts', 'sends stats every 15 s, including each slot'),
  ],
  [
    'limits/buffer',
    'Worker buffer: 1024 frames.',
    by('worker/outbox.test.ts', 'drops the oldest frames above the maximum number of frames'),
  ],
  ['limits/backoff', 'Reconnect backoff: at most 30 s.', by('worker/control-channel.test.ts', 'd = 1, 2, 4 … 30 s')],
  ['limits/sweep', 'Sweep: every 10 s.'],
  ['limits/idempotency', 'Idempotency window: 24 h by default.'],
  ['limits/submit-rate', 'Submit rate: by token, off by default, in memory.'],
  [
    'limits/one-master',
    'Only one master can use a file.',
    by(
      'storage/sqlite/crash.test.ts',
      'rejects a second process while the first one runs, and accepts it after a kill',
    ),
  ],
  [
    'limits/spawns-what-is-requested',
    'A worker starts the configured number of slots.',
    by('worker/slots.test.ts', 'runs as many slots as requested, and none when disabled'),
  ],

  // Versioning
  ['version/protocol', 'The protocol version is 1, sent in register.'],
  [
    'version/mismatch',
    'A frame of another version fails to decode.',
    by('protocol/frames.test.ts', 'distinguishes an unknown type, which has another close code'),
    by('worker/worker.test.ts', 'exits 1 without a retry when the master has another protocol version'),
  ],
]
