/**
 * @module operator/fleetworker/schema
 * Defines the schemas of the FleetWorker resource. The types here, the CustomResourceDefinition in crds/ and the field
 * table of the reference are generated from them. Keys are in Kubernetes' camelCase (D41). `kubectl explain` shows the
 * descriptions.
 *
 * The schemas are structural: no references, no unions, every list with a limit; hack/crds.mjs rejects anything else. A
 * rule between fields is a CEL rule beside its schema, and is repeated in bounds.ts: an object may be older than the
 * rule it breaks.
 * @see D43
 */
import { Type, type Static } from 'typebox'
import { BASE_CONFIG_FIELDS, MAX_SLOTS, POINTER_PATTERN, TYPE_PATTERN, type JsonObject } from '../../protocol/index.ts'

export const GROUP = 'muster.dev'
export const VERSION = 'v1alpha1'
export const KIND = 'FleetWorker'

const MAX_SOURCES = 64
export const MAX_MESSAGE_CHARS = 1_024
export const MAX_DRIFT_PATHS = 20
const DAY_SECONDS = 86_400

export const WORKER_ID_PATTERN = '^[A-Za-z0-9]([A-Za-z0-9._:@-]*[A-Za-z0-9])?$'
export const FIELD_PATTERN = '^[A-Za-z_][A-Za-z0-9_.-]*$'

type Rule = { readonly rule: string; readonly message: string }
const rules = (...all: readonly Rule[]) => ({ 'x-kubernetes-validations': all })
const text = (maxLength: number, description: string, more: object = {}) =>
  Type.String({ maxLength, description, ...more })
const word = <T extends string>(words: readonly T[], description: string, fallback: T) =>
  Type.Unsafe<T>({ type: 'string', enum: words, default: fallback, description })
const int = (format: 'int32' | 'int64', description: string, more: object = {}) =>
  Type.Integer({ format, description, ...more })
const time = (description: string) => Type.String({ format: 'date-time', description })

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

