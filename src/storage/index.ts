/**
 * The seam to durable state: its contract, and what its backends share. Which backend stands behind it, src/cmd
 * decides.
 */
export type * from './backend.ts'
export * from './arguments.ts'
export * from './bounded-list.ts'
export * from './config-labels.ts'
export * from './event-batches.ts'
export * from './event-log.ts'
export * from './failed-attempts.ts'
export * from './fingerprint.ts'
export * from './group-rules.ts'
export * from './group-schedule.ts'
export * from './groups.ts'
export * from './item-results.ts'
export * from './layout-needs.ts'
export * from './list-cursor.ts'
export * from './local-bus.ts'
export * from './namespaces.ts'
export * from './overloaded.ts'
export * from './stats-frame.ts'
export * from './store-info.ts'
export * from './task-rules.ts'
