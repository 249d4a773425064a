/**
 * @module operator/fleetworker/ownership
 * Which of several FleetWorkers for one worker decides: the oldest, then the one with the smaller uid, until it is gone
 * from the API server. Every replica comes to the same answer, as nothing else is asked.
 */
import { keyOf, type Change, type ObjectCache, type ObjectKey } from '../kube/index.ts'
import { targetOf, workerOf, type FleetWorkerObject } from './resource.ts'

const rivalsOf = (resource: FleetWorkerObject, cache: ObjectCache<FleetWorkerObject>): readonly FleetWorkerObject[] => {
  const { type, workerId } = workerOf(resource)
  return cache.byIndex('target', targetOf(type, workerId))
}

const byAge = ({ metadata: a }: FleetWorkerObject, { metadata: b }: FleetWorkerObject): number => {
  const [left, right] = [`${a.creationTimestamp} ${a.uid}`, `${b.creationTimestamp} ${b.uid}`]
  return left < right ? -1 : left > right ? 1 : 0
}

/** The owner where that is another; undefined: it is this one. */
export function otherOwnerOf(
  resource: FleetWorkerObject,
  cache: ObjectCache<FleetWorkerObject>,
): FleetWorkerObject | undefined {
  const [oldest] = rivalsOf(resource, cache).toSorted(byAge)
  return oldest === undefined || oldest.metadata.uid === resource.metadata.uid ? undefined : oldest
}

/** Names the owner to those alone who may see it. */
export const conflictMessage = ({ metadata }: FleetWorkerObject, { metadata: owner }: FleetWorkerObject): string =>
  `${metadata.namespace === owner.namespace ? `the older FleetWorker ${owner.name}` : 'an older FleetWorker of another namespace'} has this worker; delete one of the two`

/** The others for the same worker, which a resource that came or went concerns as well. */
export function rivalKeys(
  { key, before, after }: Change<FleetWorkerObject>,
  cache: ObjectCache<FleetWorkerObject>,
): readonly ObjectKey[] {
  if (before?.metadata.uid === after?.metadata.uid) return []
  const keys = [before, after]
    .flatMap((each) => (each === undefined ? [] : rivalsOf(each, cache)))
    .map(({ metadata }) => keyOf(metadata))
  return [...new Set(keys)].filter((each) => each !== key)
}
