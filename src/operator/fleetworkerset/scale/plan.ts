/**
 * @module operator/fleetworkerset/scale/plan
 * Defines what decides how a workload is scaled, and what is decided. Pure.
 *
 *   desired ≥ actual ─▶ no cordon, replicas = desired
 *   desired < actual ─▶ cordon the pods that will be removed ─▶ wait until their workers are idle ─▶ lower replicas
 *
 * A cordoned worker has 0 slots: its running tasks finish, and it takes no new one. The cordon is part of the variant
 * that the master stores as label of the worker. So every decision follows from the spec, the workload and the records,
 * and a restarted operator continues where the last one stopped.
 * @see D147
 */

/** What is known of the worker of a pod. */
export interface PodWorker {
  readonly isConnected: boolean
  /** Whether its label at the master says that it is cordoned. */
  readonly isCordoned: boolean
  /** Whether the set may cordon it. */
  readonly isOwn: boolean
  /** `null`: it does not report this. */
  readonly tasksHeld: number | null
  /** It holds no task and takes none, so its process can end. */
  readonly isIdle: boolean
}

export interface ScaleFacts {
  /** Number of pods that the set should have. */
  readonly desired: number
  /** `spec.replicas` of the workload. */
  readonly actual: number
  /** By worker id, which is the name of the pod. A pod that is missing here has no registered worker. */
  readonly workers: ReadonlyMap<string, PodWorker>
  /** Workers whose records were read a moment ago. Only these may be removed. */
  readonly verified: ReadonlySet<string>
}

export interface ScalePlan {
  /** Workers that must be cordoned. All others must not be. */
  readonly cordon: ReadonlySet<string>
  /** What to set `spec.replicas` of the workload to; `undefined`: leave it. */
  readonly replicas: number | undefined
  /** Pods that the workload should remove first, and pods that it should not remove first any more. */
  readonly marks: { readonly add: readonly string[]; readonly remove: readonly string[] }
  /** Workers whose records must be read before `replicas` is lowered further, the most important first. */
  readonly candidates: readonly string[]
}

/** Reads of single records in one look. */
export const MAX_CANDIDATES = 50
export const NO_MARKS: ScalePlan['marks'] = { add: [], remove: [] }

/** Whether a pod can be removed without interrupting a task. One without a registered worker can be. */
export const isRemovable = ({ workers, verified }: ScaleFacts, name: string): boolean =>
  verified.has(name) && (workers.get(name)?.isIdle ?? true)
