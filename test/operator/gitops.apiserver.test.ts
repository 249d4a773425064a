/**
 * Tests FleetWorkers with several writers on a real API server: Git by server-side apply, an autoscaler by /scale,
 * users by kubectl, and the operator itself where it must not write. Also tests objects at the limits: configs of the
 * maximum size and beyond, names of every kind, invalid configs.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SocketWorker } from '../e2e/socket-worker.ts'
import { Cluster, type Resource } from './cluster.ts'
import { withApiServer } from './with-programs.ts'

const FLEET_WORKERS = '/apis/muster.dev/v1alpha1/namespaces/team-a/fleetworkers'
const FLEET_WORKER_SETS = '/apis/muster.dev/v1alpha1/namespaces/team-a/fleetworkersets'
const APPLY = 'application/apply-patch+yaml'
const MERGE = 'application/merge-patch+json'
const MAX_CONFIG_BYTES = 256 * 1_024
const GOOD = 20
const TEST_MS = 180_000

withApiServer('FleetWorkers with several writers', () => {
  let cluster: Cluster

  beforeAll(async () => {
    cluster = await Cluster.start('cluster-wide')
    await cluster.startOperator()
  }, TEST_MS)
  afterAll(() => cluster.close(), 60_000)

  const registered = (...ids: readonly string[]): Promise<unknown> =>
    Promise.all(ids.map((id) => SocketWorker.join(cluster.fleet, 'http-probe', id)))
  const manifest = (name: string, spec: object): object => ({
    apiVersion: 'muster.dev/v1alpha1',
    kind: 'FleetWorker',
    metadata: { name, namespace: 'team-a' },
    spec: { type: 'http-probe', ...spec },
  })
  /** Creates a set that changes no worker. @returns its path. */
  const suspendedSet = async (name: string): Promise<string> => {
    await cluster.ok('POST', FLEET_WORKER_SETS, {
      apiVersion: 'muster.dev/v1alpha1',
      kind: 'FleetWorkerSet',
      metadata: { name, namespace: 'team-a', labels: { team: 'a' } },
      spec: { type: 'http-probe', selector: { idPatterns: [name] }, suspend: true },
    })
    return `${FLEET_WORKER_SETS}/${name}`
  }
  /** Applies without force, as a GitOps engine does: a conflict is an error. */
  const git = (name: string, spec: object, query = ''): Promise<Resource> =>
    cluster.ok<Resource>('PATCH', `${FLEET_WORKERS}/${name}?fieldManager=git${query}`, manifest(name, spec), APPLY)
  const scale = (name: string, replicas: number, manager: string): Promise<unknown> =>
    cluster.ok('PATCH', `${FLEET_WORKERS}/${name}/scale?fieldManager=${manager}`, { spec: { replicas } }, MERGE)
  /** @returns a folder for kustomize: the rights of the operator with the admission policies. */
  const guardFolder = (): string => {
    const folder = join(cluster.server.folder, 'guard')
    mkdirSync(folder, { recursive: true })
    const from = (name: string): string => relative(folder, join(process.cwd(), 'manifests', name))
    writeFileSync(
      join(folder, 'kustomization.yaml'),
      JSON.stringify({ resources: [from('operator/cluster-wide')], components: [from('components/operator-guard')] }),
    )
    return folder
  }
  const plain = ({ metadata, ...rest }: Resource): object => ({
    ...rest,
    metadata: { ...metadata, managedFields: undefined },
  })
  const expectNoDifference = async (name: string, spec: object): Promise<void> => {
    const now = await cluster.resource(name)
    if (now === undefined) throw new Error(`${name} does not exist`)
    expect(plain(await git(name, spec, '&dryRun=All'))).toEqual(plain(now))
  }
  const reconciled = async (name: string, times: number): Promise<void> => {
    for (let n = 0; n < times; n += 1) {
      const before = await reconciles()
      await cluster.kubectl(
        'annotate',
        '-n',
        'team-a',
        'fwk',
        name,
        '--overwrite',
        `muster.dev/reconcile=${n}-${Date.now()}`,
      )
      await cluster.until('it was reconciled', async () => (await reconciles()) > before)
    }
  }
  const reconciles = async (): Promise<number> =>
    Number(/^controller_runtime_reconcile_time_seconds_count\{[^}]*\} (\d+)$/m.exec(await cluster.metrics())?.[1] ?? 0)
  const slotsOf = async (name: string): Promise<unknown> => (await cluster.worker(name))?.config['slots']

  describe('FleetWorkers with several writers', () => {
    it(
      'keep every field that Git applied, after ten reconciles and after a scale',
      async () => {
        const spec = {
          config: { enabled: true, interval_seconds: 60 },
          configFrom: [{ field: 'user_agent', configMapKeyRef: { name: 'agent', key: 'a' } }],
        }
        await registered('git')
        await cluster.ok('POST', '/api/v1/namespaces/team-a/configmaps', {
          metadata: { name: 'agent', annotations: { 'muster.dev/config-for': 'http-probe' } },
          data: { a: 'us' },
        })
        await git('git', spec)
        await cluster.condition('git', 'Synced=InSync')
        await reconciled('git', 10)
        await expectNoDifference('git', spec)
        await cluster.kubectl('scale', '-n', 'team-a', 'fwk/git', '--replicas=4')
        await cluster.until('it is scaled', async () => (await slotsOf('git')) === 4)
        await cluster.condition('git', 'Synced=InSync')
        await reconciled('git', 3)
        await expectNoDifference('git', spec)
        await git('git', spec)
        expect(await cluster.resource('git')).toMatchObject({ spec: { slots: 4 } })
      },
      TEST_MS,
    )

    it(
      'leave slots to an autoscaler if Git omits them: no conflict, no reverts, and the new number within seconds',
      async () => {
        const worker = await cluster.startWorker('scaled')
        const spec = {
          config: { enabled: true, interval_seconds: 60, targets: [{ name: 'self', url: 'http://127.0.0.1:1/' }] },
        }
        await git('scaled', spec)
        await cluster.condition('scaled', 'Synced=InSync')
        const before = (await cluster.worker('scaled'))?.config_gen ?? 0
        const lagsMs: number[] = []
        for (const slots of [2, 3, 5, 1]) {
          await scale('scaled', slots, 'hpa')
          const scaledMs = performance.now()
          await git('scaled', spec)
          await cluster.until(
            'the status shows it',
            async () => (await cluster.resource('scaled'))?.status?.slots === slots,
          )
          lagsMs.push(performance.now() - scaledMs)
          expect(await cluster.ok('GET', `${FLEET_WORKERS}/scaled/scale`)).toMatchObject({
            spec: { replicas: slots },
            status: { replicas: slots, selector: expect.stringMatching(/^muster\.dev\/uid=/) },
          })
        }
        expect((await cluster.worker('scaled'))?.config_gen).toBe(before + 4)
        expect(Math.max(...lagsMs)).toBeLessThan(10_000)
        worker.child.kill('SIGTERM')
        await worker.exited
      },
      TEST_MS,
    )

    it(
      'get their status back after a manual edit, with an unchanged config',
      async () => {
        await registered('hand')
        await cluster.apply('hand', { config: { interval_seconds: 50 } })
        await cluster.condition('hand', 'Synced=InSync')
        const [{ config_gen: gen } = { config_gen: 0 }, status] = [
          await cluster.worker('hand'),
          (await cluster.resource('hand'))?.status,
        ]
        // A status field that the operator does not set belongs to the other writer.
        for (const edit of [
          { state: 'HACKED', selector: 'app=theirs' },
          { config: { generation: 1_000, epoch: 'unknown' } },
          { observedGeneration: 0, conditions: [] },
          {
            conditions: [
              { type: 'Ready', status: 'False', reason: 'No', message: '', lastTransitionTime: '2020-01-01T00:00:00Z' },
            ],
          },
        ]) {
          await cluster.ok('PATCH', `${FLEET_WORKERS}/hand/status`, { status: edit }, MERGE)
          await cluster.until(
            'it is restored',
            async () => {
              const { lastSeenTime: _, ...now } = (await cluster.resource('hand'))?.status ?? {}
              const { lastSeenTime: __, ...before } = status ?? {}
              return JSON.stringify(sorted(now)) === JSON.stringify(sorted(before))
            },
            30_000,
            async () => JSON.stringify([status, (await cluster.resource('hand'))?.status], null, 1),
          )
        }
        expect(await cluster.worker('hand')).toMatchObject({ config_gen: gen, config: { interval_seconds: 50 } })
      },
      TEST_MS,
    )

    it(
      'with configs of 256 KiB are checked by the master, and with one byte more are reported as too large',
      async () => {
        await registered('full')
        const bare = JSON.stringify({ user_agent: '' }).length
        const sized = (bytes: number): object => ({
          workerID: 'full',
          config: { user_agent: 'x'.repeat(bytes - bare) },
        })
        await cluster.ok('POST', FLEET_WORKERS, manifest('full', sized(MAX_CONFIG_BYTES)))
        await cluster.condition('full', 'Stalled=Rejected')
        await cluster.ok('PATCH', `${FLEET_WORKERS}/full`, { spec: sized(MAX_CONFIG_BYTES + 1) }, MERGE)
        await cluster.condition('full', 'Stalled=ConfigInvalid')
        await cluster.ok('PATCH', `${FLEET_WORKERS}/full`, { spec: sized(1_000) }, MERGE)
        await cluster.until(
          'it is reconciled again',
          async () =>
            (await cluster.resource('full'))?.status?.conditions?.some(
              ({ reason }) => reason === 'InSync' || reason === 'Rejected',
            ) === true,
        )
      },
      TEST_MS,
    )

    it.each([
      ['the longest name', `${'a'.repeat(61)}.${'b'.repeat(61)}.${'c'.repeat(61)}.${'d'.repeat(61)}`, 'w-long'],
      ['a name of digits and dots', '0.1', 'w-0.1'],
      ['every character that an ID may contain', 'odd', 'A.b_c:d@e-F'],
      ['the longest ID', 'long-id', 'x'.repeat(253)],
    ])(
      'with %s are in force and can be deleted',
      async (_what, name, workerId) => {
        await registered(workerId)
        await cluster.ok(
          'POST',
          FLEET_WORKERS,
          manifest(name, { workerId, deletionPolicy: 'Reset', config: { interval_seconds: 44 } }),
        )
        await cluster.condition(name, 'Synced=InSync')
        expect(await cluster.worker(workerId)).toMatchObject({
          config: { interval_seconds: 44 },
          managed_by: expect.stringContaining('kubernetes:team-a/'),
        })
        await cluster.kubectl('delete', '-n', 'team-a', 'fwk', name, '--timeout=30s')
        await cluster.until(
          'it is reset',
          async () => (await cluster.worker(workerId))?.config['interval_seconds'] === 30,
        )
      },
      TEST_MS,
    )

    it(
      `with invalid configs report it, while ${GOOD} valid ones are not affected, also after a restart`,
      async () => {
        const deep = `${'{"a":'.repeat(70)}1${'}'.repeat(70)}`
        const poison: readonly (readonly [string, string])[] = [
          ['deep', deep],
          ['proto', '{"__proto__":{"x":1}}'],
          ['proto-inside', '{"a":{"__proto__":{"x":1}}}'],
          ['constructor', '{"constructor":1}'],
          ['integer', '{"interval_seconds":9007199254740993}'],
          ['mask', '{"authorization":"********"}'],
        ]
        for (const [name, config] of poison) {
          await registered(name)
          writeFileSync(
            join(cluster.server.folder, 'poison.json'),
            JSON.stringify(manifest(name, { config: 'HERE' })).replace('"HERE"', config),
          )
          await cluster.kubectl('create', '-f', join(cluster.server.folder, 'poison.json'))
        }
        const good = Array.from({ length: GOOD }, (_, n) => `good-${n}`)
        await registered(...good)
        for (const name of good)
          await cluster.ok('POST', FLEET_WORKERS, manifest(name, { config: { interval_seconds: 33 } }))
        for (const name of good) await cluster.condition(name, 'Synced=InSync')
        for (const [name] of poison) await cluster.condition(name, 'Stalled=ConfigInvalid')
        expect(await cluster.stopOperator()).toBe(0)
        await cluster.startOperator()
        for (const name of good)
          await cluster.ok('PATCH', `${FLEET_WORKERS}/${name}`, { spec: { config: { interval_seconds: 34 } } }, MERGE)
        for (const name of good)
          await cluster.until(
            `${name} is in force`,
            async () => (await cluster.worker(name))?.config['interval_seconds'] === 34,
          )
      },
      TEST_MS,
    )

    it(
      'cannot be changed by the operator: the admission policy permits only finalizers and statuses',
      async () => {
        await registered('guarded')
        const asOperator = async (
          body: object,
          path = `${FLEET_WORKERS}/guarded`,
        ): Promise<readonly [number, string]> => {
          const token = await cluster.operatorToken()
          const { status, body: answer } = await cluster.server.request('PATCH', path, {
            body,
            contentType: MERGE,
            token,
          })
          return [status, JSON.stringify(answer['message'])]
        }
        await cluster.apply('guarded', { config: { interval_seconds: 35, anything: { of: [1, 2.5] } } })
        // The permissions alone do not prevent it.
        expect((await asOperator({ spec: { desiredState: 'Running' } }))[0]).toBe(200)
        await cluster.kubectl('apply', '-k', guardFolder())
        let seconds = 0
        await cluster.until(
          'the policy is active',
          async () => (await asOperator({ spec: { registrationTimeoutSeconds: (seconds += 1) } }))[0] !== 200,
        )
        expect(await asOperator({ spec: { config: { anything: { of: [1, 2.6] } } } })).toEqual([
          403,
          expect.stringContaining('the operator may not change the spec of a FleetWorker'),
        ])
        const set = await suspendedSet('guarded')
        expect(await asOperator({ spec: { selector: { idPatterns: ['*'] } } }, set)).toEqual([
          403,
          expect.stringContaining('the operator may not change the spec of a FleetWorker or FleetWorkerSet'),
        ])
        for (const path of [`${FLEET_WORKERS}/guarded`, set]) {
          for (const metadata of [{ annotations: { a: 'b' } }, { labels: { a: 'b' } }])
            expect(await asOperator({ metadata }, path)).toEqual([
              403,
              expect.stringContaining('the operator may only change the finalizers'),
            ])
          expect(await asOperator({ metadata: { finalizers: ['muster.dev/release'] } }, path)).toEqual([200, undefined])
        }
        await cluster.ok('PATCH', set, { metadata: { finalizers: null } }, MERGE)
        await cluster.kubectl('apply', '-n', 'team-a', '-f', 'manifests/operator/scale-workers/rights.yaml')
        await cluster.createDefaultAccount()
        const pod = '/api/v1/namespaces/team-a/pods/guarded'
        await cluster.ok('POST', '/api/v1/namespaces/team-a/pods', {
          metadata: { name: 'guarded', annotations: { kept: 'x' } },
          spec: { containers: [{ name: 'c', image: 'i' }] },
        })
        const cost = (value: string | null): object => ({
          metadata: { annotations: { 'controller.kubernetes.io/pod-deletion-cost': value } },
        })
        await cluster.until('pods are guarded', async () => (await asOperator(cost('1'), pod))[0] === 403)
        for (const [body, message] of [
          [cost('-1001'), 'may only set the deletion cost of a pod to -1000'],
          [{ metadata: { annotations: { other: 'x' } } }, 'may only set the deletion cost'],
          [{ metadata: { annotations: { kept: null } } }, 'may only set the deletion cost'],
          [{ metadata: { labels: { a: 'b' } } }, 'may only change the deletion cost of a pod'],
          [{ spec: { activeDeadlineSeconds: 1 } }, 'may only change the deletion cost of a pod'],
        ] as const)
          expect(await asOperator(body, pod)).toEqual([403, expect.stringContaining(message)])
        expect(await asOperator(cost('-1000'), pod)).toEqual([200, undefined])
        expect(await asOperator(cost(null), pod)).toEqual([200, undefined])
        await cluster.ok('PATCH', set, { spec: { workload: { kind: 'StatefulSet', name: 'none' } } }, MERGE)
        const replicas = (count: number): object => ({ spec: { replicas: count } })
        expect(await asOperator(replicas(3), `${set}/scale`)).toEqual([200, undefined])
        expect(await asOperator(replicas(4), `${set}/scale`)).toEqual([
          403,
          expect.stringContaining('the operator may only set the replicas of a FleetWorkerSet that has none'),
        ])
        await cluster.ok('DELETE', set)
        await cluster.apply('guarded', { deletionPolicy: 'Deregister', config: { interval_seconds: 36 } })
        await cluster.condition('guarded', 'Synced=InSync')
        await cluster.kubectl('delete', '-n', 'team-a', 'fwk', 'guarded', '--timeout=60s')
        expect(await cluster.worker('guarded')).toBeUndefined()
      },
      TEST_MS,
    )

    it(
      'nor can the history of other kinds: the admission policy permits only the revisions of sets',
      async () => {
        const revisions = '/apis/apps/v1/namespaces/team-a/controllerrevisions'
        const ownedBy = (apiVersion: string, kind: string): object => ({
          metadata: {
            name: 'web-1',
            ownerReferences: [{ apiVersion, kind, name: 'web', uid: 'u', controller: true }],
          },
          revision: 1,
          data: { config: {} },
        })
        const asOperator = async (method: string, path: string, body?: object): Promise<string> => {
          const token = await cluster.operatorToken()
          const response = await cluster.server.request(method, path, { ...(body !== undefined && { body }), token })
          return response.status < 300 ? 'ok' : String(response.body['message'])
        }
        const foreign = ownedBy('apps/v1', 'StatefulSet')
        await cluster.ok('POST', revisions, foreign)
        await cluster.kubectl('apply', '-k', guardFolder())
        await cluster.until('the policy is active', async () =>
          (await asOperator('POST', `${revisions}?dryRun=All`, foreign)).includes('may only create'),
        )
        expect(await asOperator('DELETE', `${revisions}/web-1`)).toContain(
          'the operator may only create and delete ControllerRevisions of a FleetWorkerSet',
        )
        await cluster.ok('DELETE', `${revisions}/web-1`)
        expect(await asOperator('POST', revisions, ownedBy('muster.dev/v1alpha1', 'FleetWorkerSet'))).toBe('ok')
        expect(await asOperator('DELETE', `${revisions}/web-1`)).toBe('ok')
      },
      TEST_MS,
    )
  })
})

/** Sorts the keys of every object. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, each]) => [key, sorted(each)]),
  )
}
