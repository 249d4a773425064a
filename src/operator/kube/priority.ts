/**
 * @module operator/kube/priority
 * Defines in which order the work queue hands out keys: the highest number first.
 */
export const PRIORITY = {
  /** A changed worker whose resource was edited: what was begun ends first, with one status write for both. */
  followUp: 110,
  /** A new or changed spec that the status does not cover yet. */
  edit: 100,
  /** A deleted object. */
  deletion: 90,
  /** A changed worker whose resource has a pending status write, so that one write carries both. */
  pendingStatus: 90,
  /** A change outside of the resource: its worker, type, Secret or ConfigMap. */
  event: 50,
  /** The periodic resync, and a resource that was not edited. */
  resync: -100,
} as const

export type Priority = (typeof PRIORITY)[keyof typeof PRIORITY]
