/**
 * @module operator/fleetworkerset/ownership
 * Decides which set owns a worker that several sets select: the oldest, then the one with the smaller uid. The result
 * depends on nothing else, so every replica has the same one. A set that cannot be applied, because it is invalid, not
 * permitted, suspended or being deleted, owns no worker and does not block another one.
 */
import { compareText } from '../../runtime/index.ts'
import { selectsWorker } from '../../protocol/index.ts'
import type { WorkerRow } from '../fleet/index.ts'
import type { WorkerScope } from '../fleetworker/index.ts'
import { type ObjectCache, type ObjectKey, keyOf } from '../kube/index.ts'
import { setFaults } from './bounds.ts'
import type { FleetWorkerSetObject } from './resource.ts'

const byAge = ({ metadata: a }: FleetWorkerSetObject, { metadata: b }: FleetWorkerSetObject): number =>
  compareText(`${a.creationTimestamp} ${a.uid}`, `${b.creationTimestamp} ${b.uid}`)

/** @returns a function that names the older set to which a worker belongs; `undefined`: it belongs to none. */
export function olderOwnerOf(
  set: FleetWorkerSetObject,
  cache: ObjectCache<FleetWorkerSetObject>,
  scope: WorkerScope,
): (row: WorkerRow) => string | undefined {
  const older = cache
    .byIndex('type', set.spec.type)
    .filter((each) => each.metadata.uid !== set.metadata.uid && byAge(each, set) < 0)
    .toSorted(byAge)
    .flatMap((each) => {
      const permitted = isApplicable(each) ? scope(each.metadata.namespace, each.spec.type) : undefined
      return permitted === undefined ? [] : [{ set: each, permitted }]
    })
  return ({ record: { worker_id: id, labels } }) => {
    const owner = older.find(
      ({ set: { spec }, permitted }) => permitted.permits(id) && selectsWorker(spec.selector, { id, labels }),
    )
    return owner === undefined ? undefined : nameFor(owner.set, set)
  }
}

/** Names the owner only to users who may see it. */
const nameFor = ({ metadata }: FleetWorkerSetObject, { metadata: { namespace } }: FleetWorkerSetObject): string =>
  metadata.namespace === namespace ? `the older FleetWorkerSet ${metadata.name}` : 'an older set of another namespace'

const isApplicable = (set: FleetWorkerSetObject): boolean =>
  set.metadata.deletionTimestamp === undefined && set.spec.suspend !== true && setFaults(set).length === 0

/** Keys of the other sets of a type. A change of one set may affect which of them owns a worker. */
export const otherSetKeys = (
  type: string,
  key: ObjectKey,
  cache: ObjectCache<FleetWorkerSetObject>,
): readonly ObjectKey[] =>
  cache
    .byIndex('type', type)
    .map(({ metadata }) => keyOf(metadata))
    .filter((each) => each !== key)

/** @returns the older set of the namespace that scales the same workload; `undefined` if there is none. */
export function olderScalerOf(set: FleetWorkerSetObject, cache: ObjectCache<FleetWorkerSetObject>): string | undefined {
  const { kind, name } = set.spec.workload ?? {}
  const older = [...cache.all()]
    .filter(({ metadata: { namespace, uid }, spec: { workload } }) => {
      const isOther = uid !== set.metadata.uid && namespace === set.metadata.namespace
      return isOther && workload?.kind === kind && workload?.name === name
    })
    .filter((each) => isApplicable(each) && byAge(each, set) < 0)
    .toSorted(byAge)[0]
  return older === undefined ? undefined : nameFor(older, set)
}
