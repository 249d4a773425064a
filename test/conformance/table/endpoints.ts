/** The endpoints with their rules, metrics, telemetry and backends. */
import { by, type Row } from './row.ts'

const spans = by('e2e/traces.test.ts', 'are exported as the specification names them, from master and worker')
const continuous = by('automation/run-continuous.test.ts', 'is one span over all runs of the slot')
const batch = by('automation/run-batch.test.ts', 'makes the spans and binds the log fields of the specification')

export const ENDPOINTS: readonly Row[] = [
  ['endpoint/json-bodies', 'Bodies are JSON.'],
  ['endpoint/json', 'Answers are JSON, but for metrics (text) and the page (HTML).'],
  ['endpoint/version-prefix', 'All paths stand under /api/v1, but for page, health and metrics.'],

  // Discovery and catalog
  ['route/automations', 'GET automations lists the descriptors.'],
  ['route/catalog', 'GET catalog maps types to entries.'],
  ['route/catalog-entry', 'GET catalog/{type} answers one entry, or 404.'],

  // Workers
  ['route/workers', 'GET workers lists the records of a type.'],
  ['route/worker', 'GET workers/{id} answers one record, or 404.'],
  ['route/patch', 'PATCH config answers config and config_gen.'],
  ['route/poll', 'GET config answers a worker its config and config_gen.'],
  ['route/stats', 'GET stats answers Stats objects.'],
  ['route/drain', 'POST drain answers the worker id and `requested`.'],
  ['route/forget', 'DELETE answers the worker id and `removed`, or 404.'],
  ['route/control', 'The control channel is a WebSocket below the worker.'],
  ['patch/shallow', '1: the body is merged shallowly.'],
  ['patch/invalid', '2: a merged config that fails the schema is 422 and changes nothing.'],
  ['patch/notifies', '3: a success raises config_gen and sends config_changed.'],
  ['stats/ring', 'The history is a ring of 240 frames for each worker.'],
  ['stats/since-limit', '`since` and `limit` bound what is answered.'],
  [
    'stats/cadence',
    'A frame comes every 15 s.',
    by('worker/worker.test.ts', 'reports its figures every 15 s, with each slot'),
  ],
  [
    'poll/cadence',
    'A worker polls every 30 s, in case it missed a config_changed.',
    by('worker/config.test.ts', 'asks every 30 s in any case'),
  ],

  // Output streams
  ['route/length', 'GET output/length tells the length.'],
  ['route/peek', 'GET output/peek shows the oldest, 10 by default, and removes nothing.'],
  ['route/pop', 'POST output/pop removes and answers the oldest.'],
  ['pop/atomic', 'A pop removes and answers in one step.'],
  ['pop/does-not-wait', 'A pop does not wait.'],
  ['pop/destructive', 'A pop has no undo.'],

  // Task submission and queue inspection
  ['route/submit', 'POST tasks answers id, queued and priority.'],
  ['route/queue', 'GET queue answers length and items, 20 by default.'],
  ['route/dead', 'GET dead answers length and items, 50 by default.'],
  ['route/replay', 'POST dead/replay answers how many were replayed.'],
  ['route/clear', 'DELETE dead answers how many were cleared.'],
  ['submit/invalid', '1: a payload that fails is 422 with the faults, before queueing.'],
  ['submit/not-batch', '2: a type without TaskPayload is 400.'],
  ['submit/unknown-type', '2: an unknown type is 404.'],
  ['submit/idempotency', '3: one key of one type makes one task within its window.'],
  ['submit/idempotency-setting', '3: the window is a setting.'],
  ['submit/rate-limit', '4: beyond the rate of its token a submit is 429.'],
  ['inspect/not-consuming', 'Inspecting the queue consumes nothing.'],
  ['inspect/dead-not-consuming', 'Inspecting the dead letters consumes nothing.'],
  ['inspect/order', 'Queue items come high, normal, low, first in first out; length counts all tiers.'],

  // Pools, metrics, health, dashboard
  ['route/pool', 'GET pools/{name} answers size and items, 20 by default.'],
  ['route/metrics', 'GET /metrics answers text without a token.'],
  ['route/healthz', 'GET /healthz says ok while the master is up.'],
  [
    'route/page',
    "GET / is the operator's page, which asks for the token and keeps it.",
    by('dashboard/browser/dashboard.test.ts', 'asks for no token again until the person signs out'),
    by('master/http/dashboard.test.ts', 'needs no token and has all security headers'),
  ],
  [
    'page/edit-forms',
    'The page has edit forms that follow the config schema.',
    by('dashboard/browser/config.test.ts', 'saves what changed, and follows it until the worker applies it'),
  ],
  [
    'page/queue-card',
    'The page has a queue card.',
    by('dashboard/browser/tasks.test.ts', 'submits a task whose output appears in the stream, from which it is popped'),
  ],
  [
    'page/inspectors',
    'The page inspects dead letters, streams and pools.',
    by('dashboard/browser/tasks.test.ts', 'replays dead letters, and clears them only after asking'),
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
  ['telemetry/service-name', 'OTEL_SERVICE_NAME is honoured.', spans],
  ['span/slot.run_continuous', 'One span for the life of a continuous slot.', continuous],
  ['span/slot.reserve', 'One span for each wait of a batch slot.', batch, spans],
  ['span/slot.run_one', 'One span for each task, which records the exception.', batch, spans],
  ['span/api.submit_task', 'One span for each submit at the master.', spans],
  ['span/attributes', 'Spans carry fleet.automation_type, fleet.worker_id and fleet.slot_id.', batch, continuous],
  ['span/attributes-run_one', 'slot.run_one adds fleet.task_id and fleet.attempt.', batch],
  ['span/attributes-submit', 'api.submit_task carries fleet.automation_type, fleet.task_id and fleet.priority.', spans],
  [
    'log/stdout-json',
    'Logs are lines on stdout, of JSON when asked for.',
    by('runtime/winston-log.test.ts', 'writes one line each, for people and for programs'),
  ],
  [
    'log/context',
    'Log records carry automation_type, worker_id, slot_id and task_id where bound.',
    by('runtime/winston-log.test.ts', 'carries bound fields across asynchronous calls'),
    batch,
  ],

  // Backends
  [
    'backend/memory',
    'memory:// and mem:// keep nothing over a restart, and publish nothing.',
    by(
      'storage/contract/registry.ts',
      'keeps the registry and the generations of the forgotten exactly when it is durable',
    ),
    by('storage/contract/lifecycle.ts', 'delivers to the subscribers of a topic exactly when it declares pubsub'),
    by('cmd/backend.test.ts', 'accept memory, mem and filedb URLs'),
  ],
  [
    'backend/filedb',
    'filedb:// is durable on one host.',
    by('storage/sqlite/crash.test.ts', 'holds everything it had answered'),
    by('e2e/bus.test.ts', 'answers a publish, and delivers nothing: it has no bus'),
  ],
  [
    'backend/kvstore',
    'kvstore:// serves several hosts.',
    by('e2e/masters.test.ts', 'agree on workers, queues, dead letters, streams and the epoch'),
  ],
  [
    'backend/kvstores',
    'kvstores:// is kvstore:// over TLS.',
    by('storage/redis/start.test.ts', 'serves with the authority and, where it is asked for, a certificate of ours'),
  ],
  [
    'backend/kvstore-persistence',
    'A store that keeps nothing is warned about.',
    by('storage/redis/start.test.ts', 'warns about an append-only file that is off'),
  ],
  [
    'backend/setting',
    'The backend is chosen by --backend-url or SVC_BACKEND_URL.',
    by('cmd/settings.test.ts', 'prefers the flag to the variable, and the variable to the default'),
  ],
  [
    'backend/workers-apart',
    'Workers reach the state through the master alone.',
    by('worker/rpc-client.test.ts', 'calls a method with the token of the moment'),
  ],
  [
    'backend/switch',
    'After a switch workers register anew and are taken as new.',
    by('e2e/faults.test.ts', 'takes its configs anew when the master has lost its store'),
  ],
]
