/** @module operator/fleet/probe  Finds out whether the master serves its API again, for the breaker. */
import { MasterError, type MasterClient } from '../../client/index.ts'
import type { ReadyBody } from '../../protocol/index.ts'
import type { Calls } from './calls.ts'
import { isFailure } from './refusal.ts'

/** Rejects if a server other than the master responds, with a body of another shape. */
export async function isServing(calls: Calls, client: MasterClient, signal: AbortSignal): Promise<boolean> {
  const ready = await calls
    .once<ReadyBody>({ method: 'GET', send: (either) => client.ready({ signal: either }) }, signal)
    .catch(() => null) // Aborted.
  if (ready === null || ready instanceof MasterError) return false
  if ((ready.body as ReadyBody | null)?.status !== 'ready') return false
  // The probe route may be served while the API routes are refused.
  const me = await calls
    .once({ method: 'GET', send: (either) => client.me({ signal: either }) }, signal)
    .catch(() => null) // Aborted.
  return me !== null && !(me instanceof MasterError && isFailure(me))
}
