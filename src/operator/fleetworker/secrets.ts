/**
 * @module operator/fleetworker/secrets
 * When a field that cannot be read back is sent again. The operator's memory stands in `status.config`: from which
 * version each field was sent (`sources`), to which life of the store (`epoch`), and up to which generation the config
 * was judged. A field is due when one of them no longer speaks of what is there:
 *
 *   its version moved · another epoch · the config moved on since, and its history names the field or does not reach back
 *
 * Write-ahead: before a field is sent for the first time it is remembered with an empty version, so that a crash between
 * the PATCH and the status cannot leave a secret behind that nobody would take back.
 */
import type { JsonObject } from '../../protocol/index.ts'
import type { Desired } from './desired.ts'
import type { FleetWorkerStatus } from './schema.ts'

export interface SecretState {
  /** Set while we hold the claim of the worker. */
  readonly epoch: string | undefined
  /** The last config generation that was judged. */
  readonly generation: number | undefined
  readonly sources: ReadonlyMap<string, string>
}

/** What a status remembers. */
export function memoryOf({ config }: FleetWorkerStatus): SecretState {
  return {
    epoch: config?.epoch,
    generation: config?.generation,
    sources: new Map(config?.sources?.map(({ field, version }) => [field, version])),
  }
}

/** What is left of it once the claim is given back: nothing that was sent counts as being there any more. */
export const givenBack = ({ generation, sources }: SecretState): SecretState => ({
  epoch: undefined,
  generation,
  sources: new Map([...sources.keys()].map((field) => [field, ''])),
})

/** The memory where others had the worker: each secret that is set there counts as named by this resource and not sent by it. */
export const takenOver = (memory: SecretState, set: readonly string[]): SecretState => ({
  ...memory,
  sources: new Map([...memory.sources, ...set.map((field) => [field, ''] as const)]),
})

/** Whether a field may hold a secret of others. */
export const isUnsent = (field: string, { sources }: SecretState): boolean => sources.get(field) === ''

export interface Observed {
  readonly epoch: string
  readonly configGen: number
  /** Fields that PATCHes since the remembered generation changed; null: the history does not reach back to it. */
  readonly changedSince: ReadonlySet<string> | null
}

export interface SecretActs {
  /** Named, and to be sent whatever reads show. */
  readonly due: ReadonlySet<string>
  /** Sent once and no longer named: to be taken back. */
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

/** What is remembered before the PATCH: fields of it that are new to the memory, with an empty version. */
export function writeAhead(
  sources: ReadonlyMap<string, string>,
  { versions }: Desired,
  patch: JsonObject,
): ReadonlyMap<string, string> {
  const fresh = [...versions.keys()].filter((field) => Object.hasOwn(patch, field) && !sources.has(field))
  return new Map([...sources, ...fresh.map((field) => [field, ''] as const)])
}
