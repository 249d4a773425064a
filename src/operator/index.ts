/** Keeps the configs of workers as FleetWorker objects of Kubernetes say. Needs an API server, and a master to talk to. */
export { startBootstrap } from './bootstrap-process.ts'
export { parseTenants } from './fleetworker/index.ts'
export { type OperatorOptions, type RunningOperator, startOperator } from './operator.ts'
