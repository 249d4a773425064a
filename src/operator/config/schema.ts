/**
 * @module operator/config/schema
 * Defines the schemas that FleetWorker and FleetWorkerSet have in common, and the helpers that both are written with.
 * Fields of the same name have the same meaning, bounds and defaults in both kinds.
 * @see D43
 */
import { Type, type Static } from 'typebox'
import { BASE_CONFIG_FIELDS, MAX_SLOTS, POINTER_PATTERN, TYPE_PATTERN, type JsonObject } from '../../protocol/index.ts'

export const GROUP = 'muster.dev'
export const VERSION = 'v1alpha1'
/** The name under which the operator writes objects. */
export const FIELD_MANAGER = 'muster-operator'

/** Longest text about the version of a source in a status. */
export const MAX_SOURCE_VERSION_CHARS = 160
export const MAX_SOURCES = 64
export const MAX_MESSAGE_CHARS = 1_024
export const MAX_DRIFT_PATHS = 20
export const DAY_SECONDS = 86_400

export const WORKER_ID_PATTERN = '^[A-Za-z0-9]([A-Za-z0-9._:@-]*[A-Za-z0-9])?$'
export const FIELD_PATTERN = '^[A-Za-z_][A-Za-z0-9_.-]*$'

type Rule = { readonly rule: string; readonly message: string }
export const rules = (...all: readonly Rule[]) => ({ 'x-kubernetes-validations': all })
export const text = (maxLength: number, description: string, more: object = {}) =>
  Type.String({ maxLength, description, ...more })
const word = <T extends string>(words: readonly T[], description: string, fallback: T) =>
  Type.Unsafe<T>({ type: 'string', enum: words, default: fallback, description })
export const int = (format: 'int32' | 'int64', description: string, more: object = {}) =>
  Type.Integer({ format, description, ...more })
export const time = (description: string) => Type.String({ format: 'date-time', description })

/** A rule between two fields: `spec.slots` is the only place that sets the slots. The spec of each kind has it. */
export const SLOTS_ONCE: readonly Rule[] = [
  {
    rule: '!has(self.slots) || !has(self.config) || !has(self.config.slots)',
    message: 'set slots once, in spec.slots or in spec.config',
  },
  {
    rule: "!has(self.slots) || !has(self.configFrom) || self.configFrom.all(e, e.field != 'slots')",
    message: 'set slots once, in spec.slots or in spec.configFrom',
  },
]

/**
 * The base fields of every Config as at the master, but without defaults: a default in this schema would count as
 * named.
 */
const baseConfigFields = Object.fromEntries(
  Object.entries(BASE_CONFIG_FIELDS).map(([name, schema]) => [name, { ...schema, default: undefined, nullable: true }]),
)

const Reference = (description: string) =>
  Type.Object(
    {
      name: text(253, 'Its name, in the namespace of this object.', { minLength: 1 }),
      key: text(253, 'The key of its data.', { minLength: 1 }),
    },
    { description },
  )

const SOURCE_FORMATS = ['String', 'JSON'] as const
type SourceFormat = (typeof SOURCE_FORMATS)[number]

/**
 * `as` is the old name of `format`. It keeps its default, because without it an object that is applied again would get
 * another generation (D246).
 */
const ConfigSource = Type.Object(
  {
    field: text(128, 'The top-level name of the config that is set.', { minLength: 1, pattern: FIELD_PATTERN }),
    secretKeyRef: Type.Optional(Reference('A key of a Secret; only for fields that are secret as a whole.')),
    configMapKeyRef: Type.Optional(Reference('A key of a ConfigMap.')),
    format: Type.Optional(
      Type.Unsafe<SourceFormat>({
        type: 'string',
        enum: SOURCE_FORMATS,
        description: 'String, also when left out, takes the text unchanged, JSON parses it.',
      }),
    ),
    as: Type.Optional(
      word(SOURCE_FORMATS, 'Deprecated: use format. String, the default, has no effect beside format.', 'String'),
    ),
  },
  rules(
    {
      rule: "!has(self.format) || !has(self.__as__) || self.__as__ != 'JSON'",
      message: 'set one of format and as; as is the old name of format',
    },
    {
      rule: 'has(self.secretKeyRef) != has(self.configMapKeyRef)',
      message: 'name one of secretKeyRef and configMapKeyRef',
    },
    {
      rule: "!(self.field in ['__proto__', 'constructor', 'prototype'])",
      message: 'this name is not allowed in a config',
    },
  ),
)
export type ConfigSource = Static<typeof ConfigSource>

