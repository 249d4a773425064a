/** What the tests of an operator process need at a fake API server: the operator's kinds, and a kubeconfig. */
import type { FakeKind } from './fake-apiserver.ts'

export const FLEET_WORKERS: FakeKind = {
  group: 'muster.dev',
  version: 'v1alpha1',
  plural: 'fleetworkers',
  kind: 'FleetWorker',
  status: true,
}

export const FLEET_WORKER_SETS: FakeKind = {
  group: 'muster.dev',
  version: 'v1alpha1',
  plural: 'fleetworkersets',
  kind: 'FleetWorkerSet',
  status: true,
  scale: { spec: 'replicas', status: 'replicas', selector: 'selector' },
}

export const CONTROLLER_REVISIONS: FakeKind = {
  group: 'apps',
  version: 'v1',
  plural: 'controllerrevisions',
  kind: 'ControllerRevision',
}

/** A kubeconfig for the API server at this address; `namespace` is that of its context. */
export const kubeconfigOf = (server: string, namespace: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    clusters: [{ name: 'c', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'u', user: { token: 't' } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u', namespace } }],
  })
