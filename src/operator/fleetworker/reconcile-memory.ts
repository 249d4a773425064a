/**
 * @module operator/fleetworker/reconcile-memory
 * What one term of leadership keeps of each resource beside its status: nothing that must survive, so that losing it may
 * cost one call and never correctness. One entry a uid; another uid under the same name starts anew, and so does a
 * resource that went back: what was learnt of its later generations may be said of others now.
 */
import { createHash, createHmac } from 'node:crypto'
import type { JsonValue } from '../../protocol/index.ts'
import type { Random } from '../../runtime/index.ts'
import type { WorkerRef } from '../fleet/index.ts'
import { keyOf, type ObjectKey } from '../kube/index.ts'
import type { RevertThrottle } from './revert-throttle.ts'
import { claimFor, workerOf, type FleetWorkerObject } from './resource.ts'
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
  /** The last one that was looked at. */
  generation: number
  readonly worker: WorkerRef
  readonly claim: string
  /** Once a change of others was undone. */
  revertThrottle: RevertThrottle | undefined
  /** Digests of the secrets sent last, by field, once one was. */
  digests: Map<string, string> | undefined
  /** Since when the worker is missing, for this generation of the resource. */
  missing: { readonly generation: number; readonly sinceMs: number } | undefined
  /** The inputs that were last found, or put, in force. */
  inForce: string | undefined
  parked: Parked | undefined
  /** The answer to a change was lost: the record is read before anything is judged by it. */
  isUnsure: boolean
  /** Whether the worker was connected when it was seen last, and when that was seen to change; by the master's clock, as `patchedMs`. */
  connection: { readonly isUp: boolean; readonly sinceMs: number } | undefined
  /** When we changed the config last. */
  patchedMs: number
  isCompared: boolean
}

/** What a status keeps of refused inputs. They name versions and no value, so a plain digest gives nothing away. */
export const rejectedDigest = (inputs: string): string => createHash('sha256').update(inputs).digest('base64url')

export class ReconcileMemory {
  readonly #entries = new Map<ObjectKey, WorkerState>()
  readonly #hmacKey: Uint8Array
  /** Uids of the first round that nobody has looked at yet. */
  readonly #unseen = new Set<string>()

  constructor(random: Random) {
    this.#hmacKey = random.bytes(32)
  }

  of(resource: FleetWorkerObject): WorkerState {
    const key = keyOf(resource.metadata)
    const known = this.#entries.get(key)
    const { generation, uid } = resource.metadata
    if (known?.uid === uid && known.generation <= generation) {
      known.generation = generation
      return known
    }
    const entry: WorkerState = {
      uid,
      generation,
      worker: workerOf(resource),
      claim: claimFor(resource),
      revertThrottle: undefined,
      digests: undefined,
      missing: undefined,
      inForce: undefined,
      parked: undefined,
      isUnsure: false,
      connection: undefined,
      patchedMs: 0,
      isCompared: false,
    }
    this.#entries.set(key, entry)
    return entry
  }

  /** A term begins with a look at each of these, before anything is written: what needs no write is not to wait for what does. */
  beginRound(resources: Iterable<FleetWorkerObject>): void {
    for (const { metadata } of resources) this.#unseen.add(metadata.uid)
  }

  /** Whether this is the look of the first round. */
  isFirstLook({ uid }: WorkerState): boolean {
    return this.#unseen.has(uid)
  }

  markReconciled(entry: WorkerState): void {
    entry.isCompared = true
    this.#unseen.delete(entry.uid)
  }

  /** How many resources have been looked at. */
  get comparedCount(): number {
    return [...this.#entries.values()].filter(({ isCompared }) => isCompared).length
  }

  /** Forgets a resource that is gone; what was known of it is handed out once more. */
  forget(key: ObjectKey): WorkerState | undefined {
    const entry = this.#entries.get(key)
    this.#entries.delete(key)
    return entry
  }

  /** Says whether two values are equal, and is of no use outside of this process. */
  digest(value: JsonValue): string {
    return createHmac('sha256', this.#hmacKey).update(JSON.stringify(value)).digest('base64')
  }
}