/** How the text of a source is read, by the new or the old name of the field. */
export const formatOf = ({ format, as = 'String' }: Pick<ConfigSource, 'format' | 'as'>): SourceFormat => format ?? as

/** The same entry with its format under the old name alone, as releases before 0.2 stored it. */
export function underOldName({ format, ...rest }: ConfigSource): ConfigSource {
  return format === undefined ? rest : { ...rest, as: format }
}

export const automationType = () =>
  text(63, 'The automation type. It cannot be changed.', {
    pattern: TYPE_PATTERN,
    ...rules({ rule: 'self == oldSelf', message: 'type is immutable' }),
  })

/** A whole config, or a part of one. */
export const configObject = (description: string) =>
  Type.Unsafe<JsonObject>({
    type: 'object',
    maxProperties: 256,
    'x-kubernetes-preserve-unknown-fields': true,
    properties: baseConfigFields,
    description,
  })

export const configSources = () =>
  Type.Array(ConfigSource, {
    maxItems: MAX_SOURCES,
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['field'],
    description: 'Config fields whose value comes from a Secret or ConfigMap of the same namespace.',
  })

export const slotsCount = (description: string) => int('int32', description, { minimum: 0, maximum: MAX_SLOTS })

export const managementPolicy = () =>
  word(
    ['Enforce', 'Warn', 'Observe'],
    'Enforce reverts changes of other clients, Warn reports them, Observe never writes.',
    'Enforce',
  )

export const deletionPolicy = (description: string) => word(['Retain', 'Reset', 'Deregister'], description, 'Retain')

export const ignoreDifferences = () =>
  Type.Array(Type.String({ maxLength: 256, pattern: POINTER_PATTERN }), {
    maxItems: 64,
    'x-kubernetes-list-type': 'set',
    description:
      'JSON pointers to config fields that other clients own; a value here is used only when the master has none.',
  })

export const suspend = () =>
  Type.Boolean({ description: 'Pause: nothing is written to the master; the status is still updated.' })

export const CONDITION_STATUSES = ['True', 'False', 'Unknown'] as const
export type ConditionStatus = (typeof CONDITION_STATUSES)[number]

/** A condition as metav1.Condition, with the given bounds of its texts, in characters. */
const conditionWith = (bounds: { readonly type: number; readonly reason: number; readonly message: number }) =>
  Type.Object(
    {
      type: text(bounds.type, 'The type of the condition.', { pattern: '^[A-Za-z][A-Za-z0-9]*$' }),
      status: Type.Unsafe<ConditionStatus>({
        type: 'string',
        enum: [...CONDITION_STATUSES],
        description: 'True, False or Unknown.',
      }),
      observedGeneration: Type.Optional(
        int('int64', 'The metadata.generation that the condition describes.', { minimum: 0 }),
      ),
      lastTransitionTime: time('When the status changed last.'),
      reason: text(bounds.reason, 'One word for programs.', {
        minLength: 1,
        pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
      }),
      message: text(bounds.message, 'One sentence for people.'),
    },
    { description: 'One aspect of the state, as metav1.Condition.' },
  )
/** The bounds of metav1.Condition. */
const METAV1_BOUNDS = { type: 316, reason: 1_024, message: 32_768 }
export type Condition = Static<ReturnType<typeof conditionWith>>

export const conditionList = (maxItems = 16, bounds = METAV1_BOUNDS) =>
  Type.Array(conditionWith(bounds), {
    maxItems,
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['type'],
    description: 'Ready summarizes the others.',
  })

export const observedGeneration = () =>
  int('int64', 'The metadata.generation that this status describes; -1 before the first reconcile.', { default: -1 })

const SourceVersion = Type.Object({
  field: text(128, 'The config field.'),
  version: text(
    MAX_SOURCE_VERSION_CHARS,
    'The version of the source that the value was read from; empty: not sent yet.',
  ),
})

export const sourceVersions = (maxItems: number, description: string) =>
  Type.Array(SourceVersion, {
    maxItems,
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['field'],
    description,
  })

const PENDING: Condition = {
  type: 'Ready',
  status: 'Unknown',
  reason: 'Pending',
  message: 'waiting for the operator',
  lastTransitionTime: '1970-01-01T00:00:00Z',
}

/** The default of `status`: what an object shows that the operator has not seen yet. */
export const PENDING_STATUS = { observedGeneration: -1, conditions: [PENDING] }

/** What both kinds have beside spec and status. */
export interface ObjectMetadata {
  readonly name: string
  readonly namespace: string
  readonly uid: string
  readonly generation: number
  readonly creationTimestamp: string
  readonly deletionTimestamp?: string
}
