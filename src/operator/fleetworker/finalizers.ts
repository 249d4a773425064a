/**
 * @module operator/fleetworker/finalizers
 * Our mark that keeps a deleted resource until its worker is given back. It stands exactly where something has to be given
 * back: with `Reset` and `Deregister`, unless the resource is only observed (D44). Each change is a JSON patch that tests
 * what it was decided on, so it never touches a namesake, nor a finalizer of others.
 */
import { objectPath, refOf, type KubeTransport } from '../kube/index.ts'
import { FINALIZER, FLEET_WORKERS, type FleetWorkerObject } from './resource.ts'

type Operation =
  | { readonly op: 'test' | 'add'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }

export const hasFinalizer = ({ metadata }: FleetWorkerObject): boolean =>
  metadata.finalizers?.includes(FINALIZER) === true

export const wantsFinalizer = ({ spec }: FleetWorkerObject): boolean =>
  spec.managementPolicy !== 'Observe' && (spec.deletionPolicy === 'Reset' || spec.deletionPolicy === 'Deregister')

export function addFinalizer({
  metadata: { uid, resourceVersion, finalizers = [] },
}: FleetWorkerObject): readonly Operation[] {
  const isFirst = finalizers.length === 0
  return [
    { op: 'test', path: '/metadata/uid', value: uid },
    { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion }, // Else a list made by others meanwhile would be replaced.
    {
      op: 'add',
      path: isFirst ? '/metadata/finalizers' : '/metadata/finalizers/-',
      value: isFirst ? [FINALIZER] : FINALIZER,
    },
  ]
}

export function removeFinalizer({ metadata: { uid, finalizers = [] } }: FleetWorkerObject): readonly Operation[] {
  const path = `/metadata/finalizers/${finalizers.indexOf(FINALIZER)}`
  return [
    { op: 'test', path: '/metadata/uid', value: uid },
    { op: 'test', path, value: FINALIZER },
    { op: 'remove', path },
  ]
}

/** @returns the resource as it is then. @throws {KubeError} 422 when it was not as we saw it. */
export async function patchFinalizers(
  resource: FleetWorkerObject,
  operations: readonly Operation[],
  transport: KubeTransport,
  signal: AbortSignal,
): Promise<FleetWorkerObject> {
  const { body } = await transport.json<FleetWorkerObject>(
    {
      method: 'PATCH',
      path: objectPath(FLEET_WORKERS, refOf(resource)),
      contentType: 'application/json-patch+json',
      body: operations,
    },
    signal,
  )
  return body
}
