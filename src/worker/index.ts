/** The worker process: connects to a master, follows its config, runs slots. */
export { systemHost, type Host } from './host.ts'
export { startWorker, type RunningWorker, type WorkerOptions } from './worker.ts'
