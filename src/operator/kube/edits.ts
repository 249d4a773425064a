/**
 * @module operator/kube/edits
 * Decides which changes of an object need a reconcile, and with which priority. The controller's own status writes need
 * none; otherwise it would trigger itself without end.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Change } from './cache.ts'
import type { KubeObject } from './objects.ts'
import { PRIORITY, type Priority } from './priority.ts'

export interface EditOptions<T extends KubeObject> {
  /** An annotation whose change requests a reconcile. */
  readonly annotation: string
  /** Whether the operator has just sent this status. */
  readonly isOurs: (object: T) => boolean
}

/** @returns the priority of a change; `undefined` if no reconcile is needed. */
export function priorityOf<T extends KubeObject>(
  { before, after }: Change<T>,
  source: 'list' | 'watch',
  { annotation, isOurs }: EditOptions<T>,
): Priority | undefined {
  if (after === undefined) return PRIORITY.deletion
  if (before?.metadata.uid === after.metadata.uid) {
    if (before.metadata.deletionTimestamp !== after.metadata.deletionTimestamp) return PRIORITY.deletion
    if (before.metadata.generation !== after.metadata.generation) return PRIORITY.edit
    if (before.metadata.annotations?.[annotation] !== after.metadata.annotations?.[annotation]) return PRIORITY.edit
  } else if (source === 'watch' || isBehind(after)) {
    return after.metadata.deletionTimestamp === undefined ? PRIORITY.edit : PRIORITY.deletion
  }
  if (source === 'list') return isBehind(after) ? PRIORITY.edit : PRIORITY.resync
  return isDeepStrictEqual(before?.status, after.status) || isOurs(after) ? undefined : PRIORITY.resync
}

/** Whether the object was edited and its status does not cover the edit yet. */
export function isBehind({ metadata, status }: KubeObject): boolean {
  const { observedGeneration } = (status ?? {}) as { readonly observedGeneration?: unknown }
  return typeof observedGeneration !== 'number' || observedGeneration < (metadata.generation ?? 0)
}
