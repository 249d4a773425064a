// Contains the sentences of the generated tables that are not in the code. update-docs.mjs fails for an entry without a
// sentence.

export const ERROR_WORDS = {
  BAD_REQUEST:
    'The body is not a JSON object, the path is not valid percent-encoding, or the automation does not take tasks.',
  UNAUTHENTICATED: 'The `Authorization` header is missing, malformed or sent twice.',
  FORBIDDEN: 'The token is unknown, or not valid for this path or automation type.',
  NOT_FOUND: 'There is no such path, automation type, worker, task or pool; or the worker cannot return its log.',
  METHOD_NOT_ALLOWED: 'The path supports other methods, which `Allow` lists.',
  TIMED_OUT: 'The request took longer than 30 s to arrive or to be processed, or a worker did not return its log.',
  CLAIMED: 'Another client manages the config of this worker. `?force=true` replaces its claim.',
  STALE_GENERATION: '`If-Match` is not the current config, or `Muster-Not-After` has passed. Read again, then decide.',
  TOO_LARGE: 'The body is above `SVC_MAX_BODY_BYTES`.',
  UNSUPPORTED_MEDIA_TYPE: 'The body is not UTF-8 `application/json`, or is compressed.',
  INVALID: 'A field is wrong; `detail` lists every one.',
  RATE_LIMITED: 'The token submits faster than `SVC_SUBMIT_RPS_PER_TOKEN`. See `Retry-After`.',
  UPGRADING: 'A live master of an older release does not know a field of the task, or the call. `detail` names both.',
  ISSUER_UNAVAILABLE: 'The identity provider does not respond.',
  OVERLOADED: 'The master is overloaded.',
  QUEUE_FULL: 'The automation has `SVC_MAX_QUEUE_LENGTH` tasks, dead ones included.',
  STORAGE_UNAVAILABLE: 'The store is unavailable. `detail` says whether the change may have been made.',
  STORAGE_OVERLOADED: 'Too many calls are waiting for the store.',
  STORAGE_FULL: 'The store is full: it reached its disk or memory limit.',
  STORAGE_NOT_OPEN: 'The master is starting or stopping.',
  STORAGE_CORRUPT: 'The store is damaged. At start: exit 1.',
  STORAGE_LOCKED: 'Another master uses the file. At start: exit 1.',
  STORAGE_SCHEMA: 'A newer release of Muster wrote the store. At start: exit 1.',
}

export const CLOSE_WORDS = {
  GOING_AWAY: ['The master is stopping.', 'reconnects with backoff'],
  INVALID_FRAME: [
    'A frame was not JSON, or had a wrong or unknown field. The reason names it.',
    'reconnects with backoff',
  ],
  POLICY: [
    'No `register` within 10 s; type or id differ from the path; ' +
      'unknown type of frame or automation; replaced by a newer connection.',
    'reconnects with backoff',
  ],
  TOO_BIG: ['A frame above 1 MiB.', 'reconnects with backoff'],
  INTERNAL_ERROR: ['The master failed to process a frame. Its log names the cause.', 'reconnects with backoff'],
  TRY_AGAIN_LATER: ['The store is unavailable, so the worker could not be registered.', 'reconnects with backoff'],
  PROTOCOL_VERSION: ['Another protocol version in `register`.', 'ends, exit 1'],
  WORKER_ENDED: ['Sent by the worker: its process ends in an orderly way.', 'ends'],
  INVALID_TOKEN: ['The worker token is wrong, or was revoked.', 'reconnects with backoff and the current token'],
}

export const RPC_ERROR_WORDS = {
  parse_error: 'Reserved by JSON-RPC. A body that is not JSON gets HTTP 400 here.',
  invalid_request: 'The call is not a JSON-RPC 2.0 request, or the batch is empty or too large.',
  method_not_found: 'There is no such method.',
  invalid_params: 'A parameter is wrong; `data.errors` lists every one.',
  lease_lost: 'The token is not the newest one: the lock or item has another holder.',
  unknown_worker: 'The worker of the path is not registered.',
  unavailable:
    'The store is unavailable or full, or a limit of the namespace or pool is reached. ' +
    'Retry after `data.retry_after_ms`.',
  unknown_pool: 'The automation of the path declares no such pool.',
  out_of_range: 'The result would exceed the safe integers. The counter is unchanged.',
}

