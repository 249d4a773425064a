/** Keeps the configs of workers as FleetWorker objects of Kubernetes say. Needs an API server, and a master to talk to. */
export { type OperatorOptions, type RunningOperator, startOperator } from './operator.ts'
