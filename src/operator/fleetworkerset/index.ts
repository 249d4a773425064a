/**
 * The FleetWorkerSet resource: one object that configures all workers of a type whose ids and labels match.
 */
export * from './bounds.ts'
export * from './schema.ts'
