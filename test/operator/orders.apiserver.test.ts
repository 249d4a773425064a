/**
 * Deletes a release, its FleetWorkers of every deletionPolicy, their definition and their namespace, in every order, on
 * a real API server with its controllers. Only the operator of the release runs, because the others may wait only for
 * it.
 */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { parse } from 'yaml'
import { SocketWorker } from '../e2e/socket-worker.ts'
import { Cluster, type Resource } from './cluster.ts'
import type { Replica } from './replica.ts'
import { finalizerCommand } from './finalizer-command.ts'
import type { CustomResourceDefinition } from './real-apiserver.ts'
import { withApiServer } from './with-programs.ts'

const CRD = 'crds/fleetworkers.muster.dev.yaml'
const DEFINITION = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/fleetworkers.muster.dev'
const POLICIES = ['Retain', 'Deregister', 'Reset'] as const
const TEST_MS = 240_000
const ENDS_WITHIN_MS = 120_000

/** What is deleted: its kubectl arguments, and the path that returns 404 afterwards. */
const SECOND: readonly [string, (namespace: string) => readonly string[], (namespace: string) => string][] = [
  [
    'FleetWorkers',
    (namespace) => ['fleetworkers', '--all', '-n', namespace],
    (namespace) => `/apis/muster.dev/v1alpha1/namespaces/${namespace}/fleetworkers/${namespace}-deregister`,
  ],
  ['their definition', () => ['crd', 'fleetworkers.muster.dev'], () => DEFINITION],
  ['their namespace', (namespace) => ['namespace', namespace], (namespace) => `/api/v1/namespaces/${namespace}`],
]

const PARTS = ['release', 'FleetWorkers', 'definition', 'namespace'] as const
/**
 * Orders in which each part is at each position, and directly before each other part. SOAK=1 runs all orders; they
 * cannot run in parallel, because all share the definition.
 */
const COVERING: readonly (readonly string[])[] = [
  ['release', 'FleetWorkers', 'namespace', 'definition'],
  ['FleetWorkers', 'definition', 'release', 'namespace'],
  ['definition', 'namespace', 'FleetWorkers', 'release'],
  ['namespace', 'release', 'definition', 'FleetWorkers'],
]

function ordersOf(parts: readonly string[]): readonly (readonly string[])[] {
  return parts.length === 0
    ? [[]]
    : parts.flatMap((first) => ordersOf(parts.filter((each) => each !== first)).map((rest) => [first, ...rest]))
}

