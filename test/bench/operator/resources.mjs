/**
 * The FleetWorkers of the measurement: about 2.8 kB of JSON each, of five types. Each configures the worker of the same
 * name. The set has the same config for workers of one type.
 */
export const NAMESPACE = 'bench'
export const COLLECTION = `/apis/muster.dev/v1alpha1/namespaces/${NAMESPACE}/fleetworkers`
export const SETS = `/apis/muster.dev/v1alpha1/namespaces/${NAMESPACE}/fleetworkersets`
export const TYPES = ['fleet-ingest', 'fleet-enrich', 'fleet-score', 'fleet-deliver', 'fleet-archive']
const RULES = 19
const NOTE = 'Kept beside the rules so that the engineer on call knows why they are as they are. '

export const typeOf = (index) => TYPES[index % TYPES.length]
export const nameOf = (index) => `${typeOf(index)}-${index}`
/** The worker of this index, if all workers are of one type. */
export const memberOf = (index) => `${TYPES[0]}-${index}`
export const SET = 'fleet'
/** Path of the worker with this name at the master. */
export const workerPath = (name) => `${name.slice(0, name.lastIndexOf('-'))}/workers/${name}`

export function fleetWorker(index) {
  const name = nameOf(index)
  return {
    apiVersion: 'muster.dev/v1alpha1',
    kind: 'FleetWorker',
    metadata: {
      name,
      namespace: NAMESPACE,
      labels: { 'app.kubernetes.io/part-of': 'bench', 'app.kubernetes.io/instance': name },
      annotations: { 'bench.example/owner': 'team-of-the-measurement' },
    },
    spec: {
      type: typeOf(index),
      config: {
        enabled: true,
        slots: 2,
        rate: index % 100,
        notes: NOTE.repeat(10),
        labels: { team: `team-${index % 40}`, region: 'eu-1', tier: 'gold' },
        rules: Array.from({ length: RULES }, (_, at) => ({
          match: `^/customers/${index}/orders/${at}/[a-z]+$`,
          action: 'forward-to-next',
          weight: at,
        })),
      },
    },
  }
}

export function fleetWorkerSet() {
  const { apiVersion, metadata, spec } = fleetWorker(0)
  return {
    apiVersion,
    kind: 'FleetWorkerSet',
    metadata: { ...metadata, name: SET },
    spec: { ...spec, selector: { idPatterns: [`${TYPES[0]}-*`] }, rollout: { stages: [] } },
  }
}
