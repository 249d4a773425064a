/**
 * @module operator/fleetworker/deleted-claims
 * Remembers the claims of FleetWorkers and sets that were deleted in this cluster. Such a claim can return to a worker:
 * a paused master executes a late request, or the store loses its newest changes in a failover. It must be
 * distinguished from the claim of another cluster, which must not be taken: this process has never cached that object.
 * Every replica has one DeletedClaims for its whole life, also while another replica leads.
 * @see D103
 */
import { BoundedMap } from '../../runtime/index.ts'
import type { Change } from '../kube/index.ts'
import { claimFor, type FleetWorkerObject } from './resource.ts'

/** As many as a large fleet has: all its FleetWorkers may be deleted and created again. */
const MAX_CLAIMS = 10_000

export class DeletedClaims {
  readonly #claims = new BoundedMap<string, true>(MAX_CLAIMS)

  /** Takes each change of a FleetWorker. A new uid under the same name replaces a deleted object. */
  onChange({ before, after }: Pick<Change<FleetWorkerObject>, 'before' | 'after'>): void {
    if (before !== undefined && before.metadata.uid !== after?.metadata.uid) this.add(claimFor(before))
  }

  add(claim: string): void {
    this.#claims.set(claim, true)
  }

  has(claim: string): boolean {
    return this.#claims.get(claim) !== undefined
  }
}
