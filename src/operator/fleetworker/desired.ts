/**
 * @module operator/fleetworker/desired
 * Computes the desired config from the resource: `config`, the values that `configFrom` names, `slots`. The resource is
 * the whole config (D43), so a field that is missing here is set to its default. Pure, over sources that were read
 * before.
 *
 *   config ─────────────┐
 *   configFrom ─read──▶ ├──▶ named: field → value    one value each, bounded; a null that is no value is "not named"
 *   slots ──────────────┘    versions: field → where its value came from
 *
 * A version represents a value that cannot be compared, because reads of the master mask it (D17). `status.config`
 * stores what the operator remembers of such fields: the version from which each field was sent (`sources`), the epoch
 * of the store (`epoch`), and the last config generation that was compared. A field is due when one of them no longer
 * matches:
 *
 *   its version changed · another epoch · the config changed since, and its history names the field or is too short
 *
 * Write-ahead: before a field is sent for the first time, it is stored with an empty version. So a crash between the
 * PATCH and the status cannot leave a secret behind that is never reset.
 */
import {
  type JsonObject,
  type JsonSchema,
  type JsonValue,
  SECRET_MASK,
  type SecretPaths,
  acceptsNull,
  secretValues,
} from '../../protocol/index.ts'
import { type ConfigSource, formatOf, valueFaults } from '../config/index.ts'
import { boundFaults } from './bounds.ts'
import type { FleetWorker, FleetWorkerStatus } from './schema.ts'

/** The config of an automation type, as its catalog entry describes it. */
export interface ConfigType {
  readonly schema: JsonSchema
  readonly secrets: SecretPaths
}

/** The current content of one entry of `configFrom`. */
export interface Source {
  readonly text: string
  /** Its uid and resourceVersion. */
  readonly version: string
}

export interface Desired {
  readonly named: JsonObject
  /** Versions of the named fields that contain a secret or come from a source. */
  readonly versions: ReadonlyMap<string, string>
}

/** Why there is nothing to send. A retry with the same object has the same result. */
interface InvalidConfig {
  readonly kind: 'invalid'
  readonly reason: 'ConfigInvalid' | 'SecretNotWriteOnly'
  readonly message: string
}

export type DesiredResult = { readonly kind: 'desired'; readonly desired: Desired } | InvalidConfig

/** `sources` has every field of `configFrom`. Missing and refused sources are detected when they are read. */
export function desiredOf(
  resource: FleetWorker,
  sources: ReadonlyMap<string, Source>,
  type: ConfigType,
): DesiredResult {
  const faults = boundFaults(resource)
  if (faults.length > 0) return invalidConfig(faults)
  const { metadata, spec } = resource
  const misused = (spec.configFrom ?? []).filter(
    (source) => source.secretKeyRef !== undefined && !isSecretField(source.field, type),
  )
  if (misused.length > 0)
    return {
      kind: 'invalid',
      reason: 'SecretNotWriteOnly',
      message:
        `spec.configFrom takes ${misused.map(({ field }) => field).join(', ')} from a Secret, ` +
        `but the schema of ${spec.type} does not mark it writeOnly, so everyone who reads the config would see it; ` +
        'mark it writeOnly in the schema, or use a ConfigMap if it is no secret',
    }
  const read = (spec.configFrom ?? []).map((source) => ({ source, result: sourceValue(source, sources) }))
  const faulty = read.flatMap(({ result }) => (result.kind === 'fault' ? [result.fault] : []))
  if (faulty.length > 0) return invalidConfig(faulty)
  const named = Object.fromEntries([
    ...Object.entries(spec.config ?? {}).filter(([name, value]) => value !== null || acceptsNull(type.schema, name)),
    ...read.flatMap(({ source, result }) => (result.kind === 'value' ? [[source.field, result.value] as const] : [])),
    ...(spec.slots === undefined ? [] : [['slots', spec.slots] as const]),
  ])
  const late = [...valueFaults(named, 'the config'), ...maskFaults(named, type)]
  return late.length > 0
    ? invalidConfig(late)
    : { kind: 'desired', desired: { named, versions: versionsOf(named, metadata.generation, sources, type) } }
}

const invalidConfig = (faults: readonly string[]): InvalidConfig => ({
  kind: 'invalid',
  reason: 'ConfigInvalid',
  message: faults.join('; '),
})

/** Whether a field contains a secret at any depth. Reads mask it, so it cannot be compared. */
export const holdsSecret = (name: string, { secrets }: ConfigType): boolean => secrets.some(([first]) => first === name)
/** Fields whose whole value is the secret (D52). */
export const isSecretField = (name: string, { secrets }: ConfigType): boolean =>
  secrets.some((path) => path.length === 1 && path[0] === name)

/** Fields that have a secret in a config, as reads show it. */
export const secretsSet = (config: JsonObject, { secrets }: ConfigType): readonly string[] => [
  ...new Set(
    secrets.flatMap((path) => (path[0] !== undefined && secretValues(config, [path]).length > 0 ? [path[0]] : [])),
  ),
]

function sourceValue(
  source: ConfigSource,
  sources: ReadonlyMap<string, Source>,
): { readonly kind: 'value'; readonly value: JsonValue } | { readonly kind: 'fault'; readonly fault: string } {
  const { field } = source
  const text = sources.get(field)?.text
  if (text === undefined) throw new TypeError(`the source of ${field} was not read`)
  if (formatOf(source) !== 'JSON') return { kind: 'value', value: text }
  const value = parsed(text)
  const at = `the source of ${field}`
  if (value === undefined)
    return { kind: 'fault', fault: `${at} is not valid JSON, which "format: JSON" in spec.configFrom requires` }
  const [fault] = valueFaults(value, at)
  return fault === undefined ? { kind: 'value', value } : { kind: 'fault', fault }
}

/** The parser's message quotes the text, which may be a secret, so it is dropped. */
function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    return undefined // Not JSON. The caller reports this without quoting the text.
  }
}

/** Rejects masked values. The mask keeps the value of the master, so the result would differ from this object. */
function maskFaults(named: JsonObject, { secrets }: ConfigType): readonly string[] {
  const masked = secrets.filter((path) => secretValues(named, [path]).includes(SECRET_MASK))
  return masked.map(
    (path) =>
      `/${path.join('/')} of the config is "${SECRET_MASK}", ` +
      'the placeholder that the master shows instead of a secret; set the secret itself, or remove the field',
  )
}

function versionsOf(
  named: JsonObject,
  generation: number,
  sources: ReadonlyMap<string, Source>,
  type: ConfigType,
): ReadonlyMap<string, string> {
  const versioned = Object.keys(named).filter((name) => sources.has(name) || holdsSecret(name, type))
  return new Map(versioned.map((name) => [name, sources.get(name)?.version ?? `generation:${generation}`]))
}

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
