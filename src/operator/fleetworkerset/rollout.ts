/**
 * @module operator/fleetworkerset/rollout
 * Looks at the members of a set as its rollout stands, and takes the next step of the rollout. A step is stored in the
 * status first; only then are workers written for it. So the next leader reads how far the rollout may be.
 *
 *   status at the API server ──▶ goals of the members ──▶ plan ──▶ next step? ──▶ status written? ──▶ look again
 */
import { isDeepStrictEqual } from 'node:util'
import { kubeTime } from '../config/index.ts'
import { keyOf, refOf } from '../kube/index.ts'
import { isHandsOff } from '../fleetworker/index.ts'
import { actsOf } from './acts.ts'
import { refusalFor, storeRevision } from './bulk.ts'
import type { SetConfig } from './config.ts'
import { nextTurn, quietResult, type SetContext, type SetResult } from './context.ts'
import { judge, readTallies, type Judged } from './counters.ts'
import { assignGoals, goalsOf, isIdle, type Assigned, type Goals } from './goals.ts'
import { owedForMs, phaseMsOf, progressMsOf, rankIn, returnMsOf, throttleOf } from './memory.ts'
import { epochOf, type Member, type Members } from './members.ts'
import { planOf, type Plan } from './plan.ts'
import { begunBy } from './report.ts'
import type { Scale } from './scale/scale.ts'
import {
  ACK_TIMEOUT_SECONDS,
  DEFAULT_MAX_UNAVAILABLE,
  isFailedPhase,
  PROGRESS_DEADLINE_SECONDS,
  type RolloutStatus,
} from './rollout-schema.ts'
import { setEventTarget } from './resource.ts'
import {
  bakeMs,
  isLive,
  nextStep,
  type Cohort,
  type RolloutState,
  type StageFacts,
  type Step,
} from './stage-machine.ts'
import type { FleetWorkerSetStatus } from './schema.ts'

const SECONDS = 1_000
/** How often the counters of a stage that bakes are read. */
const BAKE_LOOK_MS = 5_000

/** The set and its members at one moment. */
export interface Look {
  readonly found: Members
  readonly scale: Scale
  readonly state: RolloutState
  /** How much longer the rollout waits for workers after the master has lost its store, in milliseconds. */
  readonly returnMs: number
  readonly goals: Goals
  readonly assigned: Assigned
  readonly plan: Plan
  readonly judged: Judged | undefined
}

export async function lookAt(context: SetContext, config: SetConfig, found: Members, scale: Scale): Promise<Look> {
  const { deps, set } = context
  const isPassive = isHandsOff(set.spec)
  const state = isPassive ? NO_ROLLOUT : stateOf(statusAtServer(context))
  const returnMs = returnMsIn(context, found, state)
  const goals = goalsOf(state, {
    desired: config.revision,
    isPaused: !isPassive && (set.spec.paused === true || returnMs > 0),
    isStaged: !isPassive && stagesOf(context).length > 0,
  })
  const revision = goals.update ?? config.revision
  const assigned = assignGoals(
    found.members,
    goals,
    {
      rank: (id) => rankIn(context.state, set.metadata.uid, revision, id),
      spreadLabel: set.spec.rollout?.spreadLabel,
    },
    (member) => refusalFor(context.state, member, revision) !== undefined,
    context.state.members,
  )
  context.state.members = assigned.members
  await nextTurn(context)
  const plan = planFor(context, assigned, {
    revision,
    isPending: goals.update !== undefined || goals.rest === revision,
  })
  const look = { found, scale, state, returnMs, goals, assigned, plan, judged: undefined }
  const { rollout } = state
  if (rollout === undefined) context.state.ranks = undefined
  if (returnMs > 0 || !isLive(rollout, config.revision) || deps.table.unavailableMs > 0) return look
  rememberFailing(context, rollout, plan)
  return { ...look, judged: await judgeNow(context, config, look, rollout) }
}

/** A rollout that has failed does not begin again. */
function returnMsIn(context: SetContext, { members }: Members, { rollout }: RolloutState): number {
  const epoch = epochOf(members)
  if (rollout === undefined || isFailedPhase(rollout.phase) || epoch === '') return 0
  if (epoch !== rollout.epoch) return returnMsOf(context, epoch, members.length)
  context.state.memberCount = members.length
  return 0
}

