/** The purpose of the service, and its resources with their fields. */
import { by, type Row } from './row.ts'

export const RESOURCES: readonly Row[] = [
  // What the service does
  [
    'about/registry',
    'The master keeps a registry of workers with configuration, state and statistics.',
    by('worker/worker.test.ts', 'sends stats every 15 s, including each slot'),
  ],
  [
    'about/control-channel',
    'Workers register, report and send output over a WebSocket, and receive changes on it.',
    by('worker/master.test.ts', 'shows an applied config in its record shortly after the PATCH'),
  ],
  [
    'about/config-poll',
    'A worker polls its configuration over HTTP.',
    by('worker/config.test.ts', 'polls every 30 s with the ETag of the applied config, from a random phase'),
  ],
  [
    'about/streams',
    'Each automation type has an output stream that admins peek at and pop from.',
    by('worker/master.test.ts', 'runs each task of a batch once and adds the outputs to the stream'),
  ],
  [
    'about/queue',
    'Batch automations have a queue with three tiers, retries, dead letters and idempotent submits.',
    by('e2e/fleet.test.ts', 'probes a real server and runs 10,000 tasks exactly once, each with its output (G1, G2)'),
  ],
  [
    'about/pools',
    'Pools hold shared items with exclusive claims that expire.',
    by('storage/contract/pools.ts', 'leases an item exclusively until the claim expires, to the millisecond'),
  ],
  [
    'about/api',
    'There are a REST API, health, metrics and a dashboard.',
    by('master/matrix.test.ts', 'has an entry for every route, and a route for every entry'),
  ],
  [
    'about/type',
    'An automation is identified by its type, which is part of paths.',
    by('master/http/hostile.test.ts', 'decodes a type once'),
  ],
  [
    'about/plugins',
    'Automations come from installed plugins; without one the master does not start.',
    by('e2e/master.test.ts', 'exits with 2 without an automation and says how to install one (D35)'),
  ],
  [
    'about/kind-continuous',
    'The slots of a continuous automation run permanently and emit output.',
    by('automation/run-continuous.test.ts', 'restarts a run one second after it returned'),
  ],
  [
    'about/kind-batch',
    'The slots of a batch automation take tasks from a queue.',
    by('automation/run-batch.test.ts', 'acks a task whose run returned and takes the next one'),
  ],
  ['about/declares-schemas', 'An automation declares schemas of config, output, payload and pools.'],
  [
    'about/catalog-rebuilt',
    'The catalog is built at every start.',
    by('automation/build-catalog.test.ts', 'returns an entry in the specified form'),
    by(
      'master/registry/config.test.ts',
      'drops a stored field that the automation no longer has, and adds the default of a new one',
    ),
  ],
  [
    'about/slots-concurrent',
    'A worker runs `slots` slots simultaneously.',
    by('worker/slots.test.ts', 'runs as many slots as requested, and none when disabled'),
  ],
  [
    'about/slots-raised',
    'Raising `slots` starts new slots and does not affect the others.',
    by('worker/slots.test.ts', 'starts the missing slots when the target is raised, and leaves running ones alone'),
  ],
  [
    'about/slots-lowered',
    'Lowering `slots` stops the oldest first.',
    by('worker/slots.test.ts', 'stops the oldest slots first when the target is lowered'),
  ],
  [
    'about/spawn-failures',
    'A slot that fails to start is logged and retried.',
    by('worker/slots.test.ts', 'logs a failed spawn and retries with growing delays until it succeeds'),
  ],
  [
    'about/plain-http',
    'The master serves plain HTTP; a worker keeps the path prefix of a proxy.',
    by(
      'worker/control-channel.test.ts',
      'registers first, sends the token in the header and keeps the path prefix of a proxy',
    ),
    by('dashboard/browser/dashboard.test.ts', 'works below a path prefix'),
  ],
  ['about/pools-read-only', 'Of the primitives for plugins, REST shows only pools, and changes no item.'],
  ['about/long-poll', 'A reserve may wait for a task.'],
  ['primitive/lock', 'A lock is a mutex with a token and a hold time; only the token can release it.'],
  ['primitive/counter', 'A counter is an atomic integer without expiry.'],
  ['primitive/kv', 'Key-value pairs have a namespace and an optional TTL.'],

  // Automation descriptor
  ['automation/type', 'A descriptor has the type.'],
  ['automation/class', 'A descriptor has the name of the implementation class.'],
  ['automation/kind', 'A descriptor has one of the two kinds.'],
  ['automation/config_schema', 'A descriptor has the JSON Schema of the Config.'],

  // Catalog entry
  ['catalog/type', 'An entry has the type.'],
  ['catalog/kind', 'An entry has the kind.'],
  ['catalog/config', 'An entry has the Config schema.'],
  ['catalog/queue', 'An entry has queue name and payload schema if declared.'],
  ['catalog/stream', 'An entry has stream name and output schema if declared.'],
  ['catalog/pools', 'An entry has the payload and tag schemas of each pool if declared.'],

  // Worker record
  ['worker/worker_id', 'A record has the worker id.'],
  ['worker/automation_type', 'A record has the automation type.'],
  ['worker/hardware', 'A record has cores, ram_gb, hostname and kernel as registered.'],
  ['worker/config', 'A record has the merged config.'],
  ['worker/config_gen', 'A record has the generation of its config.'],
  ['worker/state', 'A record has the state.'],
  ['worker/last_seen', "A record has the time of the worker's last frame, in Unix seconds."],
  ['worker/last_error', 'A record has the last error or null.'],
  ['worker/current_stats', 'A record has the newest statistics.'],

  // Stats object
  ['stats/slots', 'Statistics have the number of slots.'],
  ['stats/cpu_pct', 'Statistics have the CPU percentage.'],
  ['stats/rss_mb', 'Statistics have the resident memory.'],
  ['stats/ts', 'Statistics have their timestamp.'],
  ['stats/metrics', 'Statistics have the metrics of the plugin as they were sent.'],
  [
    'stats/metrics-counters',
    'Counters are summed over slots.',
    by(
      'automation/slot-metrics.test.ts',
      'sums counters over all slots, including ended ones, and counts each slot separately',
    ),
  ],
  [
    'stats/metrics-gauges',
    'Gauges keep the last value.',
    by('automation/slot-metrics.test.ts', 'keeps the last value of a gauge'),
  ],
  [
    'stats/metrics-histograms',
    'Histograms report p50, p95 and p99.',
    by('automation/slot-metrics.test.ts', 'reports percentiles to three digits'),
  ],
  ['stats/per_slot', 'Statistics have age and counters of each slot.'],

  // Config
  ['config/enabled', '`enabled` is a boolean, false by default.'],
  [
    'config/not-enabled-idle',
    'A worker that is not enabled is idle.',
    by('worker/slots.test.ts', 'runs as many slots as requested, and none when disabled'),
  ],
  ['config/slots', '`slots` is an integer.'],
  ['config/slots-bound', '`slots` is at most 1024.'],
  ['config/max_attempts', '`max_attempts` is the default limit of attempts of batch tasks.'],
  ['config/recycle_seconds', '`recycle_seconds` is a number.'],
  [
    'config/recycles',
    'A slot is replaced at the age of recycle_seconds.',
    by('worker/slots.test.ts', 'replaces a slot at the age of recycle_seconds'),
  ],
  ['config/bounds', 'The base fields have the bounds of D4.'],
  ['config/json-object', 'Unknown and invalid fields are rejected by the schema.'],

  // Output entry and stream rules
  ['output/id', 'An entry has an id.'],
  ['output/slot_id', 'An entry has the slot id.'],
  ['output/ts', 'An entry has a timestamp.'],
  ['output/payload', 'An entry has a payload.'],
  ['stream/entries', 'A stream is ordered by time and holds at most 50,000 entries.'],
  ['stream/age', 'Entries older than 3600 s are trimmed during a push.'],
  ['stream/not-changeable', 'The API cannot change these limits.'],

  // Task
  ['task/payload', 'A task needs a payload that matches TaskPayload.'],
  ['task/task_id', 'Without a task_id the master generates one of hex digits.'],
  ['task/priority', 'Above 0 is high, below 0 low, 0 normal.'],
  ['task/priority-default', 'The priority is 0 by default.'],
  ['task/ttl_seconds', 'A task older than its TTL is dropped without an error when it is reserved.'],
  ['task/max_attempts', 'A task may have its own limit of attempts.'],
  ['task/idempotency_key', 'A task may have an idempotency key.'],
  ['queue-item/fields', 'A queue item has id, payload, attempt and submitted_at.'],
  ['dead-item/fields', 'A DLQ item has the same fields and max_attempts.'],

  // Pool item
  ['pool/id', 'A pool item has an id.'],
  ['pool/tags', 'A pool item has tags.'],
  ['pool/payload', 'A pool item has a payload.'],
  ['pool/expires_at', 'A pool item has its expiry, or null.'],
  ['pool/in_use_until', 'A pool item has the end of its claim, or null.'],
  ['pool/pruned-lazily', 'Expired items are missing in every list and put.'],
  ['pool/exclusive', 'A claimed item cannot be claimed by another consumer.'],
  ['pool/crash', 'The claim of a crashed owner expires, and the item can be claimed again.'],
]
