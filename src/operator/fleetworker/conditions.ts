/**
 * @module operator/fleetworker/conditions
 * Computes the conditions of one FleetWorker: one pure function from facts to the list in the status.
 *
 *   Synced   the master has the config of spec           ─┐
 *   Online   the worker's process is connected             ├─▶ Ready: the first of them that counts and fails
 *   Applied  the worker runs this config                   │
 *   Healthy  the worker is not in ERROR                   ─┘
 *   Reconciling, Stalled, Drifted: present only while true; the first two never together
 *
 * Some do not count for Ready: Synced and Applied if nothing has to be applied (`suspend`, `Observe`); all but Synced
 * once a drain is complete, because no process is left. While the master is unreachable the last facts stay, and what
 * only the master knows is Unknown. Reasons are API: they are defined here, and the reference lists them.
 * @see D43; kstatus, https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md
 */
import type { WorkerState } from '../../protocol/index.ts'
import {
  type Condition,
  type ConditionState,
  type ConditionStatus,
  kubeTime,
  mergedConditions,
} from '../config/index.ts'

/** Three intervals of `state` frames, so a reconnect does not show. */
export const ONLINE_MS = 45_000
/** How long a connected worker may take to acknowledge a config. */
export const ACK_MS = 120_000

const SYNCED = {
  InSync: 'True',
  DriftTolerated: 'True',
  Updating: 'False',
  WorkerNotRegistered: 'False',
  RegistrationTimeout: 'False',
  UnknownType: 'False',
  ConfigInvalid: 'False',
  Rejected: 'False',
  SourceNotFound: 'False',
  SourceForbidden: 'False',
  SecretNotWriteOnly: 'False',
  Forbidden: 'False',
  NotPermitted: 'False',
  OwnershipConflict: 'False',
  ContestedField: 'False',
  Pending: 'Unknown',
  Suspended: 'Unknown',
  ObserveOnly: 'Unknown',
  MasterUnreachable: 'Unknown',
} as const satisfies Record<string, ConditionStatus>
const ONLINE = {
  Connected: 'True',
  RecentlySeen: 'True',
  Offline: 'False',
  Drained: 'False',
  WorkerNotRegistered: 'False',
  MasterUnreachable: 'Unknown',
  Pending: 'Unknown',
} as const satisfies Record<string, ConditionStatus>
const APPLIED = {
  Acknowledged: 'True',
  WaitingForWorker: 'False',
  AckTimeout: 'False',
  GenerationBehind: 'False',
  NotReported: 'Unknown',
  Pending: 'Unknown',
} as const satisfies Record<string, ConditionStatus>
const HEALTHY = {
  WorkerHealthy: 'True',
  Draining: 'True',
  WorkerError: 'False',
  Offline: 'Unknown',
  MasterUnreachable: 'Unknown',
  Pending: 'Unknown',
} as const satisfies Record<string, ConditionStatus>

export type SyncedReason = keyof typeof SYNCED

/** Every type with its reasons and their status. Ready adds its own to those of the four. */
export const REASONS = { Synced: SYNCED, Online: ONLINE, Applied: APPLIED, Healthy: HEALTHY } as const

/** Reasons of Synced that end without a user, or when another object changes. */
const RECONCILING: ReadonlySet<string> = new Set<SyncedReason>([
  'Updating',
  'WorkerNotRegistered',
  'SourceNotFound',
  'SourceForbidden',
  'Forbidden',
])
/** Reasons of Synced that need a user. */
const STALLED: ReadonlySet<string> = new Set<SyncedReason>([
  'Rejected',
  'ConfigInvalid',
  'UnknownType',
  'RegistrationTimeout',
  'SecretNotWriteOnly',
  'NotPermitted',
  'OwnershipConflict',
])

/** The worker's record at the master. */
export interface WorkerFacts {
  readonly isConnected: boolean
  readonly lastSeenMs: number
  readonly state: WorkerState | (string & {})
  readonly lastError: string | null
  readonly isDraining: boolean
  readonly configGen: number
  readonly appliedConfigGen: number | null
  /** The later of the last PATCH and the last registration. The acknowledgement timeout starts here. */
  readonly owesSinceMs: number
}

