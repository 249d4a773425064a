/** The endpoints with their rules, metrics, telemetry and backends. */
import { by, type Row } from './row.ts'

const spans = by('e2e/traces.test.ts', 'are exported by master and worker with the names of the specification')
const continuous = by('automation/run-continuous.test.ts', 'has one span for all runs of the slot')
const batch = by('automation/run-batch.test.ts', 'creates the specified spans and log fields')

export const ENDPOINTS: readonly Row[] = [
  ['endpoint/json-bodies', 'Bodies are JSON.'],
  ['endpoint/json', 'Responses are JSON, except metrics (text) and the page (HTML).'],
  ['endpoint/version-prefix', 'All paths are under /api/v1, except page, health and metrics.'],

  // Discovery and catalog
  ['route/automations', 'GET automations lists the descriptors.'],
  ['route/catalog', 'GET catalog maps types to entries.'],
  ['route/catalog-entry', 'GET catalog/{type} returns one entry, or 404.'],

  // Workers
  ['route/workers', 'GET workers lists the records of a type.'],
  ['route/worker', 'GET workers/{id} returns one record, or 404.'],
  ['route/patch', 'PATCH config returns config and config_gen.'],
  ['route/poll', 'GET config returns config and config_gen to a worker.'],
  ['route/stats', 'GET stats returns Stats objects.'],
  ['route/drain', 'POST drain returns the worker id and `requested`.'],
  ['route/forget', 'DELETE returns the worker id and `removed`, or 404.'],
  ['route/control', 'The control channel is a WebSocket under the path of the worker.'],
  ['patch/shallow', '1: the body is merged shallowly.'],
  ['patch/invalid', '2: a merged config that fails the schema is 422 and changes nothing.'],
  ['patch/notifies', '3: a success raises config_gen and sends config_changed.'],
  ['stats/ring', 'The history is a ring of 240 frames for each worker.'],
  ['stats/since-limit', '`since` and `limit` limit the response.'],
  [
    'stats/cadence',
    'A frame is sent every 15 s.',
    by('worker/worker.test.ts', 'sends stats every 15 s, including each slot'),
  ],
  [
    'poll/cadence',
    'A worker polls every 30 s, in case it missed a config_changed.',
    by('worker/config.test.ts', 'polls every 30 s with the ETag of the applied config, from a random phase'),
  ],

  // Output streams
  ['route/length', 'GET output/length returns the length.'],
  ['route/peek', 'GET output/peek returns the oldest, 10 by default, and removes none.'],
  ['route/pop', 'POST output/pop removes and returns the oldest.'],
  ['pop/atomic', 'A pop removes and returns atomically.'],
  ['pop/does-not-wait', 'A pop does not wait.'],
  ['pop/destructive', 'A pop cannot be undone.'],

  // Task submission and queue inspection
  ['route/submit', 'POST tasks returns id, queued and priority.'],
  ['route/queue', 'GET queue returns length and items, 20 by default.'],
  ['route/dead', 'GET dead returns length and items, 50 by default.'],
  ['route/replay', 'POST dead/replay returns the number of replayed tasks.'],
  ['route/clear', 'DELETE dead returns the number of cleared tasks.'],
  ['submit/invalid', '1: an invalid payload is 422 with its faults, before queueing.'],
  ['submit/not-batch', '2: a type without TaskPayload is 400.'],
  ['submit/unknown-type', '2: an unknown type is 404.'],
  ['submit/idempotency', '3: one key of one type creates one task within its window.'],
  ['submit/idempotency-setting', '3: the window is a setting.'],
  ['submit/rate-limit', '4: above the rate of its token a submit is 429.'],
  ['inspect/not-consuming', 'Inspecting the queue removes nothing.'],
  ['inspect/dead-not-consuming', 'Inspecting the dead letters removes nothing.'],
  ['inspect/order', 'Queue items are ordered high, normal, low, first in, first out; length counts all tiers.'],

  // Pools, metrics, health, dashboard
  ['route/pool', 'GET pools/{name} returns size and items, 20 by default.'],
  ['route/metrics', 'GET /metrics returns text without a token.'],
  ['route/healthz', 'GET /healthz returns ok while the master runs.'],
  [
    'route/page',
    'GET / is the dashboard, which prompts for the token and stores it.',
    by('dashboard/browser/dashboard.test.ts', 'keeps the user signed in until they sign out'),
    by('master/http/dashboard.test.ts', 'needs no token and has all security headers'),
  ],
  [
    'page/edit-forms',
    'The page has edit forms that follow the config schema.',
    by('dashboard/browser/config.test.ts', 'saves the changes and shows their progress until the worker applies them'),
  ],
  [
    'page/queue-card',
    'The page has a queue card.',
    by('dashboard/browser/tasks.test.ts', 'submits a task, shows its output in the stream and pops it'),
  ],
  [
    'page/inspectors',
    'The page inspects dead letters, streams and pools.',
    by('dashboard/browser/tasks.test.ts', 'replays dead letters, and removes them only after a confirmation'),
  ],
  ['metric/svc_master_up', '1 while the master responds.'],
  ['metric/svc_workers_total', 'Workers by type and state.'],
  ['metric/svc_worker_last_seen_age_seconds', 'Seconds since the last frame, by worker.'],
  ['metric/svc_worker_slots', 'Slots, by worker.'],
  ['metric/svc_worker_cpu_pct', 'CPU percent, by worker.'],
  ['metric/svc_worker_rss_mb', 'Resident memory, by worker.'],
  ['metric/svc_stream_length', 'Length of the stream, by type.'],
  ['metric/svc_queue_size', 'Sum over the tiers, by type.'],
  ['metric/svc_queue_dlq_length', 'Dead letters, by type.'],
  ['metric/svc_pool_size', 'Items, by pool.'],

  // Telemetry
  [
    'telemetry/enabled',
    'Traces are exported when an OTEL_EXPORTER_* variable or SVC_OTEL_ENABLED=1 is set.',
    by('runtime/trace.test.ts', "[{ SVC_OTEL_ENABLED: '1' }, true]"),
  ],
  ['telemetry/no-op', 'Otherwise nothing is exported.', by('runtime/trace.test.ts', "{ SVC_OTEL_ENABLED: '0' }")],
  ['telemetry/service-name', 'OTEL_SERVICE_NAME is used.', spans],
  ['span/slot.run_continuous', 'One span for the life of a continuous slot.', continuous],
  ['span/slot.reserve', 'One span for each wait of a batch slot.', batch, spans],
  ['span/slot.run_one', 'One span for each task, which records the exception.', batch, spans],
  ['span/api.submit_task', 'One span for each submit at the master.', spans],
  ['span/attributes', 'Spans carry fleet.automation_type, fleet.worker_id and fleet.slot_id.', batch, continuous],
  ['span/attributes-run_one', 'slot.run_one adds fleet.task_id and fleet.attempt.', batch],
  ['span/attributes-submit', 'api.submit_task carries fleet.automation_type, fleet.task_id and fleet.priority.', spans],
  [
    'log/stdout-json',
    'Logs are lines on stdout, as JSON if configured.',
    by('runtime/winston-log.test.ts', 'writes one line per message, as text and as JSON'),
  ],
  [
    'log/context',
    'Log records carry automation_type, worker_id, slot_id and task_id where bound.',
    by(
      'runtime/winston-log.test.ts',
      'keeps bound fields across asynchronous calls, and adds inner ones to outer ones',
    ),
    batch,
  ],

  // Backends
  [
    'backend/memory',
    'memory:// and mem:// keep nothing across a restart and have no bus.',
    by(
      'storage/contract/registry.ts',
      'keeps the registry and the generations of forgotten workers if and only if it is durable',
    ),
    by(
      'storage/contract/lifecycle.ts',
      'delivers messages to the subscribers of a topic if and only if it declares pubsub',
    ),
    by('cmd/backend.test.ts', 'accept memory, mem and filedb URLs'),
  ],
  [
    'backend/filedb',
    'filedb:// is durable on one host.',
    by(
      'storage/sqlite/crash.test.ts',
      'has everything it confirmed, delivers no acked task and issues no token twice (G1)',
    ),
    by('e2e/bus.test.ts', 'accepts a publish but delivers no message, because it has no bus'),
  ],
  [
    'backend/kvstore',
    'kvstore:// can be shared by several hosts.',
    by('e2e/masters.test.ts', 'return the same workers, queues, dead letters, streams and epoch'),
  ],
  [
    'backend/kvstores',
    'kvstores:// is kvstore:// over TLS.',
    by('storage/redis/start.test.ts', 'connects with the authority and, if required, a client certificate'),
  ],
  [
    'backend/kvstore-persistence',
    'A store that is not durable causes a warning.',
    by('storage/redis/start.test.ts', 'warns about a disabled append-only file'),
  ],
  [
    'backend/setting',
    'The backend is chosen by --backend-url or SVC_BACKEND_URL.',
    by('cmd/settings.test.ts', 'prefers the flag to the variable, and the variable to the default'),
  ],
  [
    'backend/workers-apart',
    'Workers access the state only through the master.',
    by('worker/rpc-client.test.ts', 'calls a method with the current token'),
  ],
  [
    'backend/switch',
    'After a switch of the backend, workers register again as new ones.',
    by('e2e/faults.test.ts', 'applies new configs after the master lost its store (D15)'),
  ],
]