const ConfigSource = Type.Object(
  {
    field: text(128, 'The top-level name of the config that is set.', { minLength: 1, pattern: FIELD_PATTERN }),
    secretKeyRef: Type.Optional(Reference('A key of a Secret; only for fields that are secret as a whole.')),
    configMapKeyRef: Type.Optional(Reference('A key of a ConfigMap.')),
    as: Type.Optional(word(['String', 'JSON'], 'String takes the text unchanged, JSON parses it.', 'String')),
  },
  rules(
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

export const FleetWorkerSpec = Type.Object(
  {
    type: text(63, 'The automation type. It cannot be changed.', {
      pattern: TYPE_PATTERN,
      ...rules({ rule: 'self == oldSelf', message: 'type is immutable' }),
    }),
    workerId: Type.Optional(
      text(253, 'The id the worker registers with; the name of this object when left out. It cannot be changed.', {
        minLength: 1,
        pattern: WORKER_ID_PATTERN,
      }),
    ),
    config: Type.Optional(
      Type.Unsafe<JsonObject>({
        type: 'object',
        maxProperties: 256,
        'x-kubernetes-preserve-unknown-fields': true,
        properties: baseConfigFields,
        description:
          'The whole config of the worker: a field that is not named here, ' +
          "in configFrom or in slots is at its default. Keys are the automation's own.",
      }),
    ),
    configFrom: Type.Optional(
      Type.Array(ConfigSource, {
        maxItems: MAX_SOURCES,
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['field'],
        description: 'Config fields whose value comes from a Secret or ConfigMap of the same namespace.',
      }),
    ),
    slots: Type.Optional(
      int('int32', 'Concurrent slots, as changed by kubectl scale. Cannot be combined with slots in the config.', {
        minimum: 0,
        maximum: MAX_SLOTS,
      }),
    ),
    managementPolicy: Type.Optional(
      word(
        ['Enforce', 'Warn', 'Observe'],
        'Enforce reverts changes of other clients, Warn reports them, Observe never writes.',
        'Enforce',
      ),
    ),
    deletionPolicy: Type.Optional(
      word(
        ['Retain', 'Reset', 'Deregister'],
        'What happens to the worker when this object is deleted. Retain: nothing. ' +
          'Reset: its config is reset to the defaults. Deregister: as Reset, and its record is removed.',
        'Retain',
      ),
    ),
    ignoreDifferences: Type.Optional(
      Type.Array(Type.String({ maxLength: 256, pattern: POINTER_PATTERN }), {
        maxItems: 64,
        'x-kubernetes-list-type': 'set',
        description:
          'JSON pointers to config fields that other clients own; a value here is used only when the master has none.',
      }),
    ),
    drain: Type.Optional(
      Type.Boolean({ description: 'Drain the worker: it finishes its work and exits, every time it registers.' }),
    ),
    suspend: Type.Optional(
      Type.Boolean({ description: 'Pause: nothing is written to the master; the status is still updated.' }),
    ),
    registrationTimeoutSeconds: Type.Optional(
      int('int32', 'How long to wait for an unregistered worker before the object is `Stalled`; 0 = no limit.', {
        minimum: 0,
        maximum: DAY_SECONDS,
        default: 600,
      }),
    ),
  },
  {
    description: 'The desired state of the worker.',
    ...rules(
      {
        rule: '!has(self.slots) || !has(self.config) || !has(self.config.slots)',
        message: 'set slots once, in spec.slots or in spec.config',
      },
      {
        rule: "!has(self.slots) || !has(self.configFrom) || self.configFrom.all(e, e.field != 'slots')",
        message: 'set slots once, in spec.slots or in spec.configFrom',
      },
    ),
  },
)
export type FleetWorkerSpec = Static<typeof FleetWorkerSpec>

export const CONDITION_STATUSES = ['True', 'False', 'Unknown'] as const
export type ConditionStatus = (typeof CONDITION_STATUSES)[number]

const Condition = Type.Object(
  {
    type: text(316, 'The type of the condition.', { pattern: '^[A-Za-z][A-Za-z0-9]*$' }),
    status: Type.Unsafe<ConditionStatus>({
      type: 'string',
      enum: [...CONDITION_STATUSES],
      description: 'True, False or Unknown.',
    }),
    observedGeneration: Type.Optional(
      int('int64', 'The metadata.generation that the condition describes.', { minimum: 0 }),
    ),
    lastTransitionTime: time('When the status changed last.'),
    reason: text(1_024, 'One word for programs.', {
      minLength: 1,
      pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
    }),
    message: text(32_768, 'One sentence for people.'),
  },
  { description: 'One aspect of the state, as metav1.Condition.' },
)
export type Condition = Static<typeof Condition>

const SourceVersion = Type.Object({
  field: text(128, 'The config field.'),
  version: text(160, 'The version of the source that the value was read from; empty: not sent yet.'),
})

const PENDING: Condition = {
  type: 'Ready',
  status: 'Unknown',
  reason: 'Pending',
  message: 'waiting for the operator',
  lastTransitionTime: '1970-01-01T00:00:00Z',
}

export const FleetWorkerStatus = Type.Object(
  {
    observedGeneration: Type.Optional(
      int('int64', 'The metadata.generation that this status describes; -1 before the first reconcile.', {
        default: -1,
      }),
    ),
    conditions: Type.Optional(
      Type.Array(Condition, {
        maxItems: 16,
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['type'],
        description: 'Ready summarizes the others.',
      }),
    ),
    state: Type.Optional(text(64, "The worker's state, as the master reports it.")),
    lastSeenTime: Type.Optional(time('When the worker was last seen by the master.')),
    lastError: Type.Optional(text(MAX_MESSAGE_CHARS, 'The last error that the worker reported, shortened.')),
    config: Type.Optional(
      Type.Object(
        {
          generation: Type.Optional(int('int64', 'The last config generation at the master that was compared.')),
          appliedGeneration: Type.Optional(int('int64', 'The config generation the worker runs.')),
          epoch: Type.Optional(text(64, "The epoch of the master's store that the generations belong to.")),
          rejected: Type.Optional(
            text(64, 'A digest of the last config that the master rejected. No replica sends it again unchanged.'),
          ),
          sources: Type.Optional(
            Type.Array(SourceVersion, {
              maxItems: 128,
              'x-kubernetes-list-type': 'map',
              'x-kubernetes-list-map-keys': ['field'],
              description: 'The version of its source from which a field was sent last; never a value.',
            }),
          ),
        },
        { description: 'The config at the master, and the bookkeeping of the operator.' },
      ),
    ),
    slots: Type.Optional(int('int32', 'Number of slots that the worker runs.')),
    selector: Type.Optional(text(128, 'Labels of its pods, for the scale subresource.')),
    cpuPercent: Type.Optional(int('int32', 'Processor time of the worker, in percent of one core.')),
    rssMegabytes: Type.Optional(int('int32', 'Resident memory of the worker.')),
    drift: Type.Optional(
      Type.Object(
        {
          paths: Type.Optional(
            Type.Array(Type.String({ maxLength: 256 }), {
              maxItems: MAX_DRIFT_PATHS,
              'x-kubernetes-list-type': 'atomic',
              description: 'JSON pointers to the first fields that differ.',
            }),
          ),
          count: Type.Optional(int('int32', 'How many fields differ.')),
          detectedTime: Type.Optional(time('When the drift was detected.')),
          by: Type.Optional(text(160, 'Who changed the config last.')),
        },
        { description: 'The fields in which the config at the master differs; never their values.' },
      ),
    ),
  },
  { description: 'The observed state of the worker.', default: { observedGeneration: -1, conditions: [PENDING] } },
)
export type FleetWorkerStatus = Static<typeof FleetWorkerStatus>

/** The rule of the whole object: the id, explicit or from the name, never changes. */
export const ROOT_RULES = rules({
  rule:
    '(has(self.spec.workerId) ? self.spec.workerId : self.metadata.name) == ' +
    '(has(oldSelf.spec.workerId) ? oldSelf.spec.workerId : oldSelf.metadata.name)',
  message: 'workerId is immutable',
})

/** A FleetWorker as the API server returns it: `spec` has its defaults, everything else is optional. */
export interface FleetWorker {
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly uid: string
    readonly generation: number
    readonly creationTimestamp: string
    readonly deletionTimestamp?: string
  }
  readonly spec: FleetWorkerSpec
  readonly status?: FleetWorkerStatus
}

export const workerIdOf = ({ metadata, spec }: FleetWorker): string => spec.workerId ?? metadata.name
