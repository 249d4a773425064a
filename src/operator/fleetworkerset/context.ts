/**
 * @module operator/fleetworkerset/context
 * Defines what a reconcile of a set gets, its dependencies and its context, and what it returns: what to report, and
 * when to look again.
 */
import type { Clock, Log, Timers } from '../../runtime/index.ts'
import type { CallRefusal, MasterWriter, RevisionWriter, RuleWriter, WorkerRows } from '../fleet/index.ts'
import type { FleetWorkerObject, Sources, WorkerScope } from '../fleetworker/index.ts'
import type {
  EventRecorder,
  KubeTransport,
  Leadership,
  ObjectCache,
  ReconcileOutcome,
  StatusWriter,
} from '../kube/index.ts'
import type { RolloutFacts, SetSyncedReason } from './conditions.ts'
import type { SetMemory, SetState } from './memory.ts'
import type { WorstWorker } from './plan.ts'
import type { FleetWorkerSetObject } from './resource.ts'
import type { FleetWorkerSetStatus } from './schema.ts'
import type { ScaleReport } from './scale/scale.ts'
import type { RolloutReports } from './rollout-reports.ts'
import type { RolloutState } from './stage-machine.ts'

export interface SetDeps {
  /** Indexed by SET_INDICES. */
  readonly cache: ObjectCache<FleetWorkerSetObject> & { applyResponse(written: FleetWorkerSetObject): void }
  /** Indexed by INDICES. A FleetWorker wins over a set. */
  readonly workers: ObjectCache<FleetWorkerObject>
  readonly table: WorkerRows
  readonly revisions: RevisionWriter
  readonly rules: RuleWriter
  readonly reports: Pick<RolloutReports, 'offer'>
  readonly master: MasterWriter
  readonly sources: Pick<Sources, 'read'>
  readonly transport: KubeTransport
  readonly status: StatusWriter<FleetWorkerSetStatus>
  readonly events: EventRecorder
  readonly leadership: Pick<Leadership, 'mayWrite' | 'confirm'>
  /** One per term. */
  readonly memory: SetMemory
  /** Whether a set or FleetWorker with this claim was deleted here. */
  readonly wasDeletedHere: (claim: string) => boolean
  /** Whether this operator watches the resources of a namespace. */
  readonly watches: (namespace: string) => boolean
  readonly scope: WorkerScope
  readonly clock: Clock
  readonly timers: Pick<Timers, 'after'>
  readonly log: Log
}

export interface SetContext {
  readonly set: FleetWorkerSetObject
  readonly claim: string
  readonly deps: SetDeps
  readonly state: SetState
  readonly signal: AbortSignal
  /** The last status that was put, or the one of the API server. */
  readonly lastStatus: FleetWorkerSetStatus
}

/** Lets others run between two computations over all members, of which 10,000 take tens of milliseconds. */
export const nextTurn = ({ deps: { timers } }: Pick<SetContext, 'deps'>): Promise<void> =>
  new Promise((resolve) => {
    timers.after(0, resolve)
  })

export interface SetResult {
  readonly synced: { readonly reason: SetSyncedReason; readonly message: string }
  readonly outcome: ReconcileOutcome
  /** Omitted: not known now. */
  readonly rollout?: RolloutFacts
  readonly worst?: readonly WorstWorker[]
  /** Omitted: unchanged. */
  readonly scale?: ScaleReport
  /** Omitted: unchanged. */
  readonly revision?: string
  readonly sources?: FleetWorkerSetStatus['sources']
  /** Omitted: nothing differs. */
  readonly drift?: {
    readonly workers: readonly string[]
    readonly paths: readonly string[]
    readonly isContested: boolean
  }
  /** What the status says about rollouts. Omitted: unchanged. */
  readonly stored?: RolloutState
  /** The revision that the master refused. */
  readonly refused?: string
  /** Nothing was learnt, so nothing is reported before the master has been unreachable for a minute. */
  readonly isQuiet?: boolean
  readonly isReleasing?: boolean
}

const FORBIDDEN_MS = 5 * 60_000

export const setResult = (
  reason: SetSyncedReason,
  message: string,
  outcome: ReconcileOutcome,
  more: Omit<SetResult, 'synced' | 'outcome'> = {},
): SetResult => ({ synced: { reason, message }, outcome, ...more })

export const quietResult = (outcome: ReconcileOutcome): SetResult =>
  setResult('Updating', 'this spec is being sent to the master', outcome, { isQuiet: true })

/** Result if the master refused a call that concerns the whole set. */
export function refusedSet(refusal: CallRefusal, { set, deps }: SetContext): SetResult {
  switch (refusal.kind) {
    case 'unknown_type':
      return setResult('UnknownType', `the master has no automation of the type ${set.spec.type}`, { kind: 'terminal' })
    case 'not_registered':
      return setResult(
        'MasterTooOld',
        'the master has no revisions, because it is of an older release; upgrade the master first',
        { kind: 'retry', afterMs: FORBIDDEN_MS },
      )
    case 'rejected':
      return setResult('Rejected', rejection(refusal), { kind: 'terminal' })
    case 'too_large':
      return setResult('ConfigInvalid', refusal.message, { kind: 'terminal' })
    case 'forbidden':
      return setResult('Forbidden', refusal.message, { kind: 'retry', afterMs: FORBIDDEN_MS })
    case 'throttled':
      return quietResult({ kind: 'retry', ...(refusal.retryAfterMs > 0 && { afterMs: refusal.retryAfterMs }) })
    case 'bug':
      deps.log.error('the master rejected a call as malformed, which is a defect of the operator; please report it', {
        type: set.spec.type,
        refused: refusal.message,
      })
      return setResult('Rejected', refusal.message, { kind: 'terminal' })
    case 'stale':
    case 'unavailable':
    case 'not_leading':
      return quietResult({ kind: 'retry' })
  }
}

const MAX_FAULTS_SHOWN = 3

const rejection = ({ faults, message }: Extract<CallRefusal, { readonly kind: 'rejected' }>): string =>
  faults.length === 0
    ? message
    : faults
        .slice(0, MAX_FAULTS_SHOWN)
        .map(({ path, message: why }) => `${path.replace(/^\/config/, '') || 'the config'}: ${why}`)
        .join('; ')
