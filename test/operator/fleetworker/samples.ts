/** Small FleetWorkers, config types and facts for tests of the operator's pure functions. */
import { configSchemaOf, secretPathsOf, type JsonObject, type JsonSchema } from '../../../src/protocol/index.ts'
import {
  ONLINE_MS,
  type ConfigType,
  type Facts,
  type FleetWorker,
  type FleetWorkerSpec,
  type SecretState,
  type SyncedReason,
  type WorkerFacts,
} from '../../../src/operator/fleetworker/index.ts'

export const NOW_MS = Date.parse('2026-01-01T12:00:00Z')

export function fleetWorker(spec: Partial<FleetWorkerSpec> = {}, name = 'w1'): FleetWorker {
  return {
    metadata: { name, namespace: 'default', uid: 'u-1', generation: 3, creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { type: 'probe', ...spec },
  }
}

export function configType(
  properties: Record<string, JsonSchema>,
  definitions: Record<string, JsonSchema> = {},
): ConfigType {
  const schema = configSchemaOf({ type: 'object', properties, $defs: definitions })
  return { schema, secrets: secretPathsOf(schema) }
}

/** The master's config of a worker that was never configured. */
export const BASE: JsonObject = { enabled: false, slots: 1, max_attempts: 3, recycle_seconds: 0 }

export const worker = (more: Partial<WorkerFacts> = {}): WorkerFacts => ({
  isConnected: true,
  lastSeenMs: NOW_MS - 1_000,
  state: 'RUNNING',
  lastError: null,
  isDraining: false,
  configGen: 7,
  appliedConfigGen: 7,
  owesSinceMs: NOW_MS - 1_000,
  ...more,
})

/** Facts of a worker that runs its desired config. */
export const facts = (more: Partial<Facts> = {}): Facts => ({
  generation: 3,
  policy: 'Enforce',
  suspend: false,
  drain: false,
  isReleasing: false,
  synced: { reason: 'InSync', message: 'in force' },
  worker: worker(),
  isMasterUnavailable: false,
  driftCount: 0,
  nowMs: NOW_MS,
  before: [],
  ...more,
})

/** The result of the last reconcile. */
export const synced = (reason: SyncedReason): Pick<Facts, 'synced'> => ({
  synced: { reason, message: `because of ${reason}` },
})
/** Last seen exactly as long ago as a reconnect may take. */
export const offline = worker({ isConnected: false, lastSeenMs: NOW_MS - ONLINE_MS })
/** Memory of a FleetWorker that never sent anything. */
export const NOTHING_REMEMBERED: SecretState = { epoch: undefined, generation: undefined, sources: new Map() }
