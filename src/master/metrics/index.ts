/** What the master says about its fleet to a monitoring system. */
export { createMetrics } from './metrics.ts'