export const RPC_WORDS = {
  'tasks.reserve':
    'Leases tasks. Waits up to `wait_ms` for the first one and returns at most 500. Concurrent ' +
    'calls of one worker all wait, and are all served while tasks are pending (G31); a call ends an earlier one only ' +
    'if both have the same `poll_id` (D78).',
  'tasks.ack': 'The task is done. Repeating a successful ack succeeds.',
  'tasks.release': 'Returns tasks to the queue, attempt unchanged.',
  'tasks.extend': 'Restarts the visibility timeout.',
  'tasks.nack': 'The run failed: the task is scheduled again, or dead.',
  'kv.get': 'null if the key does not exist.',
  'kv.set': 'With `ttl_ms`: expires after that time.',
  'kv.delete': '',
  'lock.acquire': 'Acquires the lock if it is free.',
  'lock.extend': '',
  'lock.release': '',
  'counter.add': 'A counter that becomes 0 is removed.',
  'counter.get': '0 if the counter does not exist.',
  'pool.put': 'Adds or replaces items.',
  'pool.claim': 'Claims free items, least recently used first.',
  'pool.extend': '',
  'pool.release': '',
  'pool.remove': 'A claimed item needs its token.',
  'bus.publish': 'Delivers the message to current subscribers at any master. Does nothing if the store has no bus.',
}

export const FRAME_WORDS = {
  register: 'Must be the first frame, within 10 s. Creates or updates the record.',
  state: 'At every change and every 15 s.',
  stats: 'Every 15 s. Becomes `current_stats` and part of the history.',
  output: 'Whenever a slot emits.',
  output_batch: 'Several outputs in one frame, each as an `output` frame.',
  logs: 'Within 5 s of a `read_logs` frame, with its `id`: the log entries that it selects (D181).',
  ping: 'Sent by the worker. The master replies with a `ping` of the same `id`, and sends none by itself.',
  config_changed: 'Sent after each config PATCH. The worker then polls its config.',
  drain: 'The worker finishes its running work and exits.',
  task_cancelled: 'A cancel has ended this lease (D117). Only for a worker that names `cancel` in `Muster-Features`.',
  read_logs: 'A client reads the log of the worker. Only for a worker that names `logs` in `Muster-Features` (D181).',
  task_assign: 'Reserved for future use; never sent.',
}

export const EVENT_WORDS = {
  'worker.registered': 'A worker registered for the first time, or again after it was forgotten.',
  'worker.connected':
    'Its control channel is open. Has `state` and `draining` if this process ended the drain of an earlier one, ' +
    'and its labels if it has some.',
  'worker.disconnected': 'Its control channel closed: it disconnected, was silent for too long, or its master ended.',
  'worker.state': 'Its state or `last_error` changed.',
  'worker.config_changed':
    'A PATCH changed the config. Without `changed`, only the generation was raised above that of the worker.',
  'worker.config_applied': 'The worker runs this generation.',
  'worker.draining': 'A drain was requested.',
  'worker.forgotten': 'The record was deleted.',
  'worker.claimed': 'Another client manages the config; null: none does.',
  'queue.totals': 'The counts of tasks changed, or a pause began or ended. At most once per second and type.',
  'queue.paused': 'The queue was paused, or its pause was replaced.',
  'queue.resumed': 'The queue was resumed by a call. A pause that ends by time has only a `queue.totals`.',
  'rollout.changed':
    'The report of a rollout has another revision, attempt, phase, stage or pause, or is the first one of its set; ' +
    'or it was removed: then `phase` is `Removed`.',
  reset: 'Earlier events are not available: read everything again.',
}

export const FIELD_WORDS = {
  user_agent: 'The `user-agent` header.',
  authorization: 'Secret: never shown after it was set.',
  allow_ports: 'Ports to which connections are allowed.',
  targets: 'Targets to probe.',
  interval_seconds: 'Time from the start of one round to the start of the next.',
  timeout_seconds: 'Timeout of a whole request, including redirects.',
  concurrency: 'Concurrent probes in one slot.',
  max_response_bytes: 'Bytes of the response that are kept; the rest is not read.',
}

export const TARGET_WORDS = {
  name: 'Name of the target in the outputs.',
  url: '',
  method: 'Default: GET.',
  expect_status: '',
  expect_text: 'Text that must occur in the first 64 KiB of the body.',
}

