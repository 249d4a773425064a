/**
 * Tests the operator during changes of the cluster, on a real API server with its controllers: namespaces that are
 * deleted, a definition that is missing, removed and restored, a server that restarts, and one that is restored from a
 * backup.
 */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { parse } from 'yaml'
import { SocketWorker } from '../e2e/socket-worker.ts'
import { Cluster } from './cluster.ts'
import type { Replica } from './replica.ts'
import { finalizerCommand } from './finalizer-command.ts'
import type { CustomResourceDefinition } from './real-apiserver.ts'
import { withApiServer } from './with-programs.ts'

const CRD = 'crds/fleetworkers.muster.dev.yaml'
const POLICIES = ['Retain', 'Reset', 'Deregister'] as const
const TEST_MS = 240_000
const ENDS_WITHIN_MS = 90_000

withApiServer('the operator during changes of the cluster', () => {
  let cluster: Cluster
  let operator: Replica

  beforeAll(async () => {
    cluster = await Cluster.start('cluster-wide')
    await cluster.server.startControllers()
    operator = await cluster.startReplica()
    await cluster.until('it leads', () => operator.leads())
  }, TEST_MS)
  afterAll(() => cluster.close(), 60_000)

  const join = async (...names: readonly string[]): Promise<void> => {
    for (const name of names) await SocketWorker.join(cluster.fleet, 'http-probe', name)
  }
  const intervalOf = async (name: string): Promise<unknown> => (await cluster.worker(name))?.config['interval_seconds']
  const restarted = async (): Promise<void> => {
    operator = await cluster.startReplica()
    await cluster.until('it leads', () => operator.leads())
  }
  /** Creates a FleetWorker of each policy in its own namespace. */
  const filled = async (namespace: string): Promise<void> => {
    await cluster.ok('POST', '/api/v1/namespaces', { metadata: { name: namespace } })
    for (const policy of POLICIES) {
      const name = `${namespace}-${policy.toLowerCase()}`
      await join(name)
      await cluster.apply(name, { deletionPolicy: policy, config: { interval_seconds: 40 } }, namespace)
      await cluster.condition(name, 'Synced=InSync', undefined, namespace)
    }
  }
  const isGone = async (namespace: string): Promise<boolean> =>
    (await cluster.server.request('GET', `/api/v1/namespaces/${namespace}`)).status === 404
  const expectReleased = async (namespace: string): Promise<void> => {
    await cluster.until(
      'claims are released',
      async () => (await cluster.worker(`${namespace}-retain`))?.managed_by === null,
      90_000,
    )
    expect(await cluster.worker(`${namespace}-retain`)).toMatchObject({ config: { interval_seconds: 40 } })
    expect(await cluster.worker(`${namespace}-reset`)).toMatchObject({
      config: { interval_seconds: 30 },
      managed_by: null,
    })
    expect(await cluster.worker(`${namespace}-deregister`)).toBeUndefined()
  }

  describe('the operator during changes of the cluster', () => {
    it(
      'releases workers when their namespace is deleted, according to deletionPolicy',
      async () => {
        await filled('ends')
        await cluster.kubectl('delete', 'namespace', 'ends', '--wait=false')
        await cluster.until('the namespace is deleted', () => isGone('ends'), ENDS_WITHIN_MS)
        await expectReleased('ends')
      },
      TEST_MS,
    )

    it(
      'completes the deletion of a namespace that waited for it',
      async () => {
        await filled('waits')
        expect(await operator.end('SIGTERM')).toBe(0)
        await cluster.kubectl('delete', 'namespace', 'waits', '--wait=false')
        await cluster.until(
          'what has no finalizer is deleted',
          async () => (await cluster.resource('waits-retain', 'waits')) === undefined,
          60_000,
        )
        expect((await cluster.resource('waits-reset', 'waits'))?.metadata.finalizers).toEqual(['muster.dev/release'])
        await restarted()
        await cluster.until('the namespace is deleted', () => isGone('waits'), ENDS_WITHIN_MS)
        await expectReleased('waits')
      },
      TEST_MS,
    )

    it(
      'continues after its definition was deleted and installed again',
      async () => {
        await join('again', 'again-reset')
        await cluster.apply('again', { config: { interval_seconds: 41 } })
        await cluster.apply('again-reset', { deletionPolicy: 'Reset', config: { interval_seconds: 41 } })
        for (const name of ['again', 'again-reset']) await cluster.condition(name, 'Synced=InSync')
        await cluster.kubectl('delete', 'crd', 'fleetworkers.muster.dev', '--timeout=100s')
        await cluster.until('the claim is released', async () => (await cluster.worker('again'))?.managed_by === null)
        expect([await intervalOf('again'), await intervalOf('again-reset')]).toEqual([41, 30])
        await cluster.until(
          'it notices the missing kind',
          async () => /svc_operator_watch_restarts_total\{reason="missing"\} [1-9]/.test(await operator.metrics()),
          60_000,
        )
        expect(await operator.probe('/healthz')).toBe(200)
        await cluster.server.install(parse(readFileSync(CRD, 'utf8')) as CustomResourceDefinition)
        await cluster.apply('again', { config: { interval_seconds: 42 } })
        await cluster.condition('again', 'Synced=InSync', 60_000)
        expect(await intervalOf('again')).toBe(42)
        expect(operator.proc.child.exitCode).toBeNull()
      },
      TEST_MS,
    )

    it(
      'continues while its definition is upgraded, and writes nothing because of it',
      async () => {
        await join('upgraded')
        await cluster.apply('upgraded', { config: { interval_seconds: 42 } })
        await cluster.condition('upgraded', 'Synced=InSync')
        const standing = async (): Promise<unknown> => [
          (await cluster.resource('upgraded'))?.metadata.resourceVersion,
          (await cluster.worker('upgraded'))?.config_gen,
        ]
        const before = await standing()
        const definition = parse(readFileSync(CRD, 'utf8')) as {
          spec: {
            versions: {
              schema: { openAPIV3Schema: { properties: { spec: { properties: Record<string, object> } } } }
            }[]
          }
        }
        for (const { schema } of definition.spec.versions)
          schema.openAPIV3Schema.properties.spec.properties['later'] = { type: 'string' }
        await cluster.kubectl(
          'apply',
          '--server-side',
          '--force-conflicts',
          '-f',
          cluster.file('upgraded-definition.json', definition),
        )
        await cluster.until('the new field is accepted', () =>
          cluster.apply('taken', { later: 'x', suspend: true }).then(
            async () => JSON.stringify(await cluster.resource('taken')).includes('"later":"x"'),
            () => false,
          ),
        )
        expect(await standing()).toEqual(before)
        await cluster.apply('upgraded', { later: 'x', config: { interval_seconds: 43 } })
        await cluster.condition('upgraded', 'Synced=InSync')
        expect(await intervalOf('upgraded')).toBe(43)
        await cluster.kubectl('apply', '--server-side', '--force-conflicts', '-f', CRD) // Restores the definition.
        await cluster.apply('upgraded', { config: { interval_seconds: 44 } })
        await cluster.condition('upgraded', 'Synced=InSync')
        expect(await intervalOf('upgraded')).toBe(44)
      },
      TEST_MS,
    )

    it(
      'waits for a definition that is missing when it starts, and stays healthy',
      async () => {
        await join('late')
        await operator.end('SIGTERM')
        await cluster.kubectl('delete', 'crd', 'fleetworkers.muster.dev', '--timeout=100s')
        operator = await cluster.startReplica()
        await cluster.until('it notices the missing kind', async () =>
          /reason="missing"\} [1-9]/.test(await operator.metrics()),
        )
        expect([await operator.probe('/healthz'), await operator.probe('/readyz')]).toEqual([200, 503])
        await cluster.server.install(parse(readFileSync(CRD, 'utf8')) as CustomResourceDefinition)
        await cluster.apply('late', { config: { interval_seconds: 43 } })
        await cluster.condition('late', 'Synced=InSync', 60_000)
        expect(await operator.probe('/readyz')).toBe(200)
      },
      TEST_MS,
    )

    it(
      'misses no edit around a restart of the API server',
      async () => {
        await join('restarted')
        await cluster.server.kill()
        await cluster.server.start()
        await cluster.apply('restarted', { config: { interval_seconds: 44 } })
        await cluster.until('the edit is in force', async () => (await intervalOf('restarted')) === 44, 45_000)
        await cluster.condition('restarted', 'Synced=InSync')
      },
      TEST_MS,
    )

    it(
      'accepts an API server that was restored from a backup, where generations repeat',
      async () => {
        await join('restored', 'later')
        await cluster.apply('restored', { config: { interval_seconds: 45 } })
        await cluster.condition('restored', 'Synced=InSync')
        await cluster.server.backup()
        for (const interval of [46, 47, 48]) {
          await cluster.apply('restored', { config: { interval_seconds: interval } })
          await cluster.condition('restored', 'Synced=InSync', 60_000)
        }
        await cluster.apply('later', { config: { interval_seconds: 46 } })
        await cluster.condition('later', 'Synced=InSync')
        await cluster.server.restore()
        await cluster.until(
          'the config of the backup is in force again',
          async () => (await intervalOf('restored')) === 45,
          60_000,
        )
        await cluster.until(
          'later claims are released',
          async () => (await cluster.worker('later'))?.managed_by === null,
          90_000,
        ) // By the resync, if the lease was lost meanwhile.
        await cluster.apply('restored', { config: { interval_seconds: 49 } })
        await cluster.condition('restored', 'Synced=InSync', 60_000)
        expect(await intervalOf('restored')).toBe(49)
      },
      TEST_MS,
    )
  })

  describe('the operator with permissions that end with their namespace', () => {
    it(
      'logs why finalizers remain, and the documented command completes the deletion of the namespace',
      async () => {
        const namespaced = await Cluster.start('namespaced')
        const statusOf = async (path: string, token?: string): Promise<number> =>
          (await namespaced.server.request('GET', path, { ...(token !== undefined && { token }) })).status
        try {
          await namespaced.server.startControllers()
          await namespaced.kubectl('apply', '-n', 'team-a', '-f', 'manifests/operator/namespaced/rights.yaml')
          await namespaced.startOperator({ SVC_WATCH_NAMESPACES: 'muster,team-a' })
          for (const deletionPolicy of ['Reset', 'Deregister']) {
            const name = deletionPolicy.toLowerCase()
            await SocketWorker.join(namespaced.fleet, 'http-probe', name)
            await namespaced.apply(name, { deletionPolicy, config: { interval_seconds: 40 } })
            await namespaced.condition(name, 'Synced=InSync')
          }
          // The namespace controller deletes in any order. In this test the RoleBinding is deleted before the
          // FleetWorkers.
          await namespaced.kubectl('delete', 'rolebinding', 'muster-operator', '-n', 'team-a')
          const token = await namespaced.operatorToken()
          const path = '/apis/muster.dev/v1alpha1/namespaces/team-a/fleetworkers/reset'
          await namespaced.until('the permissions are revoked', async () => (await statusOf(path, token)) === 403)
          await namespaced.kubectl('delete', 'namespace', 'team-a', '--wait=false')
          await namespaced.until('the operator logs it', async () =>
            /warn .*lacks rights in the namespace.* namespace=team-a/.test(namespaced.log),
          )
          for (const name of ['reset', 'deregister'])
            await namespaced.kubectl(...finalizerCommand(name), '-n', 'team-a')
          const hasEnded = async (): Promise<boolean> => (await statusOf('/api/v1/namespaces/team-a')) === 404
          await namespaced.until('the namespace is deleted', hasEnded, 90_000)
        } finally {
          await namespaced.close()
        }
      },
      TEST_MS,
    )
  })
})
