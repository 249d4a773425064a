/**
 * @module operator/fleetworker/ownership
 * Decides which of several FleetWorkers for one worker owns it: the oldest, then the one with the smaller uid, until it
 * is deleted from the API server. The result depends on nothing else, so every replica has the same one.
 *
 * A FleetWorker that cannot be applied owns no worker. Otherwise an object without effect would block the others (D65).
 */
import { compareText } from '../../runtime/index.ts'
import { keyOf, type Change, type ObjectCache, type ObjectKey } from '../kube/index.ts'
import { boundFaults } from './bounds.ts'
import { targetOf, whole, workerOf, type FleetWorkerObject } from './resource.ts'
import type { Permits } from './tenants.ts'

const rivalsOf = (resource: FleetWorkerObject, cache: ObjectCache<FleetWorkerObject>): readonly FleetWorkerObject[] => {
  const { type, workerId } = workerOf(resource)
  return cache.byIndex('target', targetOf(type, workerId))
}

const byAge = ({ metadata: a }: FleetWorkerObject, { metadata: b }: FleetWorkerObject): number => {
  return compareText(`${a.creationTimestamp} ${a.uid}`, `${b.creationTimestamp} ${b.uid}`)
}

/** False for a resource that is being deleted, suspended, not permitted or invalid. */
function isApplicable(resource: FleetWorkerObject, permits: Permits): boolean {
  const { metadata, spec } = resource
  return (
    metadata.deletionTimestamp === undefined &&
    spec.suspend !== true &&
    permits(resource) &&
    boundFaults(whole(resource)).length === 0
  )
}

/** @returns the owner if that is another resource; `undefined` if it is this one, or none can be applied. */
export function otherOwnerOf(
  resource: FleetWorkerObject,
  cache: ObjectCache<FleetWorkerObject>,
  permits: Permits,
): FleetWorkerObject | undefined {
  const rivals = rivalsOf(resource, cache)
  if (rivals.every(({ metadata }) => metadata.uid === resource.metadata.uid)) return undefined
  const [oldest] = rivals.filter((each) => isApplicable(each, permits)).toSorted(byAge)
  return oldest === undefined || oldest.metadata.uid === resource.metadata.uid ? undefined : oldest
}

/** Names the owner only to users who may see it. */
export const conflictMessage = ({ metadata }: FleetWorkerObject, { metadata: owner }: FleetWorkerObject): string =>
  `${metadata.namespace === owner.namespace ? `the older FleetWorker ${owner.name}` : 'an older FleetWorker of another namespace'} manages this worker; delete one of the two`

/**
 * Keys of the other FleetWorkers for the same worker. They are affected if a resource is created or deleted, or becomes
 * applicable or inapplicable.
 */
export function rivalKeys(
  { key, before, after }: Change<FleetWorkerObject>,
  cache: ObjectCache<FleetWorkerObject>,
  permits: Permits,
): readonly ObjectKey[] {
  const keys = [before, after]
    .flatMap((each) => (each === undefined ? [] : rivalsOf(each, cache)))
    .map(({ metadata }) => keyOf(metadata))
  const others = [...new Set(keys)].filter((each) => each !== key)
  if (others.length === 0 || before === undefined || after === undefined || before.metadata.uid !== after.metadata.uid)
    return others
  return isApplicable(before, permits) === isApplicable(after, permits) ? [] : others
}
