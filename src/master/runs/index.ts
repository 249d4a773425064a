/** What the runs of each type and worker did in the last minute. */
export { createRuns } from './routes.ts'
