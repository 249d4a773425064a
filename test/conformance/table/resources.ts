/** What the service does, and its resources with their fields. */
import { by, type Row } from './row.ts'

export const RESOURCES: readonly Row[] = [
  // What the service does
  [
    'about/registry',
    'The master keeps a registry of workers with configuration, state and statistics.',
    by('worker/worker.test.ts', 'reports its figures every 15 s, with each slot'),
  ],
  [
    'about/control-channel',
    'Workers register, report and send output over a WebSocket, and are told of changes there.',
    by('worker/master.test.ts', 'shows an applied config in the record moments after the PATCH'),
  ],
  [
    'about/config-poll',
    'A worker polls its configuration over HTTP.',
    by('worker/config.test.ts', 'asks every 30 s in any case, with what it has, from a random phase'),
  ],
  [
    'about/streams',
    'Each automation type has an output stream that admins peek at and pop from.',
    by('worker/master.test.ts', 'runs a batch of tasks once each and brings their outputs into the stream'),
  ],
  [
    'about/queue',
    'Batch automations have a queue with three tiers, retries, dead letters and idempotent submits.',
    by('e2e/fleet.test.ts', 'probes a real server and does 10,000 tasks exactly once'),
  ],
  [
    'about/pools',
    'Pools hold shared items with exclusive claims that end by themselves.',
    by('storage/contract/pools.ts', 'holds an item exclusively until its hold ends'),
  ],
  [
    'about/api',
    'There are a REST API, health, metrics and a dashboard.',
    by('master/matrix.test.ts', 'has an entry for every route, and a route for every entry'),
  ],
  [
    'about/type',
    'An automation is known by its type, which stands in paths.',
    by('master/http/hostile.test.ts', 'decodes a type once'),
  ],
  [
    'about/plugins',
    'Automations come from installed plugins; without one the master does not start.',
    by('e2e/master.test.ts', 'exits 2 without an automation, and says how to install one'),
  ],
  [
    'about/kind-continuous',
    'The slots of a continuous automation run all the time and emit output.',
    by('automation/run-continuous.test.ts', 'starts a run again one second after it returned'),
  ],
  [
    'about/kind-batch',
    'The slots of a batch automation take tasks from a queue.',
    by('automation/run-batch.test.ts', 'acks a task whose run returned, and takes the next'),
  ],
  ['about/declares-schemas', 'An automation declares schemas of config, output, payload and pools.'],
  [
    'about/catalog-rebuilt',
    'The catalog is built anew at every start.',
    by('automation/build-catalog.test.ts', 'shows an entry as the specification says'),
    by(
      'master/registry/config.test.ts',
      'drops a stored field that the automation no longer has, and adds the default of a new one',
    ),
  ],
  [
    'about/slots-concurrent',
    'A worker runs `slots` slots at once.',
    by('worker/slots.test.ts', 'runs as many as asked for, and none when not enabled'),
  ],
  [
    'about/slots-raised',
    'Raising `slots` spawns new ones and leaves the others alone.',
    by('worker/slots.test.ts', 'spawns the missing ones when raised and leaves those that run alone'),
  ],
  [
    'about/slots-lowered',
    'Lowering `slots` ends the oldest first.',
    by('worker/slots.test.ts', 'stops the oldest first when lowered'),
  ],
  [
    'about/spawn-failures',
    'A failed spawn is logged and tried again.',
    by('worker/slots.test.ts', 'logs a failed spawn and tries again with growing delays until it succeeds'),
  ],
  [
    'about/plain-http',
    'The master serves plain HTTP; a worker keeps the path prefix of a proxy.',
    by('worker/control-channel.test.ts', 'with the token in the header and the path prefix of a proxy kept'),
    by('dashboard/browser/dashboard.test.ts', 'works below a path prefix'),
  ],
  ['about/pools-read-only', "Of the plugins' primitives REST shows pools alone, and changes none."],
  ['about/long-poll', 'A reserve may wait for a task.'],
  ['primitive/lock', 'A lock is a mutex with a token and a hold; only the token releases it.'],
  ['primitive/counter', 'A counter is an atomic integer without expiry.'],
  ['primitive/kv', 'Key-value pairs have a namespace and an optional end.'],

  // Automation descriptor
  ['automation/type', 'A descriptor names its type.'],
  ['automation/class', 'A descriptor names the implementation class.'],
  ['automation/kind', 'A descriptor names one of the two kinds.'],
  ['automation/config_schema', 'A descriptor holds the JSON Schema of the Config.'],

  // Catalog entry
  ['catalog/type', 'An entry names its type.'],
  ['catalog/kind', 'An entry names its kind.'],
  ['catalog/config', 'An entry holds the Config schema.'],
  ['catalog/queue', 'An entry has queue name and payload schema, only where declared.'],
  ['catalog/stream', 'An entry has stream name and output schema, only where declared.'],
  ['catalog/pools', 'An entry has the payload and tag schemas of each pool, only where declared.'],

  // Worker record
  ['worker/worker_id', 'A record names its worker.'],
  ['worker/automation_type', 'A record names its type.'],
  ['worker/hardware', 'A record holds cores, ram_gb, hostname and kernel as registered.'],
  ['worker/config', 'A record holds the merged config.'],
  ['worker/config_gen', 'A record holds the generation of its config.'],
  ['worker/state', 'A record holds the state.'],
  ['worker/last_seen', 'A record says when the worker was last heard, in unix seconds.'],
  ['worker/last_error', 'A record holds the last error or null.'],
  ['worker/current_stats', 'A record holds the newest statistics.'],

  // Stats object
  ['stats/slots', 'Statistics tell the slots.'],
  ['stats/cpu_pct', 'Statistics tell the CPU percent.'],
  ['stats/rss_mb', 'Statistics tell the resident memory.'],
  ['stats/ts', 'Statistics carry their time.'],
  ['stats/metrics', "Statistics carry the plugin's metrics as they were sent."],
  [
    'stats/metrics-counters',
    'Counters are summed over slots.',
    by('automation/slot-metrics.test.ts', 'sums counters over slots, ended ones included'),
  ],
  [
    'stats/metrics-gauges',
    'Gauges keep the last value.',
    by('automation/slot-metrics.test.ts', 'keeps the last value of a gauge'),
  ],
  [
    'stats/metrics-histograms',
    'Histograms tell p50, p95 and p99.',
    by('automation/slot-metrics.test.ts', 'reports percentiles to three digits'),
  ],
  ['stats/per_slot', 'Statistics tell age and counters of each slot.'],

  // Config
  ['config/enabled', '`enabled` is a boolean, false by default.'],
  [
    'config/not-enabled-idle',
    'A worker that is not enabled is idle.',
    by('worker/slots.test.ts', 'runs as many as asked for, and none when not enabled'),
  ],
  ['config/slots', '`slots` is an integer.'],
  ['config/slots-bound', '`slots` is at most 1024.'],
  ['config/max_attempts', '`max_attempts` is the limit of attempts of batch tasks by default.'],
  ['config/recycle_seconds', '`recycle_seconds` is a number.'],
  [
    'config/recycles',
    'A slot is replaced at the age of recycle_seconds.',
    by('worker/slots.test.ts', 'replaces a slot at the age of recycle_seconds'),
  ],
  ['config/bounds', 'The base fields have the bounds of D4.'],
  ['config/json-object', 'Unknown and invalid fields are refused by the schema.'],

  // Output entry and stream rules
  ['output/id', 'An entry has an id.'],
  ['output/slot_id', 'An entry names its slot.'],
  ['output/ts', 'An entry carries its time.'],
  ['output/payload', 'An entry carries its payload.'],
  ['stream/entries', 'A stream is ordered by time and holds at most 50,000 entries.'],
  ['stream/age', 'Entries older than 3600 s are trimmed at a push.'],
  ['stream/not-changeable', 'The API changes neither bound.'],

  // Task
  ['task/payload', 'A task needs a payload that fits TaskPayload.'],
  ['task/task_id', 'Without a task_id the master makes one of hex digits.'],
  ['task/priority', 'Above 0 is high, below 0 low, 0 normal.'],
  ['task/priority-default', 'The priority is 0 by default.'],
  ['task/ttl_seconds', 'A task older than its ttl is dropped in silence when it is reserved.'],
  ['task/max_attempts', 'A task may have a limit of attempts of its own.'],
  ['task/idempotency_key', 'A task may carry an idempotency key.'],
  ['queue-item/fields', 'A queue item has id, payload, attempt and submitted_at.'],
  ['dead-item/fields', 'A DLQ item has these and max_attempts.'],

  // Pool item
  ['pool/id', 'A pool item has an id.'],
  ['pool/tags', 'A pool item has tags.'],
  ['pool/payload', 'A pool item has a payload.'],
  ['pool/expires_at', 'A pool item says when it expires, or null.'],
  ['pool/in_use_until', 'A pool item says until when it is claimed, or null.'],
  ['pool/pruned-lazily', 'Expired items are gone from every list and put.'],
  ['pool/exclusive', 'No other consumer claims an item that is claimed.'],
  ['pool/crash', 'The claim of a holder that crashed ends, and the item can be claimed again.'],
]
