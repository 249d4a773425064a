/**
 * @module cmd/admin/rollout/set-object
 * Defines what the verbs read of a FleetWorkerSet. Every field of the status is optional, because the operator that
 * wrote it may be of another release.
 */
import type { JsonObject } from '../../../protocol/index.ts'

export interface ManagedFields {
  readonly manager?: string
  readonly operation?: string
  readonly subresource?: string
  readonly fieldsV1?: JsonObject
}

interface ShownCondition {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
}

export interface GateResult {
  readonly name: string
  readonly verdict: string
  readonly updated?: string
  readonly current?: string
  readonly allowed?: string
  readonly runs?: number
  readonly message?: string
}

export interface RolloutStatus {
  readonly revision?: string
  readonly attempt?: number
  readonly stage?: number
  readonly stages?: number
  readonly limit?: number
  readonly phase?: string
  readonly since?: string
  readonly gates?: readonly GateResult[]
}

export interface FailedRevision {
  readonly revision: string
  readonly attempts?: number
  readonly time?: string
  readonly stage?: number
  readonly gate?: string
  readonly message?: string
}

export interface SetObject {
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly uid: string
    readonly resourceVersion: string
    readonly generation?: number
    readonly deletionTimestamp?: string
    readonly annotations?: Readonly<Record<string, string>>
    readonly managedFields?: readonly ManagedFields[]
  }
  readonly spec: {
    readonly type: string
    readonly config?: JsonObject
    readonly configFrom?: readonly JsonObject[]
    readonly paused?: boolean
  }
  readonly status?: {
    readonly observedGeneration?: number
    readonly conditions?: readonly ShownCondition[]
    readonly currentRevision?: string
    readonly updateRevision?: string
    readonly workers?: Readonly<Record<string, number>>
    readonly rollout?: RolloutStatus
    readonly failed?: readonly FailedRevision[]
    readonly worst?: readonly { readonly worker: string; readonly reason: string; readonly message: string }[]
  }
}

/** As kubectl names it. */
export const shownName = ({ metadata: { name, namespace } }: SetObject): string => `${namespace}/${name}`

/** Phases in which a rollout continues after a person has promoted it. */
const WAITING_PHASES: ReadonlySet<string> = new Set(['WaitingForApproval', 'Inconclusive'])

export const isWaitingPhase = (phase: string | undefined): boolean => phase !== undefined && WAITING_PHASES.has(phase)

/** Whether the operator has seen the last edit of the spec. */
export const isObserved = ({ metadata, status }: SetObject): boolean =>
  status?.observedGeneration !== undefined && status.observedGeneration === metadata.generation

/** Why the revision of the spec failed; `undefined` if it did not. A failed rollout says more than a refused config. */
export function failureOf({ status = {} }: SetObject): FailedRevision | undefined {
  const all = (status.failed ?? []).filter(({ revision }) => revision === status.updateRevision)
  return all.findLast(({ stage }) => stage !== undefined) ?? all.at(-1)
}
