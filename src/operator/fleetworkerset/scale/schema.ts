/**
 * @module operator/fleetworkerset/scale/schema
 * Defines the fields of a FleetWorkerSet that concern the number of its pods.
 * @see D147
 */
import { Type, type Static } from 'typebox'
import { DAY_SECONDS, int, text } from '../../config/index.ts'

/** As many workers as a type may have. */
export const MAX_REPLICAS = 50_000
export const MAX_SCALE_IN_SECONDS = 7 * DAY_SECONDS
export const WORKLOAD_KINDS = ['StatefulSet', 'Deployment'] as const
export const WORKLOAD_NAME_PATTERN = '^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$'
export const MAX_WORKLOAD_NAME_CHARS = 253
/** A longer selector of a workload is not reported. */
export const MAX_SELECTOR_CHARS = 1_024

const Workload = Type.Object(
  {
    kind: Type.Unsafe<(typeof WORKLOAD_KINDS)[number]>({
      type: 'string',
      enum: [...WORKLOAD_KINDS],
      description: 'StatefulSet or Deployment.',
    }),
    name: text(MAX_WORKLOAD_NAME_CHARS, 'Its name, in the namespace of this object.', {
      minLength: 1,
      pattern: WORKLOAD_NAME_PATTERN,
    }),
    scaleInTimeoutSeconds: Type.Optional(
      int('int32', 'How long scale-in waits for a worker that holds tasks; 0 = without limit.', {
        minimum: 0,
        maximum: MAX_SCALE_IN_SECONDS,
        default: 0,
      }),
    ),
  },
  { description: 'The workload whose pods the workers are. The id of each worker must be the name of its pod.' },
)
export type Workload = Static<typeof Workload>

/** Fields of the spec. */
export const scaleFields = {
  replicas: Type.Optional(
    int(
      'int32',
      'Number of pods of the workload, as changed by kubectl scale and autoscalers. ' +
        'If it is missing, the operator sets it to the number that the workload has.',
      { minimum: 0, maximum: MAX_REPLICAS },
    ),
  ),
  workload: Type.Optional(Workload),
}

/** Rules of the spec. */
export const SCALE_RULES = [
  {
    rule: '!has(self.replicas) || has(self.workload)',
    message: 'replicas needs workload, the StatefulSet or Deployment that is scaled',
  },
] as const

/** Fields of the status. */
export const scaleStatus = {
  replicas: Type.Optional(int('int32', 'Pods of the workload, without those that scale-in is about to remove.')),
  selector: Type.Optional(text(MAX_SELECTOR_CHARS, 'Selects the pods of the workload, for autoscalers.')),
}
