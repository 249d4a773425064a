/** The decisions after D61 that no other part of the table covers, one row for each claim. */
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
    'The config in force stays, also after an upgrade.',
    by(
      'operator/fleetworker/reconcile.secrets.test.ts',
      'keeps the config while a source that an earlier release read has no consent (D62)',
    ),
  ],
  [
    'D63',
    'A process of its own account creates the Secrets of tokens.',
    by('operator/bootstrap.apiserver.test.ts', 'are created by a process of their own account'),
  ],
  [
    'D64',
    'A claim that changes hands resets secrets.',
    by(
      'operator/fleetworker/reconcile.tenancy.test.ts',
      'keeps no secret of the previous FleetWorker in fields of the next one %s',
    ),
  ],
  [
    'D65a',
    'A FleetWorker that its namespace may not have changes nothing and shows nothing.',
    by(
      'operator/fleetworker/reconcile.tenancy.test.ts',
      'reports it, changes nothing at the master, and shows no data of the worker',
    ),
  ],
  [
    'D65b',
    'An object that cannot be applied owns no worker.',
    by('operator/fleetworker/reconcile.tenancy.test.ts', 'one that is being deleted, even while its finalizer remains'),
  ],
  [
    'D65c',
    'The map of tenants is required.',
    by('cmd/operator.test.ts', 'requires the map of tenants where another namespace than its own is watched'),
  ],
  [
    'D66',
    'Only its holder, an admin or force replaces a claim, and the operator takes a worker back from a claim of no operator.',
    by(
      'operator/fleetworker/reconcile.test.ts',
      'takes a worker back from a claim of a client that is no operator, and continues to correct drift (D66): %s',
    ),
  ],
  [
    'D70',
    'The token comes first: refused control sockets take no place of a worker.',
    by(
      'master/control/refused-sockets.test.ts',
      'do not keep workers out, and do not count against the handshakes per second',
    ),
  ],
  [
    'D71a',
    'A connection has a bound of requests without a response.',
    by('master/http/bounds.test.ts', 'requests; one more is refused and closes it'),
  ],
  [
    'D71b',
    'One token leaves room for every other, and scoped tokens leave a tenth.',
    by('master/http/bounds.test.ts', '2,000 of one token leave places for every other token'),
    by(
      'master/http/bounds.test.ts',
      'of all scoped tokens together leave a tenth of the places to the admin and the workers',
    ),
  ],
  [
    'D71c',
    'Routes without a token have places of their own; probes need none.',
    by('master/http/bounds.test.ts', 'places of their own; probes and requests with a token are still served'),
  ],
  [
    'D71d',
    'A body has a minimum rate.',
    by('master/http/bounds.test.ts', 'that keeps arriving at 240 bytes per second is read to its end'),
    by('master/http/bounds.test.ts', '2,000 of one token leave places for every other token'),
  ],
  [
    'D71e',
    'The page is served from memory, whatever its readers do.',
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
    'Event streams and bus streams have shares as well.',
    by(
      'master/events/crowd.test.ts',
      'leave places for every other token, and all scoped tokens leave a tenth to the admin',
    ),
    by('master/rpc/http.test.ts', 'have a bound, which leaves those of every other id alone'),
  ],
  [
    'D71h',
    'Dry runs have a rate of their own.',
    by('master/queue/validate.test.ts', 'have a rate of their own for each token'),
  ],
  [
    'D72a',
    'The metrics are made once a second, one at a time.',
    by('master/metrics/shared-text.test.ts', 'is made once a second'),
    by('master/metrics/shared-text.test.ts', 'is not made twice at a time'),
  ],
  [
    'D72b',
    'The metrics may have an address of their own.',
    by('master/metrics/shared-text.test.ts', 'moves /metrics to an address of its own'),
  ],
  [
    'D73a',
    'Refusals before the routes have a detail and a request id.',
    by('master/http/request-head.test.ts', 'has a detail and a request id, and ends the connection'),
  ],
  [
    'D73b',
    'An upgrade waits for the responses before it.',
    by('master/http/request-head.test.ts', 'is refused with 400 after that response'),
  ],
  [
    'D73c',
    'HTTP/1.0 gets no 100 Continue and no upgrade.',
    by('master/http/request-head.test.ts', 'needs no Host, and gets no 100 Continue'),
  ],
  [
    'D73d',
    'The control handshake takes an absolute form and one Authorization header.',
    by('master/http/request-head.test.ts', 'takes a target in absolute form'),
    by('master/http/request-head.test.ts', 'with two Authorization headers is closed with 4401'),
  ],
  [
    'D73e',
    'JSON may have any parameters but another charset.',
    by('master/http/request-head.test.ts', 'is JSON (D73)'),
    by('master/http/request-head.test.ts', 'is 415'),
  ],
  [
    'D73f',
    'An empty chunked body counts as none.',
    by('master/http/request-head.test.ts', 'counts as none where the body may be left out'),
  ],
  [
    'D67',
    'Refusals are backed off together, with or without Retry-After.',
    by('runtime/refusal-limiter.test.ts', 'lets fewer than three requests a second leave while all are refused'),
    by('operator/faults/refusals.test.ts', 'sends at most three requests a second and recovers within 31 s'),
  ],
  [
    'D68',
    'A long Retry-After becomes a wait of at most 30 s.',
    by('runtime/retry-after.test.ts', 'for a long one between 24 and 30 s'),
    by(
      'operator/faults/refusals.test.ts',
      'recovers within 31 s although the last rejection has a Retry-After of an hour',
    ),
  ],
  [
    'D69',
    'Large FleetWorkers are listed in pages by bytes.',
    by('operator/memory.test.ts', 'lists 200 of them and follows a change of each'),
    by('runtime/page-size.test.ts', 'takes a quarter of the items after a page that was too large'),
  ],
  [
    'D79',
    'A submit that is sent again is recognised.',
    by('storage/redis/lost-answers.test.ts', 'does not queue a task anew that another master delivered'),
    by('storage/redis/lost-answers.test.ts', 'of submit are remembered for 1,000 slots'),
  ],
  [
    'D81',
    'Leases of a reserve whose response was lost are given back, uncharged.',
    by('storage/redis/lost-answers.test.ts', 'leases the tasks anew, in order and with nothing charged'),
    by('storage/redis/lost-answers.test.ts', 'a lost answer is charged to no task'),
  ],
  [
    'D82',
    'Inspections share bounds, so that one token cannot stop the store for others.',
    by('master/inspections/inspections.test.ts', 'run a few at a time for one token, while another token gets a place'),
    by('master/inspections/flood.test.ts', 'leaves other tenants at least 0.8 of their rate'),
  ],
  [
    'D83',
    'Outputs never keep a store full.',
    by('master/streams/full-store.test.ts', 'keeps a reserve for tasks, and drops the oldest outputs'),
  ],
  [
    'D84a',
    'Replays move 25 tasks per call of the store.',
    by('master/queue/inspect.test.ts', 'are replayed and selected 25 at a time'),
  ],
  [
    'D84b',
    'The statistics history of a worker is bounded in bytes.',
    by('storage/contract/configs.ts', 'keeps the slots of a worker of 1,024 slots in the history'),
    by('storage/contract/configs.ts', 'keeps a frame above 128 KiB without its slots in the history'),
  ],
  [
    'D85',
    'A namespace of another installed type is read-only.',
    by('master/rpc/primitives.test.ts', 'the namespace of an installed type is written by that type alone'),
  ],
  [
    'D86a',
    'Tokens have names, types and permissions.',
    by('master/catalog/catalog.test.ts', 'returns the types, permissions and name of a token'),
    by('master/matrix.test.ts', 'is refused to a token that may only operate'),
  ],
  [
    'D86b',
    'Short tokens are refused.',
    by('e2e/master.test.ts', 'refuses short tokens unless SVC_ALLOW_SHORT_TOKENS is set'),
  ],
  [
    'D87',
    'Each change and each refused token leaves an audit line.',
    by('master/audit/audit.test.ts', 'writes one line with request, token, actor, peer, route, outcome and count'),
    by(
      'master/audit/audit.test.ts',
      'writes one line at its first use, then one per minute with the number of further uses per peer and reason',
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
    by('master/registry/bound-secrets.test.ts', 'does not say whether a secret that was sent equals the stored one'),
  ],
  [
    'D90',
    'The environment of a worker limits its destinations.',
    by('automations/destinations.test.ts', 'opens no more than the environment of the worker allows'),
  ],
  [
    'D91',
    'An older release is refused by a store with a newer layout.',
    by('storage/redis/start.test.ts', 'after a newer one has raised the layout on the same run id'),
    by('storage/redis/start.test.ts', 'from the first step of a migration on'),
  ],
  [
    'D92',
    'Outputs on a cluster are published to subscribers alone.',
    by('storage/redis/sharded-bus.test.ts', 'publishes no output that has no subscriber'),
    by('storage/redis/sharded-bus.test.ts', 'publishes as the release before this one did'),
  ],
  [
    'D93',
    'Masters of one store export each series once.',
    by('master/metrics/several-masters.test.ts', 'hold each series of the fleet once'),
  ],
  [
    'D94a',
    'Acknowledged changes on SQLite survive a failed fsync and a power cut.',
    by('storage/sqlite/power-cut/power-cut.test.ts', 'has every acknowledged task, %s'),
  ],
  [
    'D94b',
    'A cluster that gains a node keeps its epoch, and one that lost a node keeps serving.',
    by('storage/redis/cluster-nodes.test.ts', 'keeps the epoch and the event log of a cluster that gains a node'),
    by('storage/redis/cluster-nodes.test.ts', 'keeps a master ready while one of three nodes is down'),
  ],
  [
    'D95',
    'An uncaught exception ends the worker process with exit code 1.',
    by('e2e/faults.test.ts', 'fails that task, gives the others back and exits 1'),
  ],
  [
    'D96',
    'A token over plain http to another host causes a warning.',
    by('e2e/faults.test.ts', 'warns at its start when its token travels unencrypted'),
    by(
      'cmd/admin/usage.test.ts',
      'warns on stderr unless the master is on this host, because the token can be intercepted',
    ),
  ],
  [
    'D97a',
    'A master that checks its SQLite file is alive and not ready.',
    by('master/startup.test.ts', 'is alive and not ready, says what it does'),
  ],
  [
    'D97b',
    'Damage of the write-ahead log before an acknowledged change is refused.',
    by('storage/sqlite/open.test.ts', 'does not start when its log is damaged before an acknowledged change'),
  ],
  ['D98', 'The chart refuses autoscaling of workers.', by('chart/values.test.ts', 'say what is wrong with %j')],
  [
    'D99',
    'A listening address without a host listens on both address families.',
    by('e2e/address-families.test.ts', 'serves %s'),
  ],
  [
    'D100a',
    'Values, locks and counters have a bound of namespaces each, which never refuses an existing one or that of a type.',
    by('storage/contract/namespaces.ts', 'are at most 1,000; those that exist and those of automation types'),
    by('storage/contract/namespaces.ts', 'are written to above the bound where they exist already'),
  ],
  [
    'D100b',
    'An empty namespace gives its place to a new one.',
    by('storage/contract/namespaces.ts', 'give their place to a new one when they are empty'),
    by('storage/contract/primitives.ts', 'removes a counter that becomes 0'),
  ],
  [
    'D100c',
    'Several masters keep the bound together, and lose no place of a namespace that holds something.',
    by('storage/redis/namespaces.test.ts', 'are never more than the bound when two masters'),
    by('storage/redis/namespaces.test.ts', 'keep their place when another master registers them'),
    by('storage/redis/namespaces.test.ts', 'that an earlier release filled'),
  ],
]
