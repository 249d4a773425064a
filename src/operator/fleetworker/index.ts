/**
 * The FleetWorker resource: its schema, and the reconcile that brings the master in line with it.
 *
 *   CR + sources ──desired──▶ named fields ──diff against the record──▶ PATCH, drift ──conditions──▶ status
 *
 * reconcile.ts, converge.ts and deletion.ts have side effects; sources.ts reads. The other modules are pure.
 */
export * from './bounds.ts'
export * from './conditions.ts'
export { CONSENT_ANNOTATION } from './consent.ts'
export type { DriftOutcome, ReconcileDeps } from './deps.ts'
export * from './desired.ts'
export * from './diff.ts'
export { ReconcileMemory } from './reconcile-memory.ts'
export { rivalKeys } from './ownership.ts'
export { reconcile } from './reconcile.ts'
export * from './resource.ts'
export * from './schema.ts'
export * from './secrets.ts'
export { Sources } from './sources.ts'
export * from './status.ts'
export * from './tenants.ts'
export * from './text.ts'
