/**
 * The FleetWorker resource: its schema, and the reconcile that brings the master in line with it.
 *
 *   CR + sources ──desired──▶ named fields ──diff against the record──▶ PATCH, drift ──conditions──▶ status
 *
 * reconcile.ts, converge.ts, release.ts and status.ts have side effects; sources.ts and compare-config.ts read. The
 * other modules are pure, except for memory.ts, which has state.
 */
export * from './bounds.ts'
export { isHandsOff, policyOf } from './compare-config.ts'
export * from './conditions.ts'
export type { DriftOutcome, ReconcileDeps } from './context.ts'
export { DeletedClaims } from './deleted-claims.ts'
export * from './desired.ts'
export * from './diff.ts'
export { ReconcileMemory, RevertThrottle } from './memory.ts'
export {
  parseTenants,
  permitsOf,
  rivalKeys,
  scopeOf,
  type Permits,
  type PermittedWorkers,
  type Tenants,
  type WorkerScope,
} from './ownership.ts'
export { reconcile } from './reconcile.ts'
export * from './resource.ts'
export * from './schema.ts'
export { CONSENT_ANNOTATION, Sources } from './sources.ts'
export { statusOf, type StatusFacts } from './status.ts'
