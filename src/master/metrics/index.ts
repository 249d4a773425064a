/** The metrics and the overview of the fleet. */
export { createMetrics } from './metrics.ts'