export interface Facts {
  readonly generation: number
  readonly policy: 'Enforce' | 'Warn' | 'Observe'
  readonly suspend: boolean
  readonly drain: boolean
  /** The resource is being deleted and its finalizer has not finished. */
  readonly isReleasing: boolean
  /** The result of the last comparison: reason and message. */
  readonly synced: { readonly reason: SyncedReason; readonly message: string }
  /** `null`: the master does not know the worker. `undefined`: not read yet. */
  readonly worker: WorkerFacts | null | undefined
  /** The master has been unreachable for more than a minute. Before that no status is written. */
  readonly isMasterUnavailable: boolean
  /** Number of pointers that differ and are left so. */
  readonly driftCount: number
  /** The time by the master's clock. */
  readonly nowMs: number
  /** Conditions of the current status. */
  readonly before: readonly Condition[]
}

type ConditionStates = Readonly<Record<keyof typeof REASONS, ConditionState>>

/** Computes the whole list: the five conditions that are always present, and those that are true. */
export function conditionsOf(facts: Facts): readonly Condition[] {
  const computed: ConditionStates = {
    Synced: syncedOf(facts),
    Online: onlineOf(facts),
    Applied: appliedOf(facts),
    Healthy: healthyOf(facts),
  }
  const stalled = stalledOf(facts, computed)
  return mergedConditions(
    [
      ['Ready', readyOf(facts, computed)],
      ...Object.entries(computed),
      ['Reconciling', stalled === undefined ? reconcilingOf(facts, computed) : undefined],
      ['Stalled', stalled],
      ['Drifted', driftedOf(facts)],
    ],
    facts,
  )
}

const isHandsOff = ({ suspend, policy }: Facts): boolean => suspend || policy === 'Observe'

function syncedOf(facts: Facts): ConditionState {
  const { synced, isMasterUnavailable } = facts
  const state = ({ reason, message }: Facts['synced']): ConditionState => ({ status: SYNCED[reason], reason, message })
  if (facts.suspend)
    return state({ reason: 'Suspended', message: 'spec.suspend is true: nothing is written to the master' })
  if (facts.policy === 'Observe')
    return state({ reason: 'ObserveOnly', message: 'managementPolicy is Observe: nothing is written to the master' })
  if (!isMasterUnavailable) return state(synced)
  const old = facts.before.find(({ type }) => type === 'Synced')
  return old?.observedGeneration === facts.generation
    ? old
    : state({
        reason: 'MasterUnreachable',
        message: 'the master is unavailable; this spec is applied when it is back',
      })
}

function onlineOf({ worker, isMasterUnavailable, nowMs, drain }: Facts): ConditionState {
  const state = (reason: keyof typeof ONLINE, message: string): ConditionState => ({
    status: ONLINE[reason],
    reason,
    message,
  })
  if (isMasterUnavailable) return state('MasterUnreachable', 'the master is unavailable')
  if (worker === undefined) return state('Pending', 'not read from the master yet')
  if (worker === null) return state('WorkerNotRegistered', 'no worker with this id has registered')
  if (worker.isConnected) return state('Connected', 'the worker is connected')
  if (nowMs - worker.lastSeenMs < ONLINE_MS)
    return state('RecentlySeen', 'the worker was seen within the last 45 seconds')
  if (drain) return state('Drained', 'the worker drained and exited')
  return state('Offline', `the worker was last seen at ${kubeTime(worker.lastSeenMs)}`)
}

function appliedOf({ worker, nowMs, isMasterUnavailable, before }: Facts): ConditionState {
  const state = (reason: keyof typeof APPLIED, message: string): ConditionState => ({
    status: APPLIED[reason],
    reason,
    message,
  })
  if (worker === undefined)
    return (
      (isMasterUnavailable ? before.find(({ type }) => type === 'Applied') : undefined) ??
      state('Pending', 'not read from the master yet')
    )
  if (worker === null || worker.appliedConfigGen === null)
    return state('NotReported', 'the worker has not reported yet which config it runs')
  const { configGen, appliedConfigGen } = worker
  if (appliedConfigGen === configGen) return state('Acknowledged', `the worker runs generation ${configGen}`)
  if (appliedConfigGen > configGen)
    return state(
      'GenerationBehind',
      `the master has generation ${configGen}, the worker runs generation ${appliedConfigGen} of an earlier store; ` +
        'the worker applies the config of the master at its next poll',
    )
  return worker.isConnected && nowMs - worker.owesSinceMs >= ACK_MS
    ? state(
        'AckTimeout',
        `the worker has not applied generation ${configGen} ` +
          `within ${ACK_MS / 1_000} s and still runs generation ${appliedConfigGen}; see its log`,
      )
    : state(
        'WaitingForWorker',
        `waiting for the worker to apply generation ${configGen}; it still runs generation ${appliedConfigGen}`,
      )
}

