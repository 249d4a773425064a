/**
 * Bugs that operators of this kind have had, each with the test that would find it here: its file below test/, and its title
 * or the name of its case as it stands there. This holds the list against the files; that the tests pass is theirs to show.
 */
import { describe, expect, it } from '@jest/globals'
import { readFileSync } from 'node:fs'

const RECONCILE = 'operator/fleetworker/reconcile.test.ts'
const DELETION = 'operator/fleetworker/reconcile.deletion.test.ts'
const FAILURES = 'operator/fleetworker/reconcile.failures.test.ts'
const POLICY = 'operator/fleetworker/reconcile.policy.test.ts'
const SECRETS = 'operator/fleetworker/reconcile.secrets.test.ts'
const LIFE = 'operator/life.apiserver.test.ts'
const REPLICAS = 'operator/replicas.apiserver.test.ts'

const CLASSES: readonly (readonly [bug: string, file: string, title: string])[] = [
  ['write loop: 1 against 1.0', RECONCILE, '1 beside 1.0'],
  ['write loop: key order', RECONCILE, 'another order of keys'],
  ['write loop: the defaults of the master', RECONCILE, 'defaults written out'],
  ['write loop: the mask', SECRETS, 'names a secret in the status before it is sent, and never sends it again'],
  ['write loop: null', RECONCILE, 'null where it is one'],
  ['triggered by its own status', 'operator/kube/cache.test.ts', 'is none for labels and for a status of ours'],
  ['stale read after its own write', RECONCILE, 'does not judge by a view that is older than its own write'],
  ['removed field', RECONCILE, 'takes back a field that is no longer named'],
  ['removed secret field', SECRETS, 'takes back a secret that is no longer named'],
  ['crash between PATCH and status', SECRETS, 'takes back a secret after a crash between its PATCH and the status'],
  [
    'secret changed on the dashboard, everything visible equal',
    SECRETS,
    'finds a secret changed on the dashboard while everything that can be seen is equal',
  ],
  ['another epoch', RECONCILE, 'writes everything again to another store'],
  ['generation rolled back', 'operator/fleet/stores.test.ts', 'of a higher generation shows a store that went back'],
  ['worker ahead', RECONCILE, 'says that the worker is ahead, and waits'],
  ['worker forgotten and back', RECONCILE, 'configures a worker again that was forgotten and came back'],
  [
    'two FleetWorkers for one worker',
    'operator/operator.apiserver.test.ts',
    'lets the older of two FleetWorkers for one worker have it',
  ],
  [
    'three of them, and the owner deleted',
    RECONCILE,
    'names 2 of 3 resources for one worker as the others, and hands it on when the owner goes',
  ],
  ['two clusters', RECONCILE, 'leaves a worker that another operator holds, also one that it was robbed of'],
  ['two operators of one master', REPLICAS, 'with a namespace each serve one master, and claims keep them apart'],
  [
    'same name, new uid, mid-PATCH',
    RECONCILE,
    'gives nothing of a PATCH to a namesake that came while it was under way',
  ],
  ['generation of the config moved during a PATCH', RECONCILE, 'compares anew when the generation moved under a PATCH'],
  ['generation of the object moved during a PATCH', RECONCILE, 'writes the newer spec after a PATCH of the older'],
  [
    'Secret rotated while parked on 422',
    SECRETS,
    'tries again what was refused when the Secret is rotated, and not before',
  ],
  ['Secret deleted', SECRETS, 'keeps what the master has while a Secret is missing, and goes on when it is there'],
  ['lease lost mid-PATCH', FAILURES, 'ends with its signal in the middle of a PATCH'],
  [
    'lease lost while a call waits',
    'operator/fleet/writer.test.ts',
    'leaves no more once another leads, also when it had to wait',
  ],
  [
    'leader stopped for twice the lease',
    REPLICAS,
    'never write over each other: a leader that was frozen for twice its lease wakes and writes nothing',
  ],
  [
    'clock one hour off',
    'operator/kube/leadership.test.ts',
    'is not taken by two: a holder has stopped before the next begins, whatever their wall clocks say',
  ],
  [
    'event storm in an outage',
    'operator/kube/events.test.ts',
    'tries three times while the API server is away, then counts a drop and goes on',
  ],
  ['status storm in an outage', FAILURES, 'says nothing of the master being away for a minute, then says it once'],
  [
    'edits during a full pass of 10,000',
    'operator/kube/work-queue.test.ts',
    'overtakes a full pass of 10,000 with an edit',
  ],
  ['half-open watch', 'operator/kube/watch-loop.test.ts', 'gives a half-open watch up after 90 s and misses nothing'],
  [
    'half-open feed',
    'client/feed.test.ts',
    'replaces a stream that says nothing for 45 s, and keeps one whose comments come',
  ],
  ['storm of 410', 'operator/kube/watch-loop.test.ts', 'survives a storm of 410 with growing pauses'],
  ['API server restarted', LIFE, 'misses no edit around a restart of the API server'],
  [
    'token of the master rotated',
    'operator/fleet/away.test.ts',
    'of a file that is ahead of the master falls back to the one before, and each new one is tried',
  ],
  ['token of the API server rotated', 'operator/kube/transport.test.ts', 'asks for its credentials each time'],
  ['definition deleted and back', LIFE, 'goes on after its definition was deleted and installed again'],
  ['definition upgraded', LIFE, 'goes on while its definition is upgraded, and writes nothing because of it'],
  ['namespace terminating', DELETION, 'ends while its namespace is terminating'],
  ['namespace terminating while no operator runs', LIFE, 'lets a namespace end that waited for its return'],
  ['finalizer, and the master gone for good', DELETION, 'ends after 10 minutes when the master is gone for good'],
  ['poison beside 20 good ones', FAILURES, 'keeps 20 good resources going beside what no config may hold'],
  ['ten thousand levels', FAILURES, 'does not go down with a config of ten thousand levels'],
  ['256 KiB and a byte more', 'operator/gitops.apiserver.test.ts', 'with configs of 256 KiB are the master'],
  ['drain, and a process that returns', POLICY, 'drains every process of the worker, and is Ready once it is gone'],
  ['Warn across an outage and a restart', POLICY, 'Warn keeps what it knows across an outage and a restart'],
  [
    'ignoreDifferences under a rewritten parent',
    POLICY,
    'leaves ignored places alone under a rewritten parent, and sows them once',
  ],
  [
    'autoscaler against Git on slots',
    'operator/gitops.apiserver.test.ts',
    'leave slots to an autoscaler that Git does not name them for',
  ],
  [
    'claim left by what went while no operator ran',
    'operator/faults/claims.test.ts',
    'the next operator releases a claim whose FleetWorker was deleted before: %s',
  ],
]

/** A test or case that runs: its title behind a quote, and not skipped. */
const runs = (line: string, title: string): boolean =>
  [`'${title}`, `"${title}`, `\`${title}`].some((each) => line.includes(each)) && !/\b(?:skip|todo)\b/.test(line)

describe('each class of bugs', () => {
  it.each(CLASSES)('has a test: %s', (_, file, title) => {
    const lines = readFileSync(`test/${file}`, 'utf8')
      .split('\n')
      .filter((line) => runs(line, title))
    expect(lines).toHaveLength(1)
  })

  it('has one, and not one that is gone or skipped', () => {
    expect([
      runs("  it('ends', () => {", 'ends'),
      runs("  it.skip('ends', () => {", 'ends'),
      runs('  // it ends', 'ends'),
    ]).toEqual([true, false, false])
  })
})
