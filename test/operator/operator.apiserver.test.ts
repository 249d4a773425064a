/**
 * Tests `muster operator` as a platform team uses it: with a real API server, a real master, real workers, and kubectl.
 * Each test has its own worker, so that they share one operator.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { ADMIN_TOKEN } from '../e2e/fleet.ts'
import { SLACK } from '../kit/index.ts'
import { Cluster, type Resource, type Worker } from './cluster.ts'
import { withApiServer } from './with-programs.ts'

const PROBE = { interval_seconds: 60, targets: [{ name: 'self', url: 'http://127.0.0.1:1/' }] }
const READY_MS = 60_000
const SECRET = 'hunter2-the-canary'

withApiServer('muster operator', () => {
  let cluster: Cluster

  beforeAll(async () => {
    cluster = await Cluster.start('cluster-wide')
    await cluster.allowSecrets('team-a', 'probe')
    await cluster.startOperator()
  }, 180_000)
  afterAll(() => cluster.close(), 60_000)

  /** Creates a worker with a FleetWorker and waits until it is in force. */
  const ready = async (name: string, spec: object = {}): Promise<void> => {
    await cluster.startWorker(name)
    await cluster.apply(name, { config: { enabled: true, ...PROBE }, ...spec })
    await cluster.kubectl('wait', '-n', 'team-a', `fleetworker/${name}`, '--for=condition=Ready', '--timeout=60s')
  }
  const configOf = async (name: string): Promise<Worker['config'] | undefined> => (await cluster.worker(name))?.config

  /**
   * Waits until every worker has reported its slots and every status shows them: the operator's table reads statistics
   * once a minute.
   */
  const settled = async (): Promise<void> => {
    const slotsOf = async (): Promise<unknown> =>
      (
        await cluster.fleet.ok<{ worker_id: string; current_stats: { slots: number } | null }[]>(
          'GET',
          '/automations/http-probe/workers',
        )
      ).map(({ worker_id: id, current_stats: stats }) => [id, stats?.slots])
    await cluster.until(
      'statuses show what workers reported',
      async () => {
        await cluster.kubectl(
          'annotate',
          '-n',
          'team-a',
          'fwk',
          '--all',
          '--overwrite',
          `muster.dev/reconcile=${Date.now()}`,
        )
        await new Promise((resolve) => setTimeout(resolve, 2_000)) // Status writes are batched for half a second.
        const slots = new Map((await slotsOf()) as [string, number | undefined][])
        const { items } = await cluster.ok<{
          items: (Resource & { spec: { workerID?: string; workerId?: string } })[]
        }>('GET', '/apis/muster.dev/v1alpha1/namespaces/team-a/fleetworkers')
        return items.every(
          ({ metadata: { name }, spec: { workerId = name, workerID = workerId }, status }) =>
            slots.get(workerID) !== undefined && slots.get(workerID) === status?.slots,
        )
      },
      150_000,
    )
  }

  describe('muster operator', () => {
    it(
      'applies a FleetWorker, and shows it in kubectl wait, get, explain and scale',
      async () => {
        await ready('plain')
        expect(await cluster.worker('plain')).toMatchObject({
          config: { enabled: true, interval_seconds: 60 },
          managed_by: expect.stringMatching(/^kubernetes:team-a\/plain#[0-9a-f]{8}$/),
        })
        await cluster.apply('plain', { config: { enabled: true, ...PROBE, interval_seconds: 30 }, slots: 2 })
        await cluster.kubectl('wait', '-n', 'team-a', 'fwk/plain', '--for=condition=Ready', '--timeout=60s')
        expect(await configOf('plain')).toMatchObject({ interval_seconds: 30, slots: 2 })
        expect(await cluster.kubectl('get', '-n', 'team-a', 'fwk', 'plain')).toMatch(
          /^NAME +TYPE +STATE +READY +SYNCED +GEN +SLOTS .*\nplain +http-probe +RUNNING +True +True /,
        )
        await cluster.kubectl('scale', '-n', 'team-a', 'fwk/plain', '--replicas=3')
        await cluster.until('it is scaled', async () => (await configOf('plain'))?.['slots'] === 3)
        expect(await cluster.kubectl('explain', 'fleetworker.spec')).toMatch(
          /deletionPolicy\t<string>\n[^]*managementPolicy\t<string>/,
        )
        // A field that is no longer named gets its default again.
        await cluster.apply('plain', { config: { enabled: true } })
        await cluster.until(
          'the other fields have their defaults',
          async () =>
            (await configOf('plain'))?.['interval_seconds'] === 30 &&
            JSON.stringify((await configOf('plain'))?.['targets']) === '[]',
        )
      },
      READY_MS * 3,
    )

    it(
      'deletes according to deletionPolicy: Retain keeps the config, Reset resets it, Deregister forgets the worker',
      async () => {
        await ready('kept')
        await ready('reset', { deletionPolicy: 'Reset' })
        await ready('forgotten', { deletionPolicy: 'Deregister' })
        expect((await cluster.resource('kept'))?.metadata.finalizers).toBeUndefined()
        expect((await cluster.resource('reset'))?.metadata.finalizers).toEqual(['muster.dev/release'])
        const before = (await cluster.worker('forgotten'))?.config_gen ?? 0
        await cluster.kubectl('delete', '-n', 'team-a', 'fwk', 'kept', 'reset', 'forgotten', '--timeout=60s')
        await cluster.until('the claim is released', async () => (await cluster.worker('kept'))?.managed_by === null)
        expect(await configOf('kept')).toMatchObject({ enabled: true, interval_seconds: 60 })
        expect(await cluster.worker('reset')).toMatchObject({
          managed_by: null,
          config: { enabled: false, targets: [] },
        })
        // Its process is running and registers again: idle, with the next generation (D46).
        await cluster.until(
          'the worker is registered again',
          async () => ((await cluster.worker('forgotten'))?.config_gen ?? 0) > before + 1,
        )
        expect(await configOf('forgotten')).toMatchObject({ enabled: false, targets: [] })
      },
      READY_MS * 4,
    )

    it('waits for a Secret, sends its value, and shows it nowhere', async () => {
      await cluster.startWorker('secret')
      await cluster.apply('secret', {
        config: { enabled: true },
        configFrom: [{ field: 'authorization', secretKeyRef: { name: 'probe', key: 'token' } }],
      })
      await cluster.condition('secret', 'Synced=SourceNotFound')
      expect((await cluster.worker('secret'))?.config).toMatchObject({ enabled: false })
      await cluster.ok('POST', '/api/v1/namespaces/team-a/secrets', {
        metadata: { name: 'probe', annotations: { 'muster.dev/config-for': 'http-probe' } },
        stringData: { token: SECRET },
      })
      await cluster.condition('secret', 'Ready=True', 120_000)
      expect(await configOf('secret')).toMatchObject({ enabled: true, authorization: '********' })
      const events = await cluster.kubectl('get', 'events', '-A', '-o', 'yaml')
      const objects = await cluster.kubectl('get', 'fwk', '-A', '-o', 'yaml')
      const output = events + objects + cluster.log + (await cluster.metrics())
      for (const secret of [SECRET, Buffer.from(SECRET).toString('base64').slice(0, -2), ADMIN_TOKEN])
        expect(output).not.toContain(secret)
    }, 240_000)

    it(
      'reports which field the master rejects, and continues when it is corrected',
      async () => {
        await cluster.startWorker('wrong')
        await cluster.apply('wrong', { config: { enabled: true, interval_seconds: 0 } })
        await cluster.condition('wrong', 'Stalled=Rejected')
        const synced = (await cluster.resource('wrong'))?.status?.conditions?.find(({ type }) => type === 'Synced')
        expect(synced?.message).toContain('interval_seconds')
        await cluster.apply('wrong', { config: { enabled: true, interval_seconds: 5 } })
        await cluster.condition('wrong', 'Ready=True')
      },
      READY_MS * 2,
    )

    it(
      'reports an unknown type, and a worker that is not registered',
      async () => {
        await cluster.apply('nothing', { type: 'no-such-automation' })
        await cluster.condition('nothing', 'Stalled=UnknownType')
        await cluster.apply('missing', { registrationTimeoutSeconds: 1 })
        await cluster.condition('missing', 'Stalled=RegistrationTimeout')
        await cluster.kubectl('delete', '-n', 'team-a', 'fwk', 'nothing', 'missing', '--timeout=30s')
      },
      READY_MS * 2,
    )

    it(
      'assigns one worker to the older of two FleetWorkers, and to the other when the older is deleted',
      async () => {
        await cluster.startWorker('shared')
        await cluster.apply('first', { workerID: 'shared', config: { enabled: true, ...PROBE } })
        await cluster.condition('first', 'Ready=True')
        await new Promise((resolve) => setTimeout(resolve, 1_000)) // Creation times have a resolution of one second.
        await cluster.apply('second', { workerId: 'shared', config: { enabled: true, ...PROBE, interval_seconds: 7 } })
        await cluster.condition('second', 'Stalled=OwnershipConflict')
        expect(await configOf('shared')).toMatchObject({ interval_seconds: 60 })
        await cluster.kubectl('delete', '-n', 'team-a', 'fwk', 'first', '--timeout=30s')
        await cluster.condition('second', 'Ready=True')
        expect(await configOf('shared')).toMatchObject({ interval_seconds: 7 })
      },
      READY_MS * 3,
    )

    it(
      'reverts an edit on the dashboard; with Warn it reports the edit and its author',
      async () => {
        await ready('edited')
        const edit = (interval: number) =>
          cluster.fleet.ok('PATCH', '/automations/http-probe/workers/edited/config', { interval_seconds: interval })
        await edit(11)
        const editedMs = performance.now()
        await cluster.until('it is reverted', async () => (await configOf('edited'))?.['interval_seconds'] === 60)
        expect(performance.now() - editedMs).toBeLessThan(2_000 * SLACK)
        await cluster.apply('edited', { config: { enabled: true, ...PROBE }, managementPolicy: 'Warn' })
        await cluster.condition('edited', 'Ready=True')
        await edit(12)
        await cluster.condition('edited', 'Synced=DriftTolerated')
        expect((await cluster.resource('edited'))?.status).toMatchObject({
          drift: { paths: ['/interval_seconds'], count: 1, by: 'admin' },
        })
        expect(await configOf('edited')).toMatchObject({ interval_seconds: 12 })
      },
      READY_MS * 3,
    )

    it('writes nothing after a restart with an unchanged state: 0 PATCHes and 0 status writes', async () => {
      await ready('quiet')
      await settled()
      expect(await cluster.stopOperator()).toBe(0)
      const { spec: lease } = await cluster.ok<{ spec: { holderIdentity: string } }>(
        'GET',
        '/apis/coordination.k8s.io/v1/namespaces/muster/leases/muster-operator',
      )
      expect(lease.holderIdentity).toBe('')
      const generations = async (): Promise<unknown> =>
        (
          await cluster.fleet.ok<{ worker_id: string; config_gen: number }[]>('GET', '/automations/http-probe/workers')
        ).map(({ worker_id: id, config_gen: gen }) => [id, gen])
      const [before, sinceMs] = [await generations(), Date.now()]
      await cluster.startOperator()
      await new Promise((resolve) => setTimeout(resolve, 5_000)) // Any write would happen immediately.
      const writes = cluster
        .audit(sinceMs)
        .filter(({ verb, objectRef }) => verb === 'patch' && objectRef?.resource === 'fleetworkers')
      expect(writes.map(({ requestURI }) => requestURI)).toEqual([])
      expect(await generations()).toEqual(before)
    }, 300_000)

    it('applies everything again, and pending edits, when the master restarts with an empty store', async () => {
      await ready('outlived')
      const uid = (await cluster.resource('outlived'))?.metadata.uid
      await cluster.fleet.stopMaster()
      await cluster.apply('outlived', { config: { enabled: true, ...PROBE, interval_seconds: 9 } })
      await cluster.condition('outlived', 'Ready=MasterUnreachable', 120_000)
      await cluster.fleet.startMaster()
      await cluster.condition('outlived', 'Ready=True', 90_000)
      expect(await configOf('outlived')).toMatchObject({ interval_seconds: 9 })
      expect((await cluster.resource('outlived'))?.metadata.uid).toBe(uid)
      await cluster.until('the reset is reported', async () =>
        (await cluster.kubectl('get', 'events', '-n', 'muster')).includes('MasterStateReset'),
      )
    }, 400_000)

    it('serves health, readiness and metrics', async () => {
      const status = async (path: string): Promise<number> => (await fetch(`${cluster.metricsUrl}${path}`)).status
      expect([await status('/healthz'), await status('/readyz'), await status('/nothing')]).toEqual([200, 200, 404])
      const metrics = await cluster.metrics()
      for (const name of [
        'controller_runtime_reconcile_total',
        'workqueue_depth',
        'leader_election_master_status',
        'rest_client_requests_total',
        'svc_operator_workers',
        'svc_operator_edit_to_applied_seconds_count',
        'svc_operator_breaker_state',
      ])
        expect(metrics).toMatch(new RegExp(`^${name}[ {]`, 'm'))
      expect(metrics).not.toContain('team-a/')
    })
  })
})
