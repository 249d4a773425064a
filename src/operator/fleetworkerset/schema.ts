/**
 * @module operator/fleetworkerset/schema
 * Defines the schemas of the FleetWorkerSet resource: one config for all workers of a type that a selector matches.
 * The types here, the CustomResourceDefinition in crds/ and the field tables of the reference are generated from them.
 * Fields that a FleetWorker has too come from config/schema.ts.
 *
 * Every text and list of the status is bounded, so a status takes less than 64 KiB however many workers match. Each
 * CEL rule is repeated in bounds.ts: an object may be older than the rule it breaks.
 * @see D43, D136
 */
import { Type, type Static } from 'typebox'
import {
  MAX_LABELS_PER_WORKER,
  MAX_NAME_CHARS,
  MAX_WORKER_LABEL_CHARS,
  WORKER_LABEL_KEY_PATTERN,
  WORKER_LABEL_VALUE_PATTERN,
} from '../../protocol/index.ts'
import {
  automationType,
  conditionList,
  configObject,
  configSources,
  deletionPolicy,
  ignoreDifferences,
  int,
  managementPolicy,
  MAX_MESSAGE_CHARS,
  MAX_SOURCES,
  observedGeneration,
  PENDING_STATUS,
  rules,
  SLOTS_ONCE,
  slotsCount,
  sourceVersions,
  suspend,
  text,
  WORKER_ID_PATTERN,
  type ObjectMetadata,
} from '../config/index.ts'
import { FailedRevision, MAX_FAILED_REVISIONS, Rollout, RolloutStatus } from './rollout-schema.ts'
import { SCALE_RULES, scaleFields, scaleStatus } from './scale/schema.ts'

export const SET_KIND = 'FleetWorkerSet'

export const MAX_ID_PATTERNS = 16
export const MAX_OVERRIDES = 32
/** How many workers with a problem, and drifted workers and fields, a status names. */
export const MAX_WORST_WORKERS = 20
export const MAX_DRIFTED_WORKERS = 10
export const MAX_SET_DRIFT_PATHS = 10
/** Longest message about one worker. */
export const MAX_WORKER_MESSAGE_CHARS = 160
/** Longest id of a worker that a spec may name, as in a FleetWorker. At the master an id may be a little longer. */
export const MAX_WORKER_ID_CHARS = 253

/** A glob over worker ids: `*` matches any characters, `?` matches one. */
export const ID_PATTERN = '^[A-Za-z0-9._:@*?-]+$'
export const MAX_FORGET_SECONDS = 31_536_000
export const REVISION_HISTORY_LIMIT = { minimum: 0, maximum: 32, default: 10 } as const

const Selector = Type.Object(
  {
    idPatterns: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: MAX_WORKER_ID_CHARS, pattern: ID_PATTERN }), {
        minItems: 1,
        maxItems: MAX_ID_PATTERNS,
        'x-kubernetes-list-type': 'set',
        description: 'Patterns of worker ids, of which one must match: * stands for any characters, ? for one.',
      }),
    ),
    matchLabels: Type.Optional(
      Type.Unsafe<Readonly<Record<string, string>>>({
        type: 'object',
        maxProperties: MAX_LABELS_PER_WORKER,
        additionalProperties: {
          type: 'string',
          maxLength: MAX_WORKER_LABEL_CHARS,
          pattern: WORKER_LABEL_VALUE_PATTERN,
        },
        description: 'Labels that the worker must have sent when it registered, each with this value.',
        ...rules({
          rule: `self.all(key, key.matches('${WORKER_LABEL_KEY_PATTERN}'))`,
          message:
            'a key has 1 to 63 lower-case letters, digits, ".", "/" and "-", with a letter or digit at both ends',
        }),
      }),
    ),
  },
  {
    description: 'Which workers of the type belong to the set. A worker must match both parts, if both are given.',
    ...rules({
      rule: 'has(self.idPatterns) || (has(self.matchLabels) && size(self.matchLabels) > 0)',
      message: 'give a pattern in idPatterns or a label in matchLabels',
    }),
  },
)

const Override = Type.Object(
  {
    worker: text(MAX_WORKER_ID_CHARS, 'The id of the worker.', { minLength: 1, pattern: WORKER_ID_PATTERN }),
    slots: Type.Optional(slotsCount('Its concurrent slots. Cannot be combined with slots in its config.')),
    config: Type.Optional(configObject('Top-level fields that replace those of the set.')),
  },
  rules({
    rule: '!has(self.slots) || !has(self.config) || !has(self.config.slots)',
    message: 'set slots once, in slots or in config',
  }),
)
export type WorkerOverride = Static<typeof Override>

