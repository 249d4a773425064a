/** The metrics and the overview of the fleet. */
export { fleetSnapshots, type FleetSnapshot } from './fleet-snapshot.ts'
export { createMetrics } from './metrics.ts'
export { overviewBody, shownSnapshot, workforceOf } from './overview.ts'
export { factsOf } from './worker-facts.ts'
export { worstByRevision } from './worst-workers.ts'
