/**
 * @module operator/fleetworkerset/scale/first-replicas
 * Sets `spec.replicas` of a set that has a workload and no number, to the number that the workload has. Without it the
 * API server returns an error for the scale subresource, so KEDA and a HorizontalPodAutoscaler could not begin. This is
 * the only write of the operator to a spec. It keeps these rules:
 *
 *   - it goes to the scale subresource, which has no other field of the spec and a right of its own
 *   - it names the version of the object that had no number, so it never replaces the number of another writer
 *   - the number is read from the workload immediately before, so it scales nothing
 *
 * A GitOps engine that applies the set without the field does not remove the number, since it does not own it.
 * @see D149
 */
import { FIELD_MANAGER } from '../../config/index.ts'
import { KubeError, objectPath, refOf } from '../../kube/index.ts'
import type { ScaleProblem } from '../conditions.ts'
import type { SetContext } from '../context.ts'
import { FLEET_WORKER_SETS, setEventTarget } from '../resource.ts'
import type { Workload } from './schema.ts'
import type { WorkloadClient } from './workload.ts'

const RETRY_MS = 10_000

/** @returns after how many milliseconds to try again; `undefined`: the set has the number now. */
export async function setFirstReplicas(
  context: SetContext,
  workload: Workload,
  client: WorkloadClient,
): Promise<number | undefined> {
  const { deps, set, signal, state } = context
  const { first } = state.scale
  const nowMs = deps.clock.monotonicMs()
  if (first.nextMs > nowMs) return first.nextMs - nowMs
  if (!deps.leadership.mayWrite()) return RETRY_MS
  first.nextMs = nowMs + RETRY_MS
  const read = await client.read(signal)
  if (read.kind !== 'found') return RETRY_MS
  try {
    await writeReplicas(context, read.replicas)
  } catch (error) {
    if (!(error instanceof KubeError)) throw error
    first.problem = error.status === 403 ? forbidden(error) : undefined
    // A conflict is another writer, whose version of the object arrives by the watch.
    deps.log.info('setting the first replicas of a set failed, retrying', { set: set.metadata.name, error })
    return RETRY_MS
  }
  first.problem = undefined
  const message = `replicas is ${read.replicas} now, as in the ${workload.kind} ${workload.name}`
  deps.events.record(setEventTarget(set), 'Normal', 'ReplicasSet', message)
  return undefined
}

const writeReplicas = ({ deps, set, signal }: SetContext, replicas: number): Promise<unknown> =>
  deps.transport.json(
    {
      method: 'PATCH',
      path: objectPath(FLEET_WORKER_SETS, refOf(set), 'scale'),
      query: { fieldManager: FIELD_MANAGER },
      contentType: 'application/merge-patch+json',
      body: { metadata: { resourceVersion: set.metadata.resourceVersion }, spec: { replicas } },
    },
    signal,
  )

const forbidden = ({ message }: KubeError): ScaleProblem => ({
  reason: 'WorkloadForbidden',
  message:
    'replicas is missing, and the operator may not set it; set operator.rbac.scaleWorkers of the chart, apply ' +
    `manifests/operator/scale-workers, or set replicas yourself: ${message}`,
})
