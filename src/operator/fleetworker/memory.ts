/**
 * @module operator/fleetworker/memory
 * Stores what one term of leadership remembers of each resource beside its status. Nothing here must survive: losing it
 * may cost one call, never correctness. There is one entry per uid. An entry is replaced if another uid has the name,
 * or if the resource went back, because what was learnt of later generations may now be wrong.
 *
 * The revert throttle limits how often a contested field is reverted. Once a path was reverted more than 3 times in 10
 * minutes, its worker is reverted only every 5 minutes, until 30 minutes pass without a revert.
 */
import { createHash } from 'node:crypto'
import type { JsonValue } from '../../protocol/index.ts'
import type { Random } from '../../runtime/index.ts'
import { ValueDigest } from '../config/index.ts'
import type { WorkerRef } from '../fleet/index.ts'
import { type ObjectKey, keyOf } from '../kube/index.ts'
import { type FleetWorkerObject, claimFor, workerOf } from './resource.ts'
import type { SyncedReason } from './conditions.ts'

/** A refusal that the same inputs would meet again. */
export interface Parked {
  readonly inputs: string
  readonly reason: SyncedReason
  readonly message: string
  readonly untilMs: number
}

export interface WorkerState {
  readonly uid: string
  /** The last generation that was reconciled. */
  generation: number
  readonly worker: WorkerRef
  readonly claim: string
  /** Set once a change of another client was reverted. */
  revertThrottle: RevertThrottle | undefined
  /** Digests of the last secrets sent, by field; set once one was sent. */
  digests: Map<string, string> | undefined
  /** Since when the worker is missing, for this generation of the resource. */
  missing: { readonly generation: number; readonly sinceMs: number } | undefined
  /** The inputs of the last config that the master accepted. */
  inForce: string | undefined
  parked: Parked | undefined
  /** The faults of the spec of a generation, which do not change. */
  faults: { readonly generation: number; readonly all: readonly string[] } | undefined
  /** The response to a change was lost. Read the record before comparing. */
  isUnsure: boolean
  /**
   * Whether the worker was connected at the last look, and when that was seen to change; by the master's clock, as
   * `patchedMs`.
   */
  connection: { readonly isUp: boolean; readonly sinceMs: number } | undefined
  /** When the operator last changed the config. */
  patchedMs: number
  isCompared: boolean
}

/** Digest of refused inputs for the status. Inputs have versions and no values, so a plain digest reveals nothing. */
export const rejectedDigest = (inputs: string): string => createHash('sha256').update(inputs).digest('base64url')

export class ReconcileMemory {
  readonly #entries = new Map<ObjectKey, WorkerState>()
  readonly #digest: ValueDigest
  /** The resources of the first round that were not reconciled yet: uid and generation. */
  readonly #unseen = new Map<string, number>()

  constructor(random: Random) {
    this.#digest = new ValueDigest(random)
  }

  of(resource: FleetWorkerObject): WorkerState {
    const key = keyOf(resource.metadata)
    const known = this.#entries.get(key)
    const { generation, uid } = resource.metadata
    if (known?.uid === uid && known.generation <= generation) {
      known.generation = generation
      return known
    }
    const workerState: WorkerState = {
      uid,
      generation,
      worker: workerOf(resource),
      claim: claimFor(resource),
      revertThrottle: undefined,
      digests: undefined,
      missing: undefined,
      inForce: undefined,
      parked: undefined,
      faults: undefined,
      isUnsure: false,
      connection: undefined,
      patchedMs: 0,
      isCompared: false,
    }
    this.#entries.set(key, workerState)
    return workerState
  }

  /**
   * Starts a term with a first look at each resource before anything is written. So resources without changes do not
   * wait for those with changes. Edits that were compared before need none.
   */
  beginRound(resources: Iterable<FleetWorkerObject>): void {
    for (const resource of resources)
      if (!this.of(resource).isCompared) this.#unseen.set(resource.metadata.uid, resource.metadata.generation)
  }

  /** Whether this is the resource's look of the first round. A resource that was edited since does not wait. */
  isFirstLook({ uid, generation }: WorkerState): boolean {
    return this.#unseen.get(uid) === generation
  }

  markReconciled(workerState: WorkerState): void {
    workerState.isCompared = true
    this.#unseen.delete(workerState.uid)
  }

  /** Number of resources that have been compared. */
  get comparedCount(): number {
    return [...this.#entries.values()].filter(({ isCompared }) => isCompared).length
  }

  /** Drops the entry of a deleted resource and returns it. */
  forget(key: ObjectKey): WorkerState | undefined {
    const entry = this.#entries.get(key)
    this.#entries.delete(key)
    return entry
  }

  /** Digest for comparing two values. It is keyed, so it is useless outside of this process. */
  digest(value: JsonValue): string {
    return this.#digest.of(value)
  }
}

const WINDOW_MS = 10 * 60_000
const MAX_REVERTS = 3
const SLOT_MS = 5 * 60_000
const QUIET_MS = 30 * 60_000

export class RevertThrottle {
  readonly #reverts = new Map<string, readonly number[]>()
  #path: string | undefined
  #revertedMs = -Infinity
  #by: string | null = null

  /** @returns the contested path and the other client; `undefined` if no field is contested. */
  throttledAt(
    nowMs: number,
  ):
    | { readonly path: string; readonly by: string | null; readonly nextMs: number; readonly quietMs: number }
    | undefined {
    if (this.#path !== undefined && nowMs - this.#revertedMs >= QUIET_MS) this.#path = undefined
    return this.#path === undefined
      ? undefined
      : { path: this.#path, by: this.#by, nextMs: this.#revertedMs + SLOT_MS, quietMs: this.#revertedMs + QUIET_MS }
  }

  /** Records that changes of another client at these paths were reverted. */
  onRevert(paths: readonly string[], by: string | null, nowMs: number): void {
    for (const [path, times] of this.#reverts)
      if (times.every((atMs) => nowMs - atMs >= WINDOW_MS)) this.#reverts.delete(path)
    this.#revertedMs = nowMs
    this.#by = by
    for (const path of paths) {
      const times = [...(this.#reverts.get(path) ?? []), nowMs].filter((atMs) => nowMs - atMs < WINDOW_MS)
      this.#reverts.set(path, times)
      if (times.length > MAX_REVERTS) this.#path = path
    }
  }
}