export const PAYLOAD_WORDS = {
  url: 'http or https.',
  method: 'Default: GET.',
  headers: 'Lower-case names.',
  body: '',
  timeout_seconds: 'Can only shorten the timeout of the config.',
  expect_status: '',
}

export const PROBE_OUTPUT_WORDS = {
  target: 'Name of the target.',
  url: 'URL without query, fragment and user.',
  ok: 'The status is expected, and the text was found.',
  status: 'null: no response.',
  error: 'null if `ok` is true.',
  address: 'Address that sent the response.',
  total_ms: '',
  first_byte_ms: 'Time until the headers of the response arrived.',
  bytes: 'Bytes of the body that were read.',
}

export const REQUEST_OUTPUT_WORDS = {
  task_id: '',
  attempt: 'Failed runs before this one.',
  status: '',
  url: 'URL of the response, without query.',
  address: '',
  content_type: '',
  body: '',
  body_encoding: '`base64` if the body is not UTF-8.',
  truncated: 'The body was longer than `max_response_bytes`.',
  bytes: 'Size of `body` before it was encoded.',
  total_ms: '',
}

/** By condition and reason. Ready has the reasons of the four others, and five that the page describes. */
export const REASON_WORDS = {
  'Synced.InSync': 'The config at the master equals that of this object.',
  'Synced.DriftTolerated':
    'Another client changed the config, and `managementPolicy: ' +
    'Warn` allows it. `status.drift` names the fields and the client.',
  'Synced.Updating': 'A change is being sent to the master. No action is needed.',
  'Synced.WorkerNotRegistered':
    'No worker with this id has registered. Check that its process runs, with this type and id.',
  'Synced.RegistrationTimeout':
    'No worker registered within `registrationTimeoutSeconds`. The config is still applied when it registers.',
  'Synced.UnknownType': 'The master has no such automation. `muster automations ls` lists the available ones.',
  'Synced.ConfigInvalid':
    'A limit is exceeded, a source is not JSON, or a field is named twice. Fix what the message names.',
  'Synced.Rejected':
    'The master rejected the config. Fix the fields that the message names, ' +
    'in the object or in its Secret or ConfigMap.',
  'Synced.SourceNotFound':
    'A Secret, a ConfigMap or a key of one is missing. ' +
    'Create it; the operator checks every few seconds. The worker keeps its current config.',
  'Synced.SourceForbidden':
    'A Secret or ConfigMap lacks the consent of its owner, is reserved, or the operator has no right to read it; ' +
    'the message says which, and how to consent. The worker keeps its current config.',
  'Synced.SecretNotWriteOnly':
    'A Secret is the source of a field that every read of the config shows. Use a field whose schema is `writeOnly`.',
  'Synced.Forbidden': "The operator's token is not valid for this automation.",
  'Synced.OwnershipConflict':
    'An older FleetWorker, or a client outside of this cluster, manages this worker. ' +
    'Delete one of the two, or release the claim.',
  'Synced.NotPermitted':
    'The FleetWorkers of this namespace may not manage this worker. ' +
    'An administrator permits it in `SVC_TENANTS` (`operator.tenants` of the chart).',
  'Synced.ContestedField':
    'Another client keeps changing a field back. The operator corrects it only every 5 minutes. ' +
    '`status.drift.by` names the client.',
  'Synced.Pending': 'Not reconciled yet.',
  'Synced.Suspended': '`suspend` is set: nothing is written to the master.',
  'Synced.ObserveOnly': '`managementPolicy` is `Observe`: nothing is written to the master.',
  'Synced.MasterUnreachable': 'The master has been unreachable for a minute. The spec is applied when it is back.',
  'Online.Connected': 'The control channel of the worker is open.',
  'Online.RecentlySeen': 'The control channel is closed, but the worker was seen within the last 45 s.',
  'Online.Offline': 'The worker is not connected. Check its process.',
  'Online.Drained': 'The worker drained and exited, as `desiredState: Drained` requested.',
  'Online.WorkerNotRegistered': 'The master has no worker with this id.',
  'Online.MasterUnreachable': 'Unknown while the master is unreachable.',
  'Online.Pending': 'Not read from the master yet.',
  'Applied.Acknowledged': 'The worker runs the current config of the master.',
  'Applied.WaitingForWorker': 'The worker was notified and has not confirmed the config yet.',
  'Applied.AckTimeout':
    'The worker is connected and has not confirmed the config for two minutes. Its log names the cause.',
  'Applied.GenerationBehind':
    'The worker has a newer generation than the master, whose store was restored to an earlier state. ' +
    'The next poll of the worker repairs it.',
  'Applied.NotReported': 'The worker has not reported yet which config it runs.',
  'Applied.Pending': 'Not read from the master yet.',
  'Healthy.WorkerHealthy': 'The worker reports no error.',
  'Healthy.Draining': 'The worker finishes its work and exits.',
  'Healthy.WorkerError': 'Its state is `ERROR`; the message is its last error.',
  'Healthy.Offline': 'The worker is not connected.',
  'Healthy.MasterUnreachable': 'Unknown while the master is unreachable.',
  'Healthy.Pending': 'Not read from the master yet.',
}