withApiServer('a release that is deleted before its FleetWorkers', () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await Cluster.start('cluster-wide')
    await cluster.server.startControllers()
  }, TEST_MS)
  afterAll(() => cluster.close(), 60_000)

  /** Starts an operator, with a FleetWorker of each policy in its own namespace. */
  const filled = async (namespace: string, policies: readonly string[] = POLICIES): Promise<Replica> => {
    const operator = await cluster.startReplica()
    await cluster.ok('POST', '/api/v1/namespaces', { metadata: { name: namespace } })
    for (const deletionPolicy of policies) {
      const name = `${namespace}-${deletionPolicy.toLowerCase()}`
      await SocketWorker.join(cluster.fleet, 'http-probe', name)
      await cluster.apply(name, { deletionPolicy, config: { interval_seconds: 40 } }, namespace)
      await cluster.condition(name, 'Synced=InSync', undefined, namespace)
    }
    return operator
  }
  /** Those that still have a finalizer. */
  const held = async (namespace: string): Promise<readonly string[]> => {
    const { body } = await cluster.server.request(
      'GET',
      `/apis/muster.dev/v1alpha1/namespaces/${namespace}/fleetworkers`,
    )
    return ((body['items'] ?? []) as readonly Resource[]).map(({ metadata }) => metadata.name)
  }
  const restoreDefinition = async (): Promise<void> => {
    if ((await cluster.server.request('GET', DEFINITION)).status === 404)
      await cluster.server.install(parse(readFileSync(CRD, 'utf8')) as CustomResourceDefinition)
  }

  describe('a release that is deleted before its FleetWorkers', () => {
    it.each(SECOND)(
      'then %s: Retain is deleted immediately, Deregister waits for the documented command',
      async (what, args, path) => {
        const namespace = `before-${what.split(' ').at(-1)?.toLowerCase()}`
        expect(await (await filled(namespace, ['Retain', 'Deregister'])).end('SIGTERM')).toBe(0)
        await cluster.kubectl('delete', ...args(namespace), '--wait=false')
        await cluster.until(
          'what has no finalizer is deleted',
          async () => (await cluster.resource(`${namespace}-retain`, namespace)) === undefined,
          ENDS_WITHIN_MS,
        )
        expect((await cluster.resource(`${namespace}-deregister`, namespace))?.metadata.finalizers).toEqual([
          'muster.dev/release',
        ])
        await cluster.kubectl(...finalizerCommand(`${namespace}-deregister`), '-n', namespace)
        await cluster.until(
          `${what} is gone`,
          async () => (await cluster.server.request('GET', path(namespace))).status === 404,
          ENDS_WITHIN_MS,
        )
        for (const policy of ['retain', 'deregister'])
          expect(await cluster.worker(`${namespace}-${policy}`)).toMatchObject({ config: { interval_seconds: 40 } })
        await restoreDefinition()
      },
      TEST_MS,
    )
  })

  describe('a release, its FleetWorkers, their definition and their namespace', () => {
    const paths = (namespace: string): Readonly<Record<string, string>> => ({
      FleetWorkers: `/apis/muster.dev/v1alpha1/namespaces/${namespace}/fleetworkers`,
      definition: DEFINITION,
      namespace: `/api/v1/namespaces/${namespace}`,
    })
    const after = {
      Retain: expect.objectContaining({ config: expect.objectContaining({ interval_seconds: 40 }) }),
      Deregister: undefined,
      Reset: expect.objectContaining({ config: expect.objectContaining({ interval_seconds: 30 }) }),
    }

    it.each(
      (process.env['SOAK'] === '1' ? ordersOf(PARTS) : COVERING).map((order) => [order.join(', '), order] as const),
    )(
      'are deleted within 120 s in this order: %s',
      async (_title, order) => {
        const namespace = `order-${order
          .map((part) => part.charAt(0))
          .join('')
          .toLowerCase()}`
        const operator = await filled(namespace)
        const isGone = async (part: string): Promise<boolean> =>
          part === 'FleetWorkers'
            ? (await held(namespace)).length === 0
            : (await cluster.server.request('GET', paths(namespace)[part] ?? '')).status === 404
        for (const [place, part] of order.entries()) {
          if (part === 'release') expect(await operator.end('SIGTERM')).toBe(0)
          else
            expect(place === 0 ? [200] : [200, 404, 409]).toContain(
              (await cluster.server.request('DELETE', paths(namespace)[part] ?? '')).status,
            ) // It may have been deleted with another part.
          if (part !== 'release' && order[0] !== 'release')
            await cluster.until(`${part} is gone`, () => isGone(part), ENDS_WITHIN_MS)
        }
        if (order[0] === 'release') {
          await cluster.until(
            'what has no finalizer is deleted',
            async () => (await held(namespace)).join(' ') === `${namespace}-deregister ${namespace}-reset`,
            ENDS_WITHIN_MS,
          )
          for (const name of await held(namespace)) await cluster.kubectl(...finalizerCommand(name), '-n', namespace)
        }
        for (const part of order.filter((each) => each !== 'release'))
          await cluster.until(`${part} is gone`, () => isGone(part), ENDS_WITHIN_MS)
        for (const policy of POLICIES)
          expect(await cluster.worker(`${namespace}-${policy.toLowerCase()}`)).toEqual(
            order[0] === 'release' ? after.Retain : after[policy],
          )
        await restoreDefinition()
      },
      TEST_MS,
    )
  })
})
