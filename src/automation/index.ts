/**
 * Interface of the area inside the project: the authors' API (public.ts is its published part), loading, the catalog
 * and the slot runners.
 */
export { Type, type Static } from 'typebox'
export * from './build-catalog.ts'
export * from './catalog.ts'
export * from './context.ts'
export * from './define.ts'
export * from './errors.ts'
export * from './load.ts'
export { manifestOf } from './manifest.ts'
export * from './mask.ts'
export * from './outcome.ts'
export * from './run-batch.ts'
export * from './run-continuous.ts'
export * from './slot-metrics.ts'
export * from './slot.ts'
