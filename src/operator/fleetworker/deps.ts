/**
 * @module operator/fleetworker/deps
 * Defines the dependencies of a reconcile. Only the cache and the table outlive a term of leadership.
 */
import type { Clock, LogThrottle, Log } from '../../runtime/index.ts'
import type { FleetTable, MasterWriter } from '../fleet/index.ts'
import type { EventRecorder, KubeTransport, Leadership, ObjectCache, StatusWriter } from '../kube/index.ts'
import type { ReconcileMemory } from './reconcile-memory.ts'
import type { FleetWorkerObject } from './resource.ts'
import type { FleetWorkerStatus } from './schema.ts'
import type { Sources } from './sources.ts'
import type { Permits } from './tenants.ts'

export type DriftOutcome = 'reverted' | 'tolerated' | 'contested'

export interface ReconcileDeps {
  /** Indexed by INDICES. */
  readonly cache: ObjectCache<FleetWorkerObject> & { answered(written: FleetWorkerObject): void }
  readonly table: FleetTable
  readonly master: MasterWriter
  /** As {@link master}, but its calls are sent first. */
  readonly edits: MasterWriter
  readonly sources: Pick<Sources, 'read'>
  readonly transport: KubeTransport
  readonly status: StatusWriter<FleetWorkerStatus>
  readonly events: EventRecorder
  readonly leadership: Pick<Leadership, 'mayWrite' | 'confirm'>
  /** One per term. */
  readonly memory: ReconcileMemory
  readonly clock: Clock
  readonly log: Log
  /** Limits warnings about missing rights to one per minute and namespace. */
  readonly logThrottle: LogThrottle
  /** Whether this operator watches the resources of a namespace. */
  readonly watches: (namespace: string) => boolean
  readonly permits: Permits
  readonly onDrift: (outcome: DriftOutcome) => void
}
