/**
 * @module operator/kube/edits
 * Decides which changes of an object need a reconcile, and with which priority. The controller's own status writes need
 * none; otherwise it would trigger itself without end.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Change } from './cache.ts'
import type { KubeObject, ObjectMeta } from './objects.ts'
import { PRIORITY, type Priority } from './priority.ts'

export interface EditOptions<T extends KubeObject> {
  /** Annotations whose change requests a reconcile. */
  readonly annotations: readonly string[]
  /** Whether the operator has just sent this status. */
  readonly isOurs: (object: T) => boolean
}

/** @returns the priority of a change; `undefined` if no reconcile is needed. */
export function priorityOf<T extends KubeObject>(
  { before, after }: Change<T>,
  source: 'list' | 'watch',
  { annotations, isOurs }: EditOptions<T>,
): Priority | undefined {
  if (after === undefined) return PRIORITY.deletion
  if (before?.metadata.uid !== after.metadata.uid) return priorityOfNew(after, source)
  const priority = priorityOfEdit(before.metadata, after.metadata, annotations)
  if (priority !== undefined) return priority
  if (source === 'list') return isBehind(after) ? PRIORITY.edit : PRIORITY.resync
  if (isDeepStrictEqual(before.status, after.status)) return undefined
  return isOurs(after) ? undefined : PRIORITY.resync
}

/**
 * The priority of an object that was not cached yet. The first list after a start shows every object; only those whose
 * status does not cover their spec have the priority of an edit.
 */
function priorityOfNew(object: KubeObject, source: 'list' | 'watch'): Priority {
  if (source === 'list' && !isBehind(object)) return PRIORITY.resync
  return object.metadata.deletionTimestamp === undefined ? PRIORITY.edit : PRIORITY.deletion
}

/** @returns the priority of a user's edit; `undefined` if there was none. */
function priorityOfEdit(before: ObjectMeta, after: ObjectMeta, annotations: readonly string[]): Priority | undefined {
  if (before.deletionTimestamp !== after.deletionTimestamp) return PRIORITY.deletion
  if (before.generation !== after.generation) return PRIORITY.edit
  return annotations.some((name) => before.annotations?.[name] !== after.annotations?.[name])
    ? PRIORITY.edit
    : undefined
}

/** Whether the object was edited and its status does not cover the edit yet. */
export function isBehind({ metadata, status }: KubeObject): boolean {
  const { observedGeneration } = (status ?? {}) as { readonly observedGeneration?: unknown }
  return typeof observedGeneration !== 'number' || observedGeneration < (metadata.generation ?? 0)
}