const NO_ROLLOUT: RolloutState = { current: undefined, rollout: undefined, failed: [] }

/** What is stored, not what was put: a step counts once the API server has it. */
const statusAtServer = ({ deps, set }: SetContext): FleetWorkerSetStatus =>
  deps.cache.get(keyOf(set.metadata))?.status ?? set.status ?? {}

const stateOf = ({ currentRevision, failed = [], rollout }: FleetWorkerSetStatus): RolloutState => ({
  current: currentRevision,
  rollout,
  failed,
})

/**
 * The API server fills in the default. Without the field its kind is of an older release, and so is the status, which
 * cannot store a stage.
 */
const stagesOf = ({ set }: SetContext): StageFacts['stages'] => set.spec.rollout?.stages ?? []

function planFor(
  { deps, set, state }: SetContext,
  { members }: Assigned,
  update: { readonly revision: string; readonly isPending: boolean },
): Plan {
  const { managementPolicy, rollout = {} } = set.spec
  const nowMs = deps.clock.monotonicMs()
  const mayRevert = ({ id }: Member): boolean =>
    managementPolicy !== 'Warn' && (throttleOf(state, id).throttledAt(nowMs)?.nextMs ?? 0) <= nowMs
  return planOf({
    members,
    update,
    nowMs: deps.table.masterNowMs(),
    ackTimeoutMs: (rollout.ackTimeoutSeconds ?? ACK_TIMEOUT_SECONDS.default) * SECONDS,
    maxUnavailable: rollout.maxUnavailable ?? DEFAULT_MAX_UNAVAILABLE,
    mayWrite: (member) => member.standing !== 'changed' || mayRevert(member),
    refusalOf: (member, revision) => refusalFor(state, member, revision),
    owesForMs: (row) => owedForMs(state, row, nowMs),
  })
}

/** A worker that has failed in a stage counts until its end, also if it runs again meanwhile. */
function rememberFailing({ state }: SetContext, { attempt, revision, stage }: RolloutStatus, { failing }: Plan): void {
  const key = `${revision}/${attempt}/${stage}`
  if (state.failing?.key !== key) state.failing = { key, ids: new Set() }
  for (const id of failing) state.failing.ids.add(id)
}

/** While a stage is written only workers that fail matter, and no counters. */
async function judgeNow(
  context: SetContext,
  config: SetConfig,
  look: Look,
  rollout: RolloutStatus,
): Promise<Judged | undefined> {
  const { phase } = rollout
  const tallies = phase === 'Writing' ? NO_TALLIES : await readTallies(context)
  if (tallies === undefined) return undefined
  const { online } = look.plan.counts
  const judged = judge(context, config.catalog, rollout, tallies, {
    current: look.state.current,
    compared: {
      updated: look.plan.counts.updated,
      failing: context.state.failing?.ids.size ?? 0,
      others: online - look.plan.updatedOnline,
    },
    isEnd: phaseMsOf(context, rollout) >= bakeMs({ stages: stagesOf(context) }, rollout),
  })
  const isBaked = phase === 'Baking' || phase === 'Inconclusive'
  return isBaked ? judged : { ...judged, gates: judged.gates.filter(({ name }) => name === 'errors') }
}
const NO_TALLIES = new Map<string, never>()

/** @returns the next step of the rollout; `undefined` if it waits. */
export function stepAfter(context: SetContext, config: SetConfig, look: Look): Step | undefined {
  const { deps, set } = context
  const { rollout = {} } = set.spec
  const { judged, state } = look
  if (state.current === config.revision && state.rollout === undefined) return undefined
  if (look.returnMs > 0) return undefined
  return nextStep({
    desired: config.revision,
    state,
    stages: stagesOf(context),
    onFailure: rollout.onFailure ?? 'Rollback',
    onInconclusive: rollout.onInconclusive ?? 'Pause',
    isPaused: set.spec.paused === true,
    acts: actsOf(set),
    cohort: cohortOf(config, look),
    phaseMs: state.rollout === undefined ? 0 : phaseMsOf(context, state.rollout),
    idleMs: progressMsOf(context.state, progressOf(config, look), deps.clock.monotonicMs()),
    ackTimeoutMs: (rollout.ackTimeoutSeconds ?? ACK_TIMEOUT_SECONDS.default) * SECONDS,
    progressDeadlineMs: deadlineMs(context),
    counters: judged?.snapshot,
    isWindowOutdated: judged?.isWindowOutdated === true,
    gates: judged?.gates ?? [],
    baseline: judged?.baseline,
    now: kubeTime(deps.table.masterNowMs()),
    epoch: epochOf(look.found.members),
  })
}

