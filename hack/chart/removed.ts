/**
 * @module hack/chart/removed
 * Lists keys that users write but the chart does not have: common keys of other charts, and removed ones. The schema
 * contains them, so that the chart can name the key to use instead.
 */
export interface Removed {
  /** `*` matches any name. */
  readonly path: string
  /** The version that removed it; absent: the chart never had it. */
  readonly since?: string
  readonly use: string
}

const AUTOSCALING = 'autoscaling.type: hpa or keda, with set, so that the pods that are added have a config'

const METRICS = 'autoscaling.type: none, replicas: null, and an autoscaler of your own in extraObjects'

export const REMOVED: readonly Removed[] = [
  { path: 'replicaCount', use: 'master.replicas' },
  { path: 'resources', use: 'master.pod.resources, operator.pod.resources or workerDefaults.pod.resources' },
  { path: 'ingress', use: 'exposure.type: ingress, exposure.host and exposure.tls' },
  {
    path: 'serviceAccount',
    use: 'master.pod.serviceAccount, operator.pod.serviceAccount or workerDefaults.pod.serviceAccount',
  },
  { path: 'metrics', use: 'monitoring.serviceMonitor' },
  { path: 'redis.enabled', use: 'redis.mode: embedded or external' },
  { path: 'master.resources', use: 'master.pod.resources' },
  { path: 'master.env', use: 'master.pod.env' },
  { path: 'workerDefaults.slots', use: 'spec.slots of the FleetWorker' },
  { path: 'workers.*.slots', use: 'spec.slots of the FleetWorker' },
  { path: 'workerDefaults.autoscaling.enabled', since: '0.1.0', use: AUTOSCALING },
  { path: 'workers.*.autoscaling.enabled', since: '0.1.0', use: AUTOSCALING },
  { path: 'workerDefaults.autoscaling.metrics', since: '0.1.0', use: METRICS },
  { path: 'workers.*.autoscaling.metrics', since: '0.1.0', use: METRICS },
]
