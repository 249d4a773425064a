/**
 * @module operator/fleetworker/finalizers
 * Manages the finalizer that keeps a deleted resource until its worker is released. It is set exactly if something has
 * to be released: with `Reset` and `Deregister`, unless the resource is only observed (D44). Each change is a JSON
 * patch that tests what the decision was based on. So it never changes another object of the same name, or another
 * finalizer.
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
    // Otherwise a list that another client has changed meanwhile would be replaced.
    { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
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

/** @returns the patched resource. @throws {KubeError} 422 if it had changed since it was read. */
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