export const deadlineMs = ({ set }: SetContext): number =>
  (set.spec.rollout?.progressDeadlineSeconds ?? PROGRESS_DEADLINE_SECONDS.default) * SECONDS

/** Text that is another one after each progress. */
export function progressOf({ revision }: SetConfig, { plan, state: { rollout } }: Look): string {
  const { acknowledged, updated } = plan.counts
  return `${revision} ${rollout?.attempt} ${rollout?.stage} ${rollout?.phase} ${updated} ${acknowledged}`
}

function cohortOf({ revision }: SetConfig, { assigned, found, plan, state }: Look): Cohort {
  const update = state.rollout?.revision ?? revision
  const labels = new Set<string | undefined>()
  let [updated, foreignRunning, isOfSet] = [0, 0, true]
  for (const member of found.members) {
    const { connected, managed_by: managedBy } = member.row.record
    const hasUpdate = member.label?.revision === update
    updated += Number(hasUpdate)
    if (!connected) continue
    labels.add(member.label?.revision)
    isOfSet &&= managedBy === member.claim
    foreignRunning += Number(!hasUpdate && !isIdle(member))
  }
  const [sole] = labels
  return {
    online: plan.counts.online,
    updated,
    updatedOnline: plan.updatedOnline,
    left: assigned.left,
    updatedWaiting: plan.updatedWaiting,
    waiting: plan.waiting,
    foreignRunning,
    soleRevision: labels.size === 1 && isOfSet ? sole : undefined,
  }
}

/** Stores a step. @returns the context to continue with, or why it could not be stored. */
export async function take(
  context: SetContext,
  config: SetConfig,
  { event, state }: Step,
  look: Look,
): Promise<SetContext | SetResult> {
  const { deps, lastStatus, set, signal } = context
  const isBegin = state.rollout !== undefined && look.state.rollout?.revision !== state.rollout.revision
  const stopped = isBegin ? await storeRevision(context, config, epochOf(look.found.members)) : undefined
  if (stopped !== undefined) return stopped
  const { currentRevision: _current, failed: _failed, rollout: _rollout, ...others } = lastStatus
  const status: FleetWorkerSetStatus = {
    ...others,
    updateRevision: config.revision,
    ...(state.current !== undefined && { currentRevision: state.current }),
    ...(state.rollout !== undefined && { rollout: state.rollout }),
    ...(state.failed.length > 0 && { failed: [...state.failed] }),
  }
  deps.status.put(refOf(set), status, 'transition')
  await deps.status.flushNow(refOf(set), signal)
  if (!isDeepStrictEqual(stateOf(statusAtServer(context)), state)) return quietResult({ kind: 'retry' })
  context.state.begun = begunBy(context, look.state.rollout, state.rollout) ?? context.state.begun
  if (event !== undefined)
    deps.events.record(setEventTarget(set), event.isWarning ? 'Warning' : 'Normal', event.reason, event.message)
  return { ...context, lastStatus: status }
}

/** @returns when the rollout changes by time alone, in milliseconds. */
export function rolloutLookMs(context: SetContext, { returnMs, state: { rollout } }: Look): number {
  if (rollout === undefined) return Infinity
  if (returnMs > 0) return returnMs
  const spentMs = phaseMsOf(context, rollout)
  const leftMs = (ms: number): number => (ms > spentMs ? ms - spentMs : BAKE_LOOK_MS)
  const ackMs = (context.set.spec.rollout?.ackTimeoutSeconds ?? ACK_TIMEOUT_SECONDS.default) * SECONDS
  switch (rollout.phase) {
    case 'Acknowledging':
    case 'RollingBack':
      return leftMs(ackMs)
    case 'Baking':
      return Math.min(BAKE_LOOK_MS, leftMs(bakeMs({ stages: stagesOf(context) }, rollout)))
    case 'Inconclusive':
      return BAKE_LOOK_MS
    case 'Writing':
    case 'WaitingForApproval':
    case 'Failed':
    case 'RolledBack':
      return Infinity
  }
}
