/**
 * What FleetWorker and FleetWorkerSet share: the schemas of their common fields, the validation of configs, the list of
 * conditions.
 */
export * from './bounds.ts'
export * from './merged-conditions.ts'
export * from './schema.ts'
export * from './value-digest.ts'