/** By condition and reason of a FleetWorkerSet. Those of Synced that a FleetWorker has too mean the same. */
export const SET_REASON_WORDS = {
  'Ready.Complete': 'Every worker of the set has the config, and enough of them run it.',
  'Ready.NoWorkers': 'No registered worker matches. Scaled to zero is a normal state.',
  'Ready.Suspended': '`suspend` is set.',
  'Ready.ObserveOnly': '`managementPolicy` is `Observe`: no worker is written. `status.drift` shows what differs.',
  'Ready.RollingOut':
    'Workers are being written, have not acknowledged the config yet, or are observed before the next stage.',
  'Ready.WaitingForApproval':
    'The stage has passed. Promote it: `muster rollout promote`, or the annotation in the message.',
  'Ready.Paused': '`paused` is set: the rollout waits.',
  'Ready.RollingBack': 'The rollout has failed, and the updated workers get the current revision again.',
  'Ready.RolledBack':
    'The rollout has failed or was aborted, and the workers run the current revision. The message says why. Change ' +
    'the config, or retry.',
  'Ready.GateFailed':
    'The rollout has failed, and the workers stay as they are: `onFailure` is `Pause`, or there is no revision to ' +
    'return to. Change the config, retry, abort, or promote all.',
  'Ready.Inconclusive':
    'The updated workers had fewer than `minRuns` runs within `progressDeadlineSeconds` after the bake. Wait for ' +
    'more, or promote the stage.',
  'Ready.ProgressDeadlineExceeded':
    'The rollout has made no progress for `progressDeadlineSeconds`. `status.worst` names the workers that hold it up.',
  'Ready.Unavailable':
    'Every worker has the config, and more than `maxUnavailable` are unavailable; see `status.worst`.',
  'Ready.WorkloadNotFound':
    'There is no StatefulSet or Deployment of the name in `workload`. The workers are configured as usual. ' +
    'The operator looks again every 10 seconds.',
  'Ready.WorkloadForbidden':
    'The operator has no right to scale the workload; grant it ([Scaling](#scaling)). ' +
    'The workers are configured as usual.',
  'Ready.WorkloadConflict': 'An older set scales this workload. Remove `workload` from one of the two.',
  'Ready.Releasing': 'The set is being deleted, and its workers are being reset.',
  'Ready.Pending': 'Not reconciled yet.',
  'Ready.MasterUnreachable': 'The master has been unreachable for a minute.',
  'Synced.InSync': 'The master has the config for every worker of the set.',
  'Synced.DriftTolerated': 'The configs of some workers differ and are left so; see `status.drift`.',
  'Synced.Updating': 'Workers are being written. No action is needed.',
  'Synced.RolloutFailed': 'The workers do not get the config of the spec, because its rollout has failed.',
  'Synced.Rejected':
    'The master refused the config before any worker was written, or an override of a worker. ' +
    'Fix the fields that the message or `status.worst` names.',
  'Synced.OwnershipConflict':
    'An older set, or an operator of another cluster, manages every matching worker. ' +
    'Change the selector, or delete one of the two.',
  'Synced.NotPermitted':
    'Sets of this namespace may not manage workers of this type. ' +
    'An administrator permits it in `SVC_TENANTS` (`operator.tenants` of the chart).',
  'Synced.MasterTooOld': 'The master is of a release without revisions. Upgrade it first.',
  'Available.WorkersAvailable': 'At most `maxUnavailable` workers are unavailable.',
  'Available.TooManyUnavailable': 'More than `maxUnavailable` workers are unavailable; `status.worst` names some.',
  'Available.Pending': 'Not read from the master yet.',
}
