/** Lists of workers in columns, and what changed in them. */
export { createWorkerChanges } from './routes.ts'
