/** Keeps worker configs in line with FleetWorker objects of Kubernetes. Needs an API server and a master. */
export { startBootstrap } from './bootstrap-process.ts'
export { FLEET_WORKER_SETS, historyOfSet, revisionNameOf, type SetRevision } from './fleetworkerset/index.ts'
export { parseTenants } from './fleetworker/index.ts'
export { type OperatorOptions, type RunningOperator, startOperator } from './operator.ts'
