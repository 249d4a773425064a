/** The decisions from D62 to D103 that no other part of the table covers, one row per claim. */
import { by, type Row } from './row.ts'

export const ADDITIONS: readonly Row[] = [
  [
    'D62a',
    'configFrom reads a Secret or ConfigMap only with the consent of its owner.',
    by('operator/consent.apiserver.test.ts', 'receives no data of a Secret without the consent of its owner'),
    by('operator/fleetworker/sources.test.ts', 'is given by the annotation'),
  ],
  [
    'D62b',
    'Secrets of Muster itself are never requested.',
    by('operator/consent.apiserver.test.ts', 'never requests a Secret that the operator itself uses'),
  ],
  [
    'D62c',
    'The applied config stays in force, also after an upgrade.',
    by(
      'operator/fleetworker/reconcile.secrets.test.ts',
      'keeps the config while a source that an earlier release read has no consent (D62)',
    ),
  ],
  [
    'D63',
    'A process with its own service account creates the Secrets of tokens.',
    by(
      'operator/bootstrap.apiserver.test.ts',
      'are created by a process with its own account; a deleted one is created again, and no value is visible anywhere',
    ),
  ],
  [
    'D64',
    'A claim with a new holder resets secrets.',
    by(
      'operator/fleetworker/reconcile.tenancy.test.ts',
      'keeps no secret of the previous FleetWorker in fields of the next one %s',
    ),
  ],
  [
    'D65a',
    'A FleetWorker of a namespace without permission changes nothing and shows nothing.',
    by(
      'operator/fleetworker/reconcile.tenancy.test.ts',
      'reports it, changes nothing at the master, and shows no data of the worker',
    ),
  ],
  [
    'D65b',
    'A FleetWorker that cannot be applied owns no worker.',
    by('operator/fleetworker/reconcile.tenancy.test.ts', 'one that is being deleted, even while its finalizer remains'),
  ],
  [
    'D65c',
    'The map of tenants is required.',
    by('cmd/operator.test.ts', 'requires the map of tenants where another namespace than its own is watched'),
  ],
  [
    'D66',
    'Only its holder, an admin or force replaces a claim. The operator takes over a claim of a non-operator.',
    by(
      'operator/fleetworker/reconcile.test.ts',
      'takes a worker back from a claim of a client that is no operator, and continues to correct drift (D66): %s',
    ),
  ],
  [
    'D103',
    'A FleetWorker takes its worker back from the claim of one that was deleted here, but from no other operator.',
    by('operator/fleetworker/reconcile.test.ts', 'is taken back in a term that began after the deletion (G19, G26)'),
    by('operator/fleetworker/reconcile.test.ts', 'is not taken from another cluster, in no term'),
  ],
  [
    'D70',
    'The token is checked first: rejected control sockets use no capacity for workers.',
    by(
      'master/control/refused-sockets.test.ts',
      'do not keep workers out, and do not count against the handshakes per second',
    ),
  ],
  [
    'D71a',
    'A connection has a limit of requests without a response.',
    by('master/http/bounds.test.ts', 'requests; one more is refused and closes it'),
  ],
  [
    'D71b',
    'No single token can use up the capacity for all others, and scoped tokens leave a tenth free.',
    by('master/http/bounds.test.ts', '2,000 of one token leave places for every other token'),
    by(
      'master/http/bounds.test.ts',
      'of all scoped tokens together leave a tenth of the places to the admin and the workers',
    ),
  ],
  [
    'D71c',
    'Routes without a token have their own capacity; probes need none.',
    by('master/http/bounds.test.ts', 'places; probes and requests with a token are still served'),
  ],
  [
    'D71d',
    'A body has a minimum rate.',
    by('master/http/bounds.test.ts', 'that keeps arriving at 240 bytes per second is read to its end'),
    by('master/http/bounds.test.ts', '2,000 of one token leave places for every other token'),
  ],
  [
    'D71e',
    'The page is served from memory, however slowly clients read.',
    by(
      'master/http/bounds.test.ts',
      'use less than 16 MiB with 1,500 pipelined asset requests on each of 10 connections',
    ),
  ],
  [
    'D71f',
    'Source maps are not served.',
    by('master/http/dashboard.test.ts', 'exclude source maps, and changes of the folder after the start'),
  ],
  [
    'D71g',
    'The capacity for event streams and bus streams is shared between tokens as well.',
    by(
      'master/events/crowd.test.ts',
      'leave places for every other token, and all scoped tokens leave a tenth to the admin',
    ),
    by('master/rpc/http.test.ts', 'have a limit that does not affect other worker ids'),
  ],
  [
    'D71h',
    'Dry runs have their own rate limit.',
    by(
      'master/queue/validate.test.ts',
      'have their own limit per token, shared by tasks and configs, and do not count as submits',
    ),
  ],
  [
    'D72a',
    'The metrics are rendered once a second, one at a time.',
    by('master/metrics/shared-text.test.ts', 'is generated at most once per second, however many requests arrive'),
    by('master/metrics/shared-text.test.ts', 'is generated by one call at a time, however long it takes'),
  ],
  [
    'D72b',
    'The metrics can have their own address.',
    by(
      'master/metrics/shared-text.test.ts',
      'moves /metrics to its own address, together with the probes, and closes with the master',
    ),
  ],
  [
    'D73a',
    'Rejections before the routes have a detail and a request id.',
    by('master/http/request-head.test.ts', 'has a detail and a request id, and closes the connection'),
  ],
  [
    'D73b',
    'An upgrade waits for earlier responses.',
    by(
      'master/http/request-head.test.ts',
      'is rejected with 400 when it does not wait for that response, and closes the connection',
    ),
  ],
  [
    'D73c',
    'HTTP/1.0 gets no 100 Continue and no upgrade.',
    by('master/http/request-head.test.ts', 'needs no Host, and gets no 100 Continue'),
  ],
  [
    'D73d',
    'The control handshake accepts an absolute target and one Authorization header.',
    by('master/http/request-head.test.ts', 'accepts a target in absolute form, also with the token in its query'),
    by(
      'master/http/request-head.test.ts',
      'with two Authorization headers is closed with 4401, like 401 on other routes',
    ),
  ],
  [
    'D73e',
    'JSON content types may have any parameter except another charset.',
    by('master/http/request-head.test.ts', 'is accepted as JSON'),
    by('master/http/request-head.test.ts', 'returns 415'),
  ],
  [
    'D73f',
    'An empty chunked body counts as no body.',
    by('master/http/request-head.test.ts', 'counts as no body only where the body is optional'),
  ],
  [
    'D67',
    'All rejected calls share one backoff, with or without Retry-After.',
    by(
      'runtime/refusal-limiter.test.ts',
      'sends fewer than three requests per second while all are rejected, with any number of callers',
    ),
    by('operator/faults/refusals.test.ts', 'sends at most three requests a second and recovers within 31 s'),
  ],
  [
    'D68',
    'The wait after a long Retry-After is capped at 30 s.',
    by(
      'runtime/retry-after.test.ts',
      'delays for at least the requested time and at most a quarter longer, capped between 24 and 30 s',
    ),
    by(
      'operator/faults/refusals.test.ts',
      'recovers within 31 s although the last rejection has a Retry-After of an hour',
    ),
  ],
  [
    'D69',
    'Large FleetWorkers are listed in pages limited by bytes.',
    by('operator/memory.test.ts', 'lists 200 of them and follows a change of each'),
    by('runtime/page-size.test.ts', 'drops to a quarter after a page that was too large, but not to zero'),
  ],
  [
    'D79',
    'A repeated submit is recognized.',
    by(
      'storage/redis/lost-replies.test.ts',
      'does not queue a task again that another master leased and acked meanwhile (G2)',
    ),
    by(
      'storage/redis/lost-replies.test.ts',
      'of submit are remembered for 1,000 slots; then the slot that was idle longest is dropped',
    ),
  ],
  [
    'D81',
    'Leases of a reserve with a lost response are returned without counting an attempt.',
    by(
      'storage/redis/lost-replies.test.ts',
      'leases the tasks again in order without counting an attempt (G3, G5, G8)',
    ),
    by(
      'storage/redis/lost-replies.test.ts',
      'of reserve: a lost response counts as no lost lease, an expired delivered lease does (D26, D81)',
    ),
  ],
  [
    'D82',
    'Inspections share limits, so that one token cannot block the store for others.',
    by('master/inspections/inspections.test.ts', 'run a few at a time per token, while another token gets a place'),
    by('master/inspections/flood.test.ts', 'leaves other tenants at least 0.8 of their rate'),
  ],
  [
    'D83',
    'Outputs cannot block other writes to a full store: the oldest are dropped.',
    by(
      'master/streams/full-store.test.ts',
      'keeps space for tasks, and drops the oldest outputs before it rejects a task',
    ),
  ],
  [
    'D84a',
    'Replays move 25 tasks per call of the store.',
    by(
      'master/queue/inspect.test.ts',
      'are replayed and selected in pieces of 25; tasks that die again meanwhile stay dead',
    ),
  ],
  [
    'D84b',
    'The statistics history of a worker is limited in bytes.',
    by('storage/contract/configs.ts', 'keeps per-slot statistics of a worker with 1,024 slots in the history (D84)'),
    by(
      'storage/contract/configs.ts',
      'stores a frame over 128 KiB without slots in the history, but whole as the current one (D84)',
    ),
  ],
  [
    'D85',
    'A namespace of another installed type is read-only.',
    by(
      'master/rpc/primitives.test.ts',
      'is readable by every type; the namespace of an installed type is writable by that type only',
    ),
  ],
  [
    'D86a',
    'Tokens have names, types and permissions.',
    by('master/catalog/catalog.test.ts', 'returns the types, permissions and name of a token'),
    by(
      'master/matrix.test.ts',
      'is rejected for an operate token: fields beside enabled and slots, removal of dead tasks',
    ),
  ],
  [
    'D86b',
    'Short tokens are rejected.',
    by(
      'e2e/master.test.ts',
      'rejects short tokens unless they are allowed, and writes audit lines at every log level (D86, D87)',
    ),
  ],
  [
    'D87',
    'Each change and each rejected token writes an audit line.',
    by('master/audit/audit.test.ts', 'writes one line with request, token, actor, peer, route, outcome and count'),
    by(
      'master/audit/audit.test.ts',
      'writes a line at its first use, then one per minute with the number of uses per peer and reason',
    ),
  ],
  [
    'D88',
    'A stored secret is bound to its destinations.',
    by('master/registry/bound-secrets.test.ts', 'of http-probe that keeps the stored secret is refused'),
  ],
  [
    'D89',
    'History does not show whether a sent secret equals the stored one.',
    by('master/registry/bound-secrets.test.ts', 'does not reveal whether a sent secret equals the stored one'),
  ],
  [
    'D90',
    'The environment of a worker limits its destinations.',
    by(
      'automations/destinations.test.ts',
      'allows no more than the environment of the worker, whatever the config contains',
    ),
  ],
  [
    'D91',
    'An older release is rejected by a store with a newer layout.',
    by(
      'storage/redis/start.test.ts',
      'stops an older release after a newer one migrated the store of the same run id (G27)',
    ),
    by(
      'storage/redis/start.test.ts',
      'rejects an older release during a migration, which the newer release completes (G27)',
    ),
  ],
  [
    'D92',
    'Outputs on a cluster are published only to subscribers.',
    by(
      'storage/redis/sharded-bus.test.ts',
      'does not publish output without a subscriber, and copies no output to another node (D92)',
    ),
    by(
      'storage/redis/sharded-bus.test.ts',
      'also publishes to the channels of the previous release while one of its masters lives (D92)',
    ),
  ],
  [
    'D93',
    'Masters of one store export each series once.',
    by(
      'master/metrics/several-masters.test.ts',
      'contain each series of the fleet once, also after the leading master has ended',
    ),
  ],
  [
    'D134a',
    'The leading master exports the tasks in flight, the scheduled ones, the age of the oldest and the slots.',
    by('master/metrics/metrics.test.ts', 'contain the slots, and the tasks by where they are (D134)'),
  ],
  [
    'D134b',
    'Two masters never lead at the same time; after a kill the series are missing for at most 20 s.',
    by(
      'master/metrics/several-masters.test.ts',
      'are exported by no master for at most 20 s after the leader was killed, and never twice',
    ),
    by('master/metrics/several-masters.test.ts', 'are exported once when a leader that stalled for a while continues'),
    by(
      'e2e/masters-metrics.test.ts',
      'is right or missing after the leader was killed, and after it was started again',
    ),
  ],
  [
    'D135a',
    'Events that were recorded together share an entry; batched=true sends it as one event, else one by one.',
    by(
      'master/events/batches.test.ts',
      'are sent one by one, each with its own id, and as one event with batched=true',
    ),
    by('master/registry/batches.test.ts', 'are appended immediately after a pause, then gathered for 50 ms'),
    by('master/registry/event-gatherer.test.ts', 'keep the order of the events of a worker'),
    by('master/registry/event-gatherer.test.ts', 'fill an entry up to 500 events or 64 KiB'),
  ],
  [
    'D135b',
    'A stream resumes behind each event of an entry, on every store; other ids give a reset.',
    by('master/events/batches.test.ts', 'are resumed after any of them, in both forms, without a loss or a repetition'),
    by('master/events/batches.test.ts', 'cannot be resumed at an id that none of them has'),
    by(
      'storage/contract/lifecycle.ts',
      'keeps changes that were recorded together in one entry, and resumes behind each (G10, D135)',
    ),
  ],
  [
    'D135c',
    'Batches of events and signals are written only while every live master reads them; an older one sends reset.',
    by('master/master-releases.test.ts', 'may write batches only while every live master reads them'),
    by('master/registry/batches.test.ts', 'have an entry each while a live master does not read batches'),
    by('master/registry/batches.test.ts', 'have a message each while a live master does not read batches'),
    by('storage/redis/events.test.ts', 'stores changes that were recorded together as a reset for older releases'),
    by('storage/redis/bus.test.ts', 'delivers several signals in one message, without what is no signal'),
  ],
  [
    'D94a',
    'Acknowledged changes on SQLite survive a failed fsync and a power cut.',
    by('storage/sqlite/power-cut/power-cut.test.ts', 'has every acknowledged task %s (G1)'),
  ],
  [
    'D94b',
    'A cluster keeps its epoch when a node is added, and serves calls when a node is lost.',
    by(
      'storage/redis/cluster-nodes.test.ts',
      'keeps the epoch when a node is added, and changes it when a node was restarted (D46)',
    ),
    by(
      'storage/redis/cluster-nodes.test.ts',
      'stays ready while one of three nodes is down, and rejects only the calls for that node (G18)',
    ),
  ],
  [
    'D95',
    'An uncaught exception ends the worker process with exit code 1.',
    by('e2e/faults.test.ts', 'with an uncaught exception fails that task, releases the others and exits with 1 (D95)'),
  ],
  [
    'D96',
    'A token over plain http to another host causes a warning.',
    by('e2e/faults.test.ts', 'warns at its start when it sends its token unencrypted to another host'),
    by(
      'cmd/admin/usage.test.ts',
      'warns on stderr unless the master is on this host, because the token can be intercepted',
    ),
  ],
  [
    'D97a',
    'A master that checks its SQLite file is alive but not ready.',
    by(
      'master/startup.test.ts',
      'is alive but not ready, reports the check, and serves nothing before the check has ended',
    ),
  ],
  [
    'D97b',
    'Damage in the write-ahead log before an acknowledged change is detected and stops the start.',
    by(
      'storage/sqlite/open.test.ts',
      'does not start when its log is damaged before a confirmed change, and says what to do (G1)',
    ),
  ],
  ['D98', 'The chart rejects autoscaling of workers.', by('chart/values.test.ts', 'report the fault of %j')],
  [
    'D99',
    'A listen address without a host accepts both address families.',
    by('e2e/address-families.test.ts', 'accepts %s'),
  ],
  [
    'D100a',
    'Values, locks and counters each have a limit of namespaces, which never affects existing ones.',
    by(
      'storage/contract/namespaces.ts',
      'are limited to 1,000, but existing namespaces and those of automation types stay writable (D100)',
    ),
    by('storage/contract/namespaces.ts', 'stay writable above the limit when they already exist (D100)'),
  ],
  [
    'D100b',
    'An empty namespace stops counting towards the limit.',
    by('storage/contract/namespaces.ts', 'stop counting towards the limit when they are empty (D100)'),
    by('storage/contract/primitives.ts', 'removes a counter that becomes 0, which frees capacity for another'),
  ],
  [
    'D100c',
    'Several masters keep the limit together, and never remove a namespace with content.',
    by('storage/redis/namespaces.test.ts', 'never exceed the limit when two masters create them simultaneously (D100)'),
    by(
      'storage/redis/namespaces.test.ts',
      'stay registered when another master registers them during the check (D100)',
    ),
    by(
      'storage/redis/namespaces.test.ts',
      'of an earlier release stay writable above the limit and are registered (D100)',
    ),
  ],
  [
    'D101a',
    'Handshakes wait in order, for a limited time, and are admitted by event-loop delay, registers and memory.',
    by('master/control/handshake-queue.test.ts', 'admits up to the budget immediately, and the others in order'),
    by('master/control/handshake-queue.test.ts', 'grows by 10 % a tick while the event loop is in time, up to 200'),
    by('master/control/handshake-queue.test.ts', 'halves above 50 ms, down to 2'),
    by('master/control/handshake-queue.test.ts', 'grows only after 100 ms without delay'),
    by('master/control/handshake-queue.test.ts', 'admits none above 85 % of the memory, also if nothing waits'),
    by('master/control/handshake-queue.test.ts', 'refuses those that have waited 10 s, and no other'),
    by('master/control/handshake-queue.test.ts', 'refuses a handshake beyond 20,000 that wait'),
  ],
  [
    'D101b',
    'A client that disconnects or floods while it waits leaves the queue; a stopping master rejects all that wait.',
    by('master/control/handshake.test.ts', 'forgets a client that disconnects while it waits'),
    by('master/control/handshake.test.ts', 'rejects a client that sends more than 4 KiB while it waits'),
    by('master/control/handshake.test.ts', 'rejects all that wait when the master stops'),
  ],
  [
    'D101c',
    'Workers that connect while the master opens its store wait until it serves, for 10 s in all.',
    by('master/startup.test.ts', 'holds the upgrades of workers, and admits them when it serves'),
    by('master/startup.test.ts', 'rejects an upgrade that it has held for 10 s'),
    by('master/control/startup-upgrades.test.ts', 'are refused immediately without a worker token, and on other paths'),
    by('master/control/handshake-queue.test.ts', 'counts the time that a handshake waited while the master started'),
  ],
]
