/**
 * @module operator/kube/apply-status
 * Sends a whole status by server-side apply, and judges a failed call: does it say that the API server is overloaded?
 */
import type { FlightEnd } from '../../runtime/index.ts'
import { KubeError } from './kube-error.ts'
import { apiVersionOf, objectPath, type KubeObject, type ObjectRef, type Resource } from './objects.ts'
import type { KubeTransport } from './transport.ts'

export interface ApplyStatusDeps {
  readonly transport: KubeTransport
  readonly resource: Resource
  readonly fieldManager: string
  readonly signal: AbortSignal
}

export interface StatusUpdate<S> {
  readonly target: ObjectRef
  /** The write fails with 409 if the object has another version. */
  readonly resourceVersion: string
  readonly status: S
}

/** @returns the object as written. @throws {KubeError} */
export async function applyStatus<T extends KubeObject, S>(
  { fieldManager, resource, signal, transport }: ApplyStatusDeps,
  { target, resourceVersion, status }: StatusUpdate<S>,
): Promise<T> {
  const { body } = await transport.json<T>(
    {
      method: 'PATCH',
      path: objectPath(resource, target, 'status'),
      query: { fieldManager, force: true },
      contentType: 'application/apply-patch+yaml',
      body: {
        apiVersion: apiVersionOf(resource),
        kind: resource.kind,
        metadata: { name: target.name, namespace: target.namespace, resourceVersion },
        status,
      },
    },
    signal,
  )
  return body
}

/** A conflict comes from another client, and takes as long as a success. */
export function flightEndOf(error: unknown): FlightEnd {
  if (!(error instanceof KubeError) || error.status === 0) return 'unmeasured'
  return error.status === 429 || error.status >= 500 ? 'refused' : 'ok'
}
