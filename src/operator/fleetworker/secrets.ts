/**
 * @module operator/fleetworker/secrets
 * Decides when a field that cannot be read back is sent again. `status.config` stores what the operator remembers: the
 * version from which each field was sent (`sources`), the epoch of the store (`epoch`), and the last config generation
 * that was compared. A field is due when one of them no longer matches:
 *
 *   its version changed · another epoch · the config changed since, and its history names the field or is too short
 *
 * Write-ahead: before a field is sent for the first time, it is stored with an empty version. So a crash between the
 * PATCH and the status cannot leave a secret behind that is never reset.
 */
import type { JsonObject } from '../../protocol/index.ts'
import type { Desired } from './desired.ts'
import type { FleetWorkerStatus } from './schema.ts'

export interface SecretState {
  /** Set while the operator holds the claim of the worker. */
  readonly epoch: string | undefined
  /** The last config generation that was compared. */
  readonly generation: number | undefined
  readonly sources: ReadonlyMap<string, string>
}

/** Reads the secret state from a status. */
export function memoryOf({ config }: FleetWorkerStatus): SecretState {
  return {
    epoch: config?.epoch,
    generation: config?.generation,
    sources: new Map(config?.sources?.map(({ field, version }) => [field, version])),
  }
}

/** The state after the claim is released: nothing that was sent counts as present any more. */
export const givenBack = ({ generation, sources }: SecretState): SecretState => ({
  epoch: undefined,
  generation,
  sources: new Map([...sources.keys()].map((field) => [field, ''])),
})

/**
 * The state for a worker that other clients managed: each secret that is set there counts as named, and not sent by
 * this resource.
 */
export const takenOver = (memory: SecretState, set: readonly string[]): SecretState => ({
  ...memory,
  sources: new Map([...memory.sources, ...set.map((field) => [field, ''] as const)]),
})

/** Whether a field may contain a secret of another owner. */
export const isUnsent = (field: string, { sources }: SecretState): boolean => sources.get(field) === ''

export interface Observed {
  readonly epoch: string
  readonly configGen: number
  /** Fields that PATCHes since the remembered generation changed. `null`: the history does not reach back that far. */
  readonly changedSince: ReadonlySet<string> | null
}

export interface SecretActs {
  /** Named fields that must be sent whatever reads show. */
  readonly due: ReadonlySet<string>
  /** Fields that were sent once and are no longer named; they must be reset. */
  readonly forgotten: ReadonlySet<string>
}

export function secretActs({ named, versions }: Desired, memory: SecretState, observed: Observed): SecretActs {
  const due = [...versions]
    .filter(([field, version]) => memory.sources.get(field) !== version || isStale(field, memory, observed))
    .map(([field]) => field)
  const forgotten = [...memory.sources.keys()].filter((field) => !Object.hasOwn(named, field))
  return { due: new Set(due), forgotten: new Set(forgotten) }
}

function isStale(field: string, memory: SecretState, observed: Observed): boolean {
  if (memory.epoch !== observed.epoch) return true
  if (memory.generation === observed.configGen) return false
  return observed.changedSince?.has(field) ?? true
}

/** The state to store before the PATCH: fields that are new, with an empty version. */
export function writeAhead(
  sources: ReadonlyMap<string, string>,
  { versions }: Desired,
  patch: JsonObject,
): ReadonlyMap<string, string> {
  const fresh = [...versions.keys()].filter((field) => Object.hasOwn(patch, field) && !sources.has(field))
  return new Map([...sources, ...fresh.map((field) => [field, ''] as const)])
}
