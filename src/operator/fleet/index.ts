/** The master's side of the operator: what the master knows, kept current, and calls that change it. */
export type { OpenReason } from './breaker.ts'
export { claimOf, isOrphaned, isOfOperator, judgeClaim } from './claims.ts'
export { Fleet, type FleetOptions } from './fleet.ts'
export { createFleetMetrics } from './metrics.ts'
export type * from './ports.ts'
