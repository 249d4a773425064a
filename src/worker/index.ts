/** Runs a worker process: connects to a master, follows its config and runs slots. */
export { systemHost, type Host } from './host.ts'
export { startWorker } from './worker.ts'
export type { RunningWorker, WorkerOptions } from './running-worker.ts'
