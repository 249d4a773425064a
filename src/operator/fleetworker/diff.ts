/**
 * @module operator/fleetworker/diff
 * Computes how the config at the master differs from the desired one, and the PATCH that removes the difference. It
 * compares top-level fields, because a PATCH merges there and not deeper (D13):
 *
 *   named    ── differs ──▶ its whole value, with the master's values at ignored pointers
 *   unnamed  ── not at its default ──▶ null; the default itself where null is a value of the field
 *   secret   ── the masked parts are never compared; desired.ts decides when they are sent
 *
 * Two configs are equal if they are the same JSON value without defaults. After the PATCH the difference is empty, for
 * every schema. Each PATCH raises `config_gen` (D16), so a remaining difference would be a loop.
 */
import {
  type JsonObject,
  type JsonValue,
  acceptsNull,
  boundSecretsOf,
  defaultsOf,
  differingPointers,
  keptBoundSecrets,
  pointerStep,
  pointerSteps,
  putBack,
  sameJson,
  withoutDefaults,
  withoutSecrets,
} from '../../protocol/index.ts'
import { type ConfigType, type Desired, type SecretActs, holdsSecret, isSecretField } from './desired.ts'

export interface Difference {
  /** Empty: the config is as desired, and nothing may be sent. */
  readonly patch: JsonObject
  /** JSON pointers of what differs, never values. */
  readonly paths: readonly string[]
}

type Steps = readonly string[]

/** `observed` is the config as reads show it, with secrets masked. `ignored` are JSON pointers. */
export function differenceOf(
  desired: Desired,
  observed: JsonObject,
  type: ConfigType,
  acts: SecretActs,
  ignored: readonly string[],
): Difference {
  const defaults = defaultsOf(type.schema)
  const pointers = ignored.map(pointerSteps)
  const names = [...new Set([...Object.keys(desired.named), ...Object.keys(observed), ...acts.forgotten])].toSorted()
  const found = names.flatMap((name) => {
    const below = pointers.filter(([first]) => first === name).map((steps) => steps.slice(1))
    const isNamed = Object.hasOwn(desired.named, name)
    const field: Field = {
      name,
      isNamed,
      wanted: own(isNamed ? desired.named : defaults, name),
      has: own(observed, name),
      below,
    }
    const difference = fieldDifference(field, type, acts)
    return difference === undefined ? [] : [[name, difference] as const]
  })
  return {
    patch: Object.fromEntries(found.map(([name, { send }]) => [name, send])),
    paths: found.flatMap(([, { paths }]) => paths),
  }
}

/**
 * As {@link differenceOf}, but a secret that is bound to a field of the PATCH is sent with it, or cleared if the
 * resource does not name it. Otherwise the master rejects the PATCH (D88). An ignored secret is left out: another
 * client has to send it.
 */
export function boundDifferenceOf(
  desired: Desired,
  observed: JsonObject,
  type: ConfigType,
  acts: SecretActs,
  ignored: readonly string[],
): { readonly acts: SecretActs; readonly difference: Difference } {
  const difference = differenceOf(desired, observed, type, acts, ignored)
  const kept = keptSecretFields(observed, difference.patch, type).filter(
    (name) => !acts.due.has(name) && !acts.forgotten.has(name),
  )
  if (kept.length === 0) return { acts, difference }
  const isNamed = (name: string): boolean => Object.hasOwn(desired.named, name)
  const more = {
    due: new Set([...acts.due, ...kept.filter(isNamed)]),
    forgotten: new Set([...acts.forgotten, ...kept.filter((name) => !isNamed(name))]),
  }
  return boundDifferenceOf(desired, observed, type, more, ignored)
}

/** Secret fields that `patch` leaves unchanged while it changes their destination. */
export function keptSecretFields(
  observed: JsonObject,
  patch: JsonObject,
  { schema, secrets }: ConfigType,
): readonly string[] {
  const kept = keptBoundSecrets(boundSecretsOf(schema, secrets), observed, patch, Object.keys(patch))
  return [...new Set(kept.flatMap(({ path }) => path.slice(0, 1)))]
}

interface Field {
  readonly name: string
  readonly isNamed: boolean
  /** The named value, else the default, else `undefined`. */
  readonly wanted: JsonValue | undefined
  readonly has: JsonValue | undefined
  /** Ignored pointers within the field; an empty pointer is the field itself. */
  readonly below: readonly Steps[]
}

function fieldDifference(
  field: Field,
  type: ConfigType,
  acts: SecretActs,
): { readonly send: JsonValue; readonly paths: readonly string[] } | undefined {
  const { name, isNamed, has, below } = field
  if (has !== undefined && below.some((steps) => steps.length === 0)) return undefined
  const wanted = below.reduce((value, steps) => putBack(value, has, steps), field.wanted)
  const hidden = holdsSecret(name, type) && (isNamed ? acts.due : acts.forgotten).has(name)
  const paths = isSecretField(name, type) || isUnsetNull(field, type) ? [] : visiblePaths(name, wanted, has, type)
  if (paths.length === 0 && !hidden) return undefined
  const isPlainReset = !isNamed && wanted === field.wanted
  return {
    send: isPlainReset ? resetOf(name, wanted, type) : (wanted ?? null),
    paths: paths.length > 0 ? paths : [pointerStep(name)],
  }
}

/** Whether a field that accepts null has no default: null is then how "not set" reads after it was set once. */
const isUnsetNull = ({ name, isNamed, wanted, has }: Field, type: ConfigType): boolean =>
  !isNamed && wanted === undefined && has === null && acceptsNull(type.schema, name)

const resetOf = (name: string, fallback: JsonValue | undefined, type: ConfigType): JsonValue =>
  acceptsNull(type.schema, name) ? (fallback ?? null) : null

function visiblePaths(
  name: string,
  wanted: JsonValue | undefined,
  has: JsonValue | undefined,
  { schema, secrets }: ConfigType,
): readonly string[] {
  if (sameJson(wanted, has)) return []
  const visible = (value: JsonValue | undefined): JsonObject =>
    value === undefined ? {} : withoutDefaults(schema, withoutSecrets({ [name]: value }, secrets))
  return differingPointers(visible(wanted), visible(has))
}

const own = (object: JsonObject, name: string): JsonValue | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined
