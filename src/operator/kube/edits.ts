/**
 * @module operator/kube/edits
 * Which changes of an object are worth a look, and how urgent each is. A status of our own making is worth none, or a
 * controller would be woken by itself for ever.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Change } from './cache.ts'
import type { KubeObject } from './objects.ts'
import { PRIORITY, type Priority } from './priority.ts'

export interface EditOptions<T extends KubeObject> {
  /** An annotation whose change asks for a look. */
  readonly annotation: string
  /** Whether this status is one that we have just sent. */
  readonly isOurs: (object: T) => boolean
}

/** The priority that a change deserves; undefined: nothing is to be done. */
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

/** Edited, and no status says so yet. */
export function isBehind({ metadata, status }: KubeObject): boolean {
  const { observedGeneration } = (status ?? {}) as { readonly observedGeneration?: unknown }
  return typeof observedGeneration !== 'number' || observedGeneration < (metadata.generation ?? 0)
}
