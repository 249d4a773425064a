/**
 * The FleetWorker resource: its schema, and the pure part of bringing the master in line with it.
 *
 *   CR + sources ──desired──▶ named fields ──diff against the record──▶ PATCH, drift ──conditions──▶ status
 */
export * from './bounds.ts'
export * from './conditions.ts'
export * from './desired.ts'
export * from './diff.ts'
export * from './schema.ts'
export * from './secrets.ts'
export * from './status.ts'
export * from './text.ts'
