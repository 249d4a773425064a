/**
 * @module operator/fleetworker/release-claim
 * Releases the claim of a resource that must not manage its worker: another resource owns the worker, the namespace may
 * not have it, or the resource is suspended or only observed.
 */
import { givenBack, type SecretState } from './secrets.ts'
import { refusedResult, type ReconcileContext, type SyncResult } from './sync-result.ts'

/** The claim is released, or was never held. */
interface Released {
  readonly kind: 'released'
  /** What to record in the status from now on. */
  readonly secretState: SecretState
}

/** @returns the secret state after the release, or why the claim could not be released. */
export async function releaseClaim(context: ReconcileContext): Promise<Released | SyncResult> {
  const { deps, workerState, signal, recorded } = context
  const seen = deps.table.get(workerState.worker.type, workerState.worker.workerId)
  if (seen.kind === 'registered' && seen.record.managed_by === workerState.claim) {
    const answer = await deps.master.release(workerState.worker, workerState.claim, signal)
    if (answer.kind !== 'ok' && answer.kind !== 'not_registered') return refusedResult(answer, context, seen)
  }
  return { kind: 'released', secretState: recorded.epoch === undefined ? recorded : givenBack(recorded) }
}