export const FleetWorkerSetSpec = Type.Object(
  {
    type: automationType(),
    selector: Selector,
    config: Type.Optional(
      configObject(
        'The whole config of each worker: a field that is not named here, in configFrom, in slots or in an override ' +
          "is at its default. Keys are the automation's own.",
      ),
    ),
    configFrom: Type.Optional(configSources()),
    slots: Type.Optional(
      slotsCount('Concurrent slots of each worker. Takes effect immediately, unlike slots in the config.'),
    ),
    overrides: Type.Optional(
      Type.Array(Override, {
        maxItems: MAX_OVERRIDES,
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['worker'],
        description: 'Differences of single workers. They take effect immediately.',
      }),
    ),
    managementPolicy: Type.Optional(managementPolicy()),
    deletionPolicy: Type.Optional(
      deletionPolicy(
        'What happens to the workers when this object is deleted. Retain: nothing. ' +
          'Reset: their configs are reset to the defaults. Deregister: as Reset, and their records are removed.',
      ),
    ),
    ignoreDifferences: Type.Optional(ignoreDifferences()),
    suspend: Type.Optional(suspend()),
    rollout: Type.Optional(Rollout),
    revisionHistoryLimit: Type.Optional(
      int(
        'int32',
        'How many old revisions are kept as ControllerRevisions, to which `muster rollout undo` can return. ' +
          'The current revision and the update revision are not counted.',
        { ...REVISION_HISTORY_LIMIT },
      ),
    ),
    paused: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'True: no rollout begins or continues. New workers still get the current config.',
      }),
    ),
    forgetAfterSeconds: Type.Optional(
      int('int32', 'Workers that are absent for so long are deregistered; 0 = never.', {
        minimum: 0,
        maximum: MAX_FORGET_SECONDS,
        default: 0,
      }),
    ),
    ...scaleFields,
  },
  { description: 'The workers, and their desired state.', ...rules(...SLOTS_ONCE, ...SCALE_RULES) },
)
export type FleetWorkerSetSpec = Static<typeof FleetWorkerSetSpec>

/** Narrower than metav1.Condition, which permits 32,768 characters for one message. */
const CONDITION_BOUNDS = { type: 32, reason: 64, message: MAX_MESSAGE_CHARS }
const MAX_SET_CONDITIONS = 10

const revision = (description: string) => Type.Optional(text(63, description))
const count = (description: string) => Type.Optional(int('int32', description))

const WorkerCounts = Type.Object(
  {
    matched: count('Registered workers that the selector matches.'),
    online: count('Workers that are connected, or were seen within 45 seconds.'),
    updated: count('Workers whose config at the master is of the update revision.'),
    acknowledged: count('Workers that run their config at the master.'),
    ready: count('Online workers that run their config and are healthy.'),
    unavailable: count(
      'Workers that are offline without an orderly end, in ERROR, or late with their acknowledgement.',
    ),
    absent: count('Workers that are offline after an orderly end.'),
    pending: count('Workers that still get the update revision.'),
    failed: count('Workers that rejected their config, or for which the master refused it.'),
    pinned: count('Workers that have a FleetWorker of their own.'),
    conflicted: count('Workers that another set, or another cluster, manages.'),
    cordoned: count('Workers that get no new task, because their pods are about to be removed.'),
  },
  { description: 'Number of workers in each state.' },
)

/** Number of workers in each state. */
export type WorkerCounts = Static<typeof WorkerCounts>

const WorstWorker = Type.Object({
  worker: text(MAX_NAME_CHARS, 'The id of the worker.'),
  reason: text(32, 'One word for programs.'),
  message: text(MAX_WORKER_MESSAGE_CHARS, 'One sentence for people, shortened.'),
})

const Drift = Type.Object(
  {
    count: count('Number of workers whose config at the master differs.'),
    workers: Type.Optional(
      Type.Array(text(MAX_NAME_CHARS, 'The id of a worker.'), {
        maxItems: MAX_DRIFTED_WORKERS,
        'x-kubernetes-list-type': 'atomic',
        description: 'Some of these workers.',
      }),
    ),
    paths: Type.Optional(
      Type.Array(Type.String({ maxLength: 256 }), {
        maxItems: MAX_SET_DRIFT_PATHS,
        'x-kubernetes-list-type': 'atomic',
        description: 'JSON pointers to the first fields that differ.',
      }),
    ),
  },
  { description: 'Differences of the configs at the master; never their values.' },
)

export const FleetWorkerSetStatus = Type.Object(
  {
    observedGeneration: Type.Optional(observedGeneration()),
    conditions: Type.Optional(conditionList(MAX_SET_CONDITIONS, CONDITION_BOUNDS)),
    currentRevision: revision('The revision of the config that the workers ran before the last change.'),
    updateRevision: revision('The revision of the config that the workers get.'),
    workers: Type.Optional(WorkerCounts),
    rollout: Type.Optional(RolloutStatus),
    ...scaleStatus,
    failed: Type.Optional(
      Type.Array(FailedRevision, {
        maxItems: MAX_FAILED_REVISIONS,
        'x-kubernetes-list-type': 'atomic',
        description: 'The last revisions that failed, or that the master refused.',
      }),
    ),
    worst: Type.Optional(
      Type.Array(WorstWorker, {
        maxItems: MAX_WORST_WORKERS,
        'x-kubernetes-list-type': 'atomic',
        description: 'Some of the workers that need attention.',
      }),
    ),
    drift: Type.Optional(Drift),
    sources: Type.Optional(
      sourceVersions(
        MAX_SOURCES,
        'The version of its source at which the value of a field changed last; never a value.',
      ),
    ),
  },
  { description: 'The observed state of the set.', default: PENDING_STATUS },
)
export type FleetWorkerSetStatus = Static<typeof FleetWorkerSetStatus>

/** A FleetWorkerSet as the API server returns it: `spec` has its defaults, everything else is optional. */
export interface FleetWorkerSet {
  readonly metadata: ObjectMetadata
  readonly spec: FleetWorkerSetSpec
  readonly status?: FleetWorkerSetStatus
}
