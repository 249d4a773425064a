/** The client side of the master: a table of its workers that is kept current, and calls that change them. */
export type { OpenReason } from './breaker.ts'
export { claimOf, isOrphaned, isOfOperator, classifyClaim } from './claims.ts'
export { Fleet, type FleetDeps } from './fleet.ts'
export { createFleetMetrics } from './metrics.ts'
export type * from './ports.ts'
