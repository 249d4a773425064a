/**
 * What FleetWorker and FleetWorkerSet share: the schemas of their common fields, and the validation of configs.
 */
export * from './bounds.ts'
export * from './schema.ts'
