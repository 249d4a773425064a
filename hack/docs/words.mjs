// What the tables say beside what the code says by itself. A code without a sentence here stops update-docs.mjs.

export const ERROR_WORDS = {
  BAD_REQUEST:
    'The body is no JSON object, the path is not well encoded, or tasks were sent to an automation that takes none.',
  UNAUTHENTICATED: 'The `Authorization` header is missing, malformed or there twice.',
  FORBIDDEN: 'The token is not known, or not good for this path or this automation type.',
  NOT_FOUND: 'There is no such path, automation type, worker, task or pool.',
  METHOD_NOT_ALLOWED: 'The path takes other methods; they stand in `Allow`.',
  TIMED_OUT: 'The request took longer than 30 s to arrive or to be dealt with.',
  STALE_GENERATION: '`If-Match` names a config that is not the current one. Read again, then decide.',
  TOO_LARGE: 'The body is above `SVC_MAX_BODY_BYTES`.',
  UNSUPPORTED_MEDIA_TYPE: 'The body is not UTF-8 `application/json`, or is compressed.',
  INVALID: 'A field is wrong; `detail` lists every one.',
  RATE_LIMITED: 'The token submits faster than `SVC_SUBMIT_RPS_PER_TOKEN`. See `Retry-After`.',
  OVERLOADED: 'The master has too much in work.',
  QUEUE_FULL: 'The automation holds `SVC_MAX_QUEUE_LENGTH` tasks, dead ones included.',
  STORAGE_UNAVAILABLE: 'The store does not answer. `detail` says when the change may have been made all the same.',
  STORAGE_OVERLOADED: 'Too many calls wait for the store.',
  STORAGE_FULL: 'The store may not grow: disk or memory bound.',
  STORAGE_NOT_OPEN: 'The master is starting or stopping.',
  STORAGE_CORRUPT: 'The store is damaged. At start: exit 1.',
  STORAGE_LOCKED: 'Another master uses the file. At start: exit 1.',
  STORAGE_SCHEMA: 'A newer Muster wrote the file. At start: exit 1.',
}

export const CLOSE_WORDS = {
  GOING_AWAY: ['The master stops.', 'comes back with backoff'],
  INVALID_FRAME: [
    'A frame was not JSON, or had a wrong or unknown field, which the reason names.',
    'comes back with backoff',
  ],
  POLICY: [
    'Not registered within 10 s; type or id differ from the path; unknown type of frame or automation; replaced by a newer connection.',
    'comes back with backoff',
  ],
  TOO_BIG: ['A frame above 1 MiB.', 'comes back with backoff'],
  INTERNAL_ERROR: [
    'The master could not handle a frame, for a reason of its own that its log names.',
    'comes back with backoff',
  ],
  TRY_AGAIN_LATER: ['The store is away: the worker could not be registered.', 'comes back with backoff'],
  PROTOCOL_VERSION: ['Another protocol version in `register`.', 'ends, exit 1'],
  INVALID_TOKEN: ['The worker token is wrong, or was revoked.', 'comes back with backoff, token read anew'],
}

export const RPC_ERROR_WORDS = {
  parse_error: 'Reserved by JSON-RPC. A body that is not JSON gets HTTP 400 here.',
  invalid_request: 'The call is no JSON-RPC 2.0 request, or the batch holds none or too many.',
  method_not_found: 'There is no such method.',
  invalid_params: 'A parameter is wrong; `data.errors` lists every one.',
  lease_lost: 'The token is not the newest one: the lock or item has another holder.',
  unknown_worker: 'The worker of the path is not registered.',
  unavailable:
    'The master could not do it: the store is away or full, or a bound of the namespace or pool is reached. Try again after `data.retry_after_ms`.',
  unknown_pool: 'The automation of the path declares no such pool.',
  out_of_range: 'The counter would leave the safe integers; it is unchanged.',
}

