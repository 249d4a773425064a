/** The newest log entries of workers. */
export { createWorkerLogs } from './routes.ts'
