/**
 * @module operator/fleetworker/bounds
 * Validates a FleetWorker before anything is sent. Each fault is one sentence. Faults result in `ConfigInvalid`, and
 * nothing is sent.
 * @see D13, D43
 */
import { configFaults, isWorkerId, typeFaults } from '../config/index.ts'
import { workerIdOf, type FleetWorker } from './schema.ts'

/** @returns all faults of the spec, without those of sources; empty if there are none. */
export const boundFaults = (resource: FleetWorker): readonly string[] => [
  ...addressFaults(resource),
  ...configFaults(resource.spec),
  ...nameFaults(resource.spec),
]

/** @returns why the type and id of the worker cannot be used in a request; empty if they can. */
export const addressFaults = (resource: FleetWorker): readonly string[] => [
  ...typeFaults(resource.spec.type),
  ...(isWorkerId(workerIdOf(resource))
    ? []
    : ['spec.workerID: must begin and end with a letter or digit; between them . _ : @ - are allowed too']),
]

/** Fields that are set under their new and their old name (D244). */
const nameFaults = ({ workerID, workerId, desiredState, drain }: FleetWorker['spec']): readonly string[] => [
  ...(workerID !== undefined && workerId !== undefined
    ? ['spec: has both workerID and workerId, its old name; remove workerId']
    : []),
  ...(desiredState !== undefined && drain !== undefined
    ? ['spec: has both desiredState and drain, its old form; remove drain']
    : []),
]
