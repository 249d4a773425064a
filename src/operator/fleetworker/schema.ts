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
import {
  automationType,
  conditionList,
  configObject,
  configSources,
  DAY_SECONDS,
  deletionPolicy,
  ignoreDifferences,
  int,
  managementPolicy,
  MAX_DRIFT_PATHS,
  MAX_MESSAGE_CHARS,
  observedGeneration,
  PENDING_STATUS,
  rules,
  SLOTS_ONCE,
  slotsCount,
  sourceVersions,
  suspend,
  text,
  time,
  WORKER_ID_PATTERN,
  type ObjectMetadata,
} from '../config/index.ts'

export const KIND = 'FleetWorker'

const workerIdText = (description: string) => text(253, description, { minLength: 1, pattern: WORKER_ID_PATTERN })

/** A field and its old name mean the same, so an object has one of the two (D244). */
const NAMED_ONCE = [
  {
    rule: '!has(self.workerID) || !has(self.workerId)',
    message: 'set one of workerID and workerId; workerId is the old name of workerID',
  },
  {
    rule: '!has(self.desiredState) || !has(self.drain)',
    message: 'set one of desiredState and drain; desiredState: Drained replaces drain: true',
  },
]

export const FleetWorkerSpec = Type.Object(
  {
    type: automationType(),
    workerID: Type.Optional(
      workerIdText('The ID the worker registers with; the name of this object when left out. It cannot be changed.'),
    ),
    workerId: Type.Optional(workerIdText('Deprecated: use workerID, which means the same.')),
    config: Type.Optional(
      configObject(
        'The whole config of the worker: a field that is not named here, ' +
          "in configFrom or in slots is at its default. Keys are the automation's own.",
      ),
    ),
    configFrom: Type.Optional(configSources()),
    slots: Type.Optional(
      slotsCount('Concurrent slots, as changed by kubectl scale. Cannot be combined with slots in the config.'),
    ),
    managementPolicy: Type.Optional(managementPolicy()),
    deletionPolicy: Type.Optional(
      deletionPolicy(
        'What happens to the worker when this object is deleted. Retain: nothing. ' +
          'Reset: its config is reset to the defaults. Deregister: as Reset, and its record is removed.',
      ),
    ),
    ignoreDifferences: Type.Optional(ignoreDifferences()),
    desiredState: Type.Optional(
      Type.Unsafe<'Running' | 'Drained'>({
        type: 'string',
        enum: ['Running', 'Drained'],
        description:
          'Running, also when left out, or Drained: the worker finishes its work and exits, every time it registers.',
      }),
    ),
    drain: Type.Optional(
      Type.Boolean({ description: 'Deprecated: use desiredState; true means Drained, false means Running.' }),
    ),
    suspend: Type.Optional(suspend()),
    registrationTimeoutSeconds: Type.Optional(
      int('int32', 'How long to wait for an unregistered worker before the object is `Stalled`; 0 = no limit.', {
        minimum: 0,
        maximum: DAY_SECONDS,
        default: 600,
      }),
    ),
  },
  { description: 'The desired state of the worker.', ...rules(...SLOTS_ONCE, ...NAMED_ONCE) },
)
export type FleetWorkerSpec = Static<typeof FleetWorkerSpec>

export const FleetWorkerStatus = Type.Object(
  {
    observedGeneration: Type.Optional(observedGeneration()),
    conditions: Type.Optional(conditionList()),
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
            sourceVersions(128, 'The version of its source from which a field was sent last; never a value.'),
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
  { description: 'The observed state of the worker.', default: PENDING_STATUS },
)
export type FleetWorkerStatus = Static<typeof FleetWorkerStatus>

const effectiveId = (self: string): string =>
  `(has(${self}.spec.workerID) ? ${self}.spec.workerID : ` +
  `has(${self}.spec.workerId) ? ${self}.spec.workerId : ${self}.metadata.name)`

/** The rule of the whole object: the ID, under either name or from the name of the object, never changes. */
export const ROOT_RULES = rules({
  rule: `${effectiveId('self')} == ${effectiveId('oldSelf')}`,
  message: 'workerID is immutable',
})

/** A FleetWorker as the API server returns it: `spec` has its defaults, everything else is optional. */
export interface FleetWorker {
  readonly metadata: ObjectMetadata
  readonly spec: FleetWorkerSpec
  readonly status?: FleetWorkerStatus
}

/** The ID under its new name, its old name, or from the name of the object (D244). */
export const workerIdOf = ({ metadata, spec }: FleetWorker): string => spec.workerID ?? spec.workerId ?? metadata.name

/** Whether the worker is to be drained, by the new or the old name of the field (D245). */
export const wantsDrain = ({ desiredState, drain }: FleetWorkerSpec): boolean =>
  desiredState === undefined ? drain === true : desiredState === 'Drained'
