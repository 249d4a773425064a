/**
 * @module hack/chart/removed
 * Keys that people write and the values have not: of other charts, and those that were taken away. They stand in the
 * schema, so that the chart itself can say what to write in their place.
 */
export interface Removed {
  /** `*` stands for any name. */
  readonly path: string
  /** The version that took it away; absent: it never was there. */
  readonly since?: string
  readonly use: string
}

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
]
