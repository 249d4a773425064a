/** Keeps worker configs in line with FleetWorker objects of Kubernetes. Needs an API server and a master. */
export { startBootstrap } from './bootstrap-process.ts'
export { underOldName } from './config/index.ts'
export {
  ABORT_ANNOTATION,
  ALL_STAGES,
  FLEET_WORKER_SETS,
  FleetWorkerSetSpec,
  historyOfSet,
  isFailedPhase,
  PROMOTE_ANNOTATION,
  RETRY_ANNOTATION,
  revisionNameOf,
  type SetRevision,
} from './fleetworkerset/index.ts'
export { FLEET_WORKERS, FleetWorkerSpec, parseTenants } from './fleetworker/index.ts'
export { type OperatorOptions, type RunningOperator, startOperator } from './operator.ts'
