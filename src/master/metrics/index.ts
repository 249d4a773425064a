/** What the master says about its fleet in numbers: to a monitoring system, and to those who look. */
export { createMetrics } from './metrics.ts'
