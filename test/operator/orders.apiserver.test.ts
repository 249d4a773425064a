/**
 * The release goes first, and with it the operator: what is deleted after it, on a real API server with its controllers.
 * The other orders, with an operator that lives, are in life.apiserver.test.ts and operator.apiserver.test.ts.
 */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { parse } from 'yaml'
import { SocketWorker } from '../e2e/socket-worker.ts'
import { Cluster } from './cluster.ts'
import type { CustomResourceDefinition } from './real-apiserver.ts'
import { withApiServer } from './with-programs.ts'

const CRD = 'crds/fleetworkers.muster.dev.yaml'
const PAGE = 'charts/muster/README.md'
const TEST_MS = 240_000
const ENDS_WITHIN_MS = 120_000

/** What is deleted, by its arguments, and the path that is 404 when all of it is gone. */
const SECOND: readonly [string, (namespace: string) => readonly string[], (namespace: string) => string][] = [
  ['FleetWorkers', (namespace) => ['fleetworkers', '--all', '-n', namespace], (namespace) => `/apis/muster.dev/v1alpha1/namespaces/${namespace}/fleetworkers/${namespace}-deregister`],
  ['their definition', () => ['crd', 'fleetworkers.muster.dev'], () => '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/fleetworkers.muster.dev'],
  ['their namespace', (namespace) => ['namespace', namespace], (namespace) => `/api/v1/namespaces/${namespace}`],
]

/** The command that the page gives for who comes too late, as arguments of kubectl. */
function documented(name: string): readonly string[] {
  const [, patch = ''] = /`kubectl patch fleetworker NAME --type=json -p '([^']+)'`/.exec(readFileSync(PAGE, 'utf8')) ?? []
  return ['patch', 'fleetworker', name, '--type=json', '-p', patch]
}

withApiServer('a release that goes before its FleetWorkers', () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await Cluster.start('cluster-wide')
    await cluster.server.startControllers()
  }, TEST_MS)
  afterAll(() => cluster.close(), 60_000)

  /** A FleetWorker of either policy in a namespace of its own, and then no operator any more. */
  const left = async (namespace: string): Promise<void> => {
    const operator = await cluster.startReplica()
    await cluster.ok('POST', '/api/v1/namespaces', { metadata: { name: namespace } })
    for (const deletionPolicy of ['Retain', 'Deregister']) {
      const name = `${namespace}-${deletionPolicy.toLowerCase()}`
      await SocketWorker.join(cluster.fleet, 'http-probe', name)
      await cluster.apply(name, { deletionPolicy, config: { interval_seconds: 40 } }, namespace)
      await cluster.condition(name, 'Synced=InSync', undefined, namespace)
    }
    expect(await operator.end('SIGTERM')).toBe(0)
  }

  describe('a release that goes before its FleetWorkers', () => {
    it.each(SECOND)('then %s: Retain goes at once, Deregister waits for the documented command', async (what, args, path) => {
      const namespace = `before-${what.split(' ').at(-1)?.toLowerCase()}`
      await left(namespace)
      await cluster.kubectl('delete', ...args(namespace), '--wait=false')
      await cluster.until('what need not wait is gone', async () => (await cluster.resource(`${namespace}-retain`, namespace)) === undefined, ENDS_WITHIN_MS)
      expect((await cluster.resource(`${namespace}-deregister`, namespace))?.metadata.finalizers).toEqual(['muster.dev/release'])
      await cluster.kubectl(...documented(`${namespace}-deregister`), '-n', namespace)
      await cluster.until(`${what} is gone`, async () => (await cluster.server.request('GET', path(namespace))).status === 404, ENDS_WITHIN_MS)
      for (const policy of ['retain', 'deregister']) expect(await cluster.worker(`${namespace}-${policy}`)).toMatchObject({ config: { interval_seconds: 40 } })
      if (what === 'their definition') await cluster.server.install(parse(readFileSync(CRD, 'utf8')) as CustomResourceDefinition)
    }, TEST_MS)
  })
})
