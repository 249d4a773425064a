/** @module test/operator/made-fleet-workers  FleetWorkers as the cache of the operator holds them. */
import type { FleetWorkerObject } from '../../src/operator/fleetworker/index.ts'

let versions = 0

interface Given {
  readonly type?: string
  readonly workerId?: string
  readonly uid?: string
  readonly generation?: number
  readonly status?: FleetWorkerObject['status']
  readonly secret?: string
}

export function fleetWorker(
  name: string,
  { type = 'a', workerId = name, uid = `uid-${name}`, generation = 1, status, secret }: Given = {},
): FleetWorkerObject {
  return {
    metadata: {
      name,
      namespace: 'ns',
      uid,
      generation,
      resourceVersion: String((versions += 1)),
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
    spec: {
      type,
      workerId,
      ...(secret !== undefined && { configFrom: [{ field: 'f', secretKeyRef: { name: secret, key: 'k' } }] }),
    },
    ...(status !== undefined && { status }),
  }
}

/** A condition that is True. */
export const met = (type: string, observedGeneration: number) => ({
  type,
  status: 'True' as const,
  observedGeneration,
  reason: 'R',
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
})
