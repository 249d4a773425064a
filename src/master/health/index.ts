/** Whether the process lives, and whether it can serve. */
export { createHealth } from './health.ts'
