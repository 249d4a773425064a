/** The kinds of the operator, as the fake API server knows them. */
import { FLEET_WORKERS } from '../../../src/operator/fleetworker/index.ts'
import type { FakeKind } from '../fake-store.ts'

const CREATED = {
  observedGeneration: -1,
  conditions: [
    {
      type: 'Ready',
      status: 'Unknown',
      reason: 'Pending',
      message: 'waiting for the operator',
      lastTransitionTime: '1970-01-01T00:00:00Z',
    },
  ],
}
export const FLEETWORKERS: FakeKind = {
  ...FLEET_WORKERS,
  status: true,
  keyed: { 'status.conditions': 'type', 'status.config.sources': 'field' },
  defaults: (object) => ({
    ...object,
    spec: { managementPolicy: 'Enforce', deletionPolicy: 'Retain', registrationTimeoutSeconds: 600, ...object.spec },
    status: object.status ?? CREATED,
  }),
}
const core = (plural: string, kind: string): FakeKind => ({ group: '', version: 'v1', plural, kind })
export const SECRETS = core('secrets', 'Secret')
export const CONFIG_MAPS = core('configmaps', 'ConfigMap')
export const PODS = core('pods', 'Pod')
const SCALE = { spec: 'replicas', status: 'replicas', selector: 'selector' }
const workload = (plural: string, kind: string): FakeKind => ({
  group: 'apps',
  version: 'v1',
  plural,
  kind,
  scale: SCALE,
})
export const STATEFUL_SETS = workload('statefulsets', 'StatefulSet')
export const DEPLOYMENTS = workload('deployments', 'Deployment')
