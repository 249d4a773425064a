/**
 * Bugs that operators of this kind have had, each with the test that would find it here: its file below test/, and its
 * title or the name of its case. This test checks that the listed tests exist.
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
  ['write loop: 1 against 1.0', RECONCILE, '1 instead of 1.0'],
  ['write loop: key order', RECONCILE, 'another order of keys'],
  ['write loop: the defaults of the master', RECONCILE, 'defaults written out'],
  ['write loop: the mask', SECRETS, 'records a secret in the status before it is sent, and never sends it again'],
  ['write loop: null', RECONCILE, 'null where it is a value'],
  [
    'triggered by its own status',
    'operator/kube/cache.test.ts',
    "is none for labels and for the operator's own status, and `sweep` for a status of another writer",
  ],
  ['stale read after its own write', RECONCILE, 'does not decide by a view that is older than its own write'],
  ['removed field', RECONCILE, 'resets a field that is no longer named, and leaves a field that it never named'],
  ['removed secret field', SECRETS, 'resets a secret that is no longer named'],
  ['crash between PATCH and status', SECRETS, 'resets a secret after a crash between its PATCH and the status'],
  [
    'secret changed on the dashboard, everything visible equal',
    SECRETS,
    'detects a secret that was changed on the dashboard while all visible fields are equal',
  ],
  ['another epoch', RECONCILE, 'writes everything again to another store'],
  [
    'generation rolled back',
    'operator/fleet/stores.test.ts',
    'with a higher generation shows that the store was restored, reported once a minute',
  ],
  ['worker ahead', RECONCILE, 'reports that the worker is ahead, and waits'],
  [
    'worker forgotten and registered again',
    RECONCILE,
    'configures a worker again that was forgotten and registers again',
  ],
  [
    'two FleetWorkers for one worker',
    'operator/operator.apiserver.test.ts',
    'assigns one worker to the older of two FleetWorkers, and to the other when the older is deleted',
  ],
  [
    'three of them, and the owner deleted',
    RECONCILE,
    'reports 2 of 3 resources for one worker as conflicting until the owner is deleted',
  ],
  ['two clusters', RECONCILE, 'leaves a worker that another operator claims, also one that it took over'],
  ['two operators of one master', REPLICAS, 'with one namespace each manage one master, and claims separate them'],
  [
    'same name, new uid, mid-PATCH',
    RECONCILE,
    'records nothing of a PATCH for a new resource of the same name that was created during it',
  ],
  [
    'generation of the config moved during a PATCH',
    RECONCILE,
    'compares again when the generation changed during a PATCH',
  ],
  [
    'generation of the object moved during a PATCH',
    RECONCILE,
    'writes the newer spec after a PATCH of the older one, whose status does not count for the newer',
  ],
  [
    'Secret rotated after a rejected config',
    SECRETS,
    'retries a rejected config when the Secret is rotated, and not before',
  ],
  ['Secret deleted', SECRETS, 'keeps the config while a Secret is missing, and continues when it exists'],
  ['lease lost mid-PATCH', FAILURES, 'is aborted by its signal during a PATCH'],
  [
    'lease lost while a call waits',
    'operator/fleet/writer.test.ts',
    'is not sent once another replica is the leader, even if it had to wait',
  ],
  [
    'leader suspended for twice the lease',
    REPLICAS,
    'never overwrite each other: a leader that was frozen for twice its lease resumes and writes nothing',
  ],
  [
    'clock one hour off',
    'operator/kube/leadership.test.ts',
    'never has two holders: a holder stops before the next one starts, whatever their wall clocks show',
  ],
  [
    'event storm in an outage',
    'operator/kube/events.test.ts',
    'tries three times while the API server is unavailable, then counts a drop and continues',
  ],
  ['status storm in an outage', FAILURES, 'does not report an unavailable master for a minute, then reports it once'],
  [
    'edits during a full pass of 10,000',
    'operator/kube/work-queue.test.ts',
    'processes an edit before a full pass of 10,000',
  ],
  ['half-open watch', 'operator/kube/watch-loop.test.ts', 'closes a half-open watch after 90 s and misses nothing'],
  ['half-open feed', 'client/feed.test.ts', 'replaces a stream without data for 45 s, and keeps one with comments'],
  ['storm of 410', 'operator/kube/watch-loop.test.ts', 'survives a storm of 410 with growing delays'],
  ['API server restarted', LIFE, 'misses no edit around a restart of the API server'],
  [
    'token of the master rotated',
    'operator/fleet/outage.test.ts',
    'falls back to the previous one if its file is newer than the master, and each new token is tried',
  ],
  ['token of the API server rotated', 'operator/kube/transport.test.ts', 'reads its credentials once a second'],
  ['definition deleted and installed again', LIFE, 'continues after its definition was deleted and installed again'],
  ['definition upgraded', LIFE, 'continues while its definition is upgraded, and writes nothing because of it'],
  ['namespace terminating', DELETION, 'completes while its namespace is terminating'],
  ['namespace terminating while no operator runs', LIFE, 'completes the deletion of a namespace that waited for it'],
  [
    'finalizer, and a permanently unavailable master',
    DELETION,
    'completes after 10 minutes when the master is permanently unavailable',
  ],
  ['invalid configs next to 20 valid ones', FAILURES, 'keeps reconciling 20 valid resources next to invalid ones'],
  ['ten thousand levels', FAILURES, 'survives a config with ten thousand levels'],
  [
    '256 KiB and a byte more',
    'operator/gitops.apiserver.test.ts',
    'with configs of 256 KiB are checked by the master, and with one byte more are reported as too large',
  ],
  [
    'drain, and a process that restarts',
    POLICY,
    'drains every process of the worker, and is Ready when the worker has stopped',
  ],
  ['Warn across an outage and a restart', POLICY, 'Warn keeps its state across an outage and a restart'],
  [
    'ignoreDifferences under a rewritten parent',
    POLICY,
    'keeps ignored paths when their parent is rewritten, and sets them once',
  ],
  [
    'autoscaler against Git on slots',
    'operator/gitops.apiserver.test.ts',
    'leave slots to an autoscaler if Git omits them: no conflict, no reverts, and the new number within seconds',
  ],
  [
    'claim of a FleetWorker that was deleted while no operator ran',
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

  it('does not count a missing or skipped test', () => {
    expect([
      runs("  it('ends', () => {", 'ends'),
      runs("  it.skip('ends', () => {", 'ends'),
      runs('  // it ends', 'ends'),
    ]).toEqual([true, false, false])
  })
})
