/** @module operator/fleetworker/deps  What a reconcile works with. Nothing of it outlives a term of leadership but the cache and the table. */
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
  /** With INDICES. */
  readonly cache: ObjectCache<FleetWorkerObject> & { answered(written: FleetWorkerObject): void }
  readonly table: FleetTable
  readonly master: MasterWriter
  /** The same, whose calls leave before those of {@link master}. */
  readonly edits: MasterWriter
  readonly sources: Pick<Sources, 'read'>
  readonly transport: KubeTransport
  readonly status: StatusWriter<FleetWorkerStatus>
  readonly events: EventRecorder
  readonly leadership: Pick<Leadership, 'mayWrite' | 'confirm'>
  /** One a term. */
  readonly memory: ReconcileMemory
  readonly clock: Clock
  readonly log: Log
  /** Limits warnings about missing rights to one per minute and namespace. */
  readonly logThrottle: LogThrottle
  /** Whether this operator sees the resources of a namespace. */
  readonly watches: (namespace: string) => boolean
  readonly permits: Permits
  readonly onDrift: (outcome: DriftOutcome) => void
}