export const RPC_WORDS = {
  'tasks.reserve': 'Takes tasks. Waits up to `wait_ms` for the first; at most 500 come back.',
  'tasks.ack': 'Done. Repeating an ack that succeeded is a success.',
  'tasks.release': 'Gives tasks back, attempt unchanged.',
  'tasks.extend': 'Begins the visibility timeout anew.',
  'tasks.nack': 'Failed: scheduled again, or dead.',
  'kv.get': 'null: absent.',
  'kv.set': 'With `ttl_ms`: forgotten then.',
  'kv.delete': '',
  'lock.acquire': 'Takes the lock where it is free.',
  'lock.extend': '',
  'lock.release': '',
  'counter.add': '',
  'counter.get': '0 where nobody added.',
  'pool.put': 'Adds or replaces items.',
  'pool.claim': 'Exclusive use of free items, longest unused first.',
  'pool.extend': '',
  'pool.release': '',
  'pool.remove': 'A claimed item needs its token.',
  'bus.publish': 'Reaches whoever listens now, through any master. Does nothing where the store has no bus.',
}

export const FRAME_WORDS = {
  register: 'First, within 10 s. Creates or refreshes the record.',
  state: 'At each change and every 15 s.',
  stats: 'Every 15 s. Becomes `current_stats` and part of the history.',
  output: 'Whenever a slot emits.',
  output_batch: 'Several outputs in one frame, each as an `output` frame.',
  ping: 'Answered with a `ping` of the same `id`.',
  config_changed: 'After each config PATCH. A notification: the worker polls its config.',
  drain: 'Finish what runs and end.',
  task_assign: 'Reserved, never sent.',
}

export const EVENT_WORDS = {
  'worker.registered': 'A worker is there for the first time, or again after it was forgotten.',
  'worker.connected':
    'It holds a control channel. `state` and `draining` where this process ends the drain of an earlier one.',
  'worker.disconnected': 'It has none: it hung up, was silent too long, or its master is gone.',
  'worker.state': 'Another state or `last_error`.',
  'worker.config_changed': 'A PATCH; without `changed`, the generation was raised above that of the worker.',
  'worker.config_applied': 'The worker runs this generation.',
  'worker.draining': 'A drain was asked for.',
  'worker.forgotten': 'The record is gone.',
  'worker.claimed': 'Somebody else manages the config; null: nobody.',
  'queue.totals': 'Tasks came, moved or went. At most once a second and type.',
  reset: 'What happened before is not known here: read everything anew.',
}

export const FIELD_WORDS = {
  user_agent: 'The `user-agent` header.',
  authorization: 'Secret: never shown again.',
  allow_ports: 'Ports that may be connected to.',
  targets: 'What is probed.',
  interval_seconds: 'Begin of a round to begin of the next.',
  timeout_seconds: 'For one whole exchange, redirects included.',
  concurrency: 'Probes at a time in one slot.',
  max_response_bytes: 'Bytes of the answer that are kept; the rest is cut off and not read.',
}

export const TARGET_WORDS = {
  name: 'Stands in the outputs.',
  url: '',
  method: 'Without it GET.',
  expect_status: '',
  expect_text: 'Searched in the first 64 KiB.',
}

export const PAYLOAD_WORDS = {
  url: 'http or https.',
  method: 'Without it GET.',
  headers: 'Lower-case names.',
  body: '',
  timeout_seconds: 'May only shorten that of the config.',
  expect_status: '',
}

export const PROBE_OUTPUT_WORDS = {
  target: 'Name of the target.',
  url: 'Without query, fragment and user.',
  ok: 'The status fits, and the text was found.',
  status: 'null: no answer.',
  error: 'null where `ok`.',
  address: 'Where the answer came from.',
  total_ms: '',
  first_byte_ms: 'Until the headers of the answer.',
  bytes: 'Of the body, as far as it was read.',
}