function healthyOf(facts: Facts): ConditionState {
  const { worker, isMasterUnavailable } = facts
  const state = (reason: keyof typeof HEALTHY, message: string): ConditionState => ({
    status: HEALTHY[reason],
    reason,
    message,
  })
  if (isMasterUnavailable) return state('MasterUnreachable', 'the master is unavailable')
  if (worker === undefined || worker === null) return state('Pending', 'the worker was not read from the master yet')
  if (onlineOf(facts).status === 'False') return state('Offline', 'the worker is not connected')
  if (worker.state === 'ERROR') return state('WorkerError', worker.lastError ?? 'the worker reports an error')
  return worker.state === 'DRAINING'
    ? state('Draining', 'the worker is finishing its work')
    : state('WorkerHealthy', `the worker is ${worker.state}`)
}

/** With `drain` set, the process of a registered worker is still running. */
const isDraining = ({ drain, worker }: Facts, { Online }: ConditionStates): boolean =>
  drain && worker !== null && worker !== undefined && Online.status === 'True'
const isDrained = ({ Online }: ConditionStates): boolean => Online.reason === 'Drained'

function readyOf(facts: Facts, computed: ConditionStates): ConditionState {
  const counted = (type: keyof ConditionStates): boolean => {
    if (type === 'Synced') return !isHandsOff(facts)
    return !isDrained(computed) && (type !== 'Applied' || !isHandsOff(facts))
  }
  const counting = (['Synced', 'Online', 'Applied', 'Healthy'] as const).filter(counted).map((type) => computed[type])
  const failed = counting.find(({ status }) => status === 'False')
  if (failed !== undefined) return failed
  if (isDraining(facts, computed))
    return { status: 'False', reason: 'Draining', message: 'the worker is finishing its work' }
  return counting.find(({ status }) => status === 'Unknown') ?? { status: 'True', ...readyReason(facts, computed) }
}

function readyReason(facts: Facts, computed: ConditionStates): Pick<ConditionState, 'reason' | 'message'> {
  if (facts.suspend)
    return {
      reason: 'Suspended',
      message: 'spec.suspend is true: nothing is written to the master; the worker is healthy',
    }
  if (isDrained(computed)) return { reason: 'Drained', message: 'the worker drained and exited' }
  if (facts.policy === 'Observe')
    return {
      reason: 'ObserveOnly',
      message: 'managementPolicy is Observe: nothing is written to the master; the worker is healthy',
    }
  return { reason: 'Ready', message: 'the worker runs this config and is healthy' }
}

function stalledOf(facts: Facts, { Synced }: ConditionStates): ConditionState | undefined {
  return !facts.isReleasing && STALLED.has(Synced.reason) ? { ...Synced, status: 'True' } : undefined
}

function reconcilingOf(facts: Facts, computed: ConditionStates): ConditionState | undefined {
  const { Synced, Online, Applied } = computed
  if (facts.isReleasing)
    return { status: 'True', reason: 'Releasing', message: 'releasing the worker before this object is deleted' }
  if (RECONCILING.has(Synced.reason) || Synced.reason === 'MasterUnreachable') return { ...Synced, status: 'True' }
  if (isDraining(facts, computed))
    return { status: 'True', reason: 'Draining', message: 'the worker is finishing its work' }
  const waits = Applied.reason === 'WaitingForWorker' && Online.status === 'True' && !isHandsOff(facts)
  return waits ? { ...Applied, status: 'True' } : undefined
}

function driftedOf({ synced, suspend, policy, driftCount }: Facts): ConditionState | undefined {
  if (synced.reason === 'ContestedField' && !suspend && policy !== 'Observe')
    return { status: 'True', reason: 'ContestedField', message: synced.message }
  if (driftCount === 0) return undefined
  return {
    status: 'True',
    reason: 'DriftDetected',
    message:
      `the config at the master differs in ${driftCount} ${driftCount === 1 ? 'field' : 'fields'}; ` +
      'see status.drift',
  }
}