export const REQUEST_OUTPUT_WORDS = {
  task_id: '',
  attempt: 'Failed runs before this one.',
  status: '',
  url: 'Where the answer came from, without query.',
  address: '',
  content_type: '',
  body: '',
  body_encoding: '`base64` where the body is not UTF-8.',
  truncated: 'There was more than `max_response_bytes`.',
  bytes: 'Of `body`, before any encoding.',
  total_ms: '',
}

/** By condition and reason. Ready has those of the four others, and five that stand on the page. */
export const REASON_WORDS = {
  'Synced.InSync': 'The config at the master is what this object says.',
  'Synced.DriftTolerated':
    'It was, and somebody changed it since; `Warn` lets them. `status.drift` says where and who.',
  'Synced.Updating': 'A change is on its way to the master. It ends by itself.',
  'Synced.WorkerNotRegistered': 'No worker of this id has registered. Is its process running, with this type and id?',
  'Synced.RegistrationTimeout': 'The same, for `registrationTimeoutSeconds`. It still counts when the worker comes.',
  'Synced.UnknownType': 'The master has no such automation. `muster automations ls` lists those it has.',
  'Synced.ConfigInvalid':
    'A bound is passed, a source is no JSON, or a field is named twice; the message says which. Mend the object.',
  'Synced.Rejected':
    'The master refuses the config; the message names the fields. Mend the object, or the Secret or ConfigMap it names.',
  'Synced.SourceNotFound':
    'A Secret, a ConfigMap or a key in one is missing. Create it; it is looked for again every few seconds. The worker keeps the config it has.',
  'Synced.SourceForbidden': 'The operator may not read it: the rights of this namespace leave it out.',
  'Synced.SecretNotWriteOnly':
    'A Secret feeds a field that every read of the config would show. Use a field whose schema is `writeOnly`.',
  'Synced.Forbidden': "The operator's token does not cover this automation.",
  'Synced.OwnershipConflict':
    'An older FleetWorker, or something outside of this cluster, manages this worker. Delete one of the two, or release the claim.',
  'Synced.ContestedField':
    'Somebody else changes a field back over and over. It is put back every 5 minutes only; find them by `status.drift.by`.',
  'Synced.Pending': 'Not looked at yet.',
  'Synced.Suspended': '`suspend` is set: nothing is written to the master.',
  'Synced.ObserveOnly': '`managementPolicy` is `Observe`: nothing is written to the master.',
  'Synced.MasterUnreachable': 'This spec waits for the master, which has not answered for a minute.',
  'Online.Connected': 'The worker has its control channel open.',
  'Online.RecentlySeen': 'It has not, and was seen within 45 s.',
  'Online.Offline': 'The worker is not there. Look after its process.',
  'Online.Drained': 'It has ended, as `drain` asked.',
  'Online.WorkerNotRegistered': 'The master does not know it.',
  'Online.MasterUnreachable': 'Only the master could say.',
  'Online.Pending': 'The master was not asked yet.',
  'Applied.Acknowledged': 'The worker runs the config that the master has.',
  'Applied.WaitingForWorker': 'It was told, and has not said so yet.',
  'Applied.AckTimeout':
    'It is connected and has not said so for two minutes. Its log says what it makes of the config.',
  'Applied.GenerationBehind':
    'The worker is ahead of the master, whose store went back. It ends with the next poll of the worker.',
  'Applied.NotReported': 'The worker has not said yet which config it runs.',
  'Applied.Pending': 'The master was not asked yet.',
  'Healthy.WorkerHealthy': 'The worker reports no error.',
  'Healthy.Draining': 'It finishes its work and ends.',
  'Healthy.WorkerError': 'Its state is `ERROR`; the message is its last error.',
  'Healthy.Offline': 'It is not there to ask.',
  'Healthy.MasterUnreachable': 'Only the master could say.',
  'Healthy.Pending': 'Nothing is known of it yet.',
}
