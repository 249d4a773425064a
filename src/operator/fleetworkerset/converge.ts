/**
 * @module operator/fleetworkerset/converge
 * Takes the steps of the rollout, and writes the workers of a set that need it, in bulk calls, until none is left or
 * something has to be waited for.
 *
 *   Enforce  members that are behind, or that another client has changed; a worker that is changed again and again is
 *            reverted only every 5 minutes
 *   Warn     members that are behind; changes by other clients are reported
 *   Observe  none; a dry run shows which fields differ
 */
import { classifyClaim, type WorkerRow } from '../fleet/index.ts'
import { isHandsOff, policyOf, targetOf, type PermittedWorkers } from '../fleetworker/index.ts'
import type { SetConfig } from './config.ts'
import type { RolloutFacts, SetSyncedReason } from './conditions.ts'
import { nextTurn, quietResult, setResult, type SetContext, type SetResult } from './context.ts'
import { epochOf, membersOf, type Member, type Members } from './members.ts'
import { progressMsOf, prune, throttleOf } from './memory.ts'
import { checkSchema, compareMembers, MAX_ITEMS, writeMembers } from './bulk.ts'
import { putRule, removeRule } from './enrolment.ts'
import { olderOwnerOf } from './ownership.ts'
import type { Plan } from './plan.ts'
import { runsIn } from './gates/index.ts'
import { variantsOf } from './revision.ts'
import { openScale, type Scale } from './scale/scale.ts'
import { failureOf, isLive, type Step } from './stage-machine.ts'
import { deadlineMs, lookAt, progressOf, rolloutLookMs, stepAfter, take, type Look } from './rollout.ts'

/** Without any event a set is looked at again after this time. */
const SWEEP_MS = 60_000
/** Claims and records that are removed in one pass, each with a call of its own. */
const MAX_SINGLE_CALLS = 50
const MAX_HOLDERS_SHOWN = 3
const SECONDS = 1_000

export async function converge(
  context: SetContext,
  config: SetConfig,
  permitted: PermittedWorkers,
): Promise<SetResult> {
  const written = new Set<string>()
  const scale = await openScale(context)
  let now = context
  for (;;) {
    await nextTurn(now)
    const found = findMembers(now, permitted, scale)
    await nextTurn(now)
    const look = await lookAt(now, config, found, scale)
    const { spec } = now.set
    if (isHandsOff(spec)) return finish(now, config, look, permitted)
    const step = stepAfter(now, config, look)
    if (step !== undefined) {
      const taken = await take(now, config, step, look)
      if (!('deps' in taken)) return { ...factsOf(now, config, look), ...taken }
      now = taken
      continue
    }
    if (look.plan.writes.length === 0) return finish(now, config, look, permitted)
    const next = batchOf(look.plan.writes.filter((each) => !written.has(keyOf(each))))
    // Written in this pass, and still different: the master lost state meanwhile, or another client is as fast.
    const stopped = next.length === 0 ? quietResult({ kind: 'retry' }) : await writeMembers(now, config, next)
    if (stopped === 'lost') {
      await take(now, config, withoutCurrent(look), look)
      return quietResult({ kind: 'retry' }) // What is known of the workers may be from before the loss.
    }
    if (stopped !== undefined) return { ...factsOf(now, config, look), ...stopped }
    for (const each of next) written.add(keyOf(each))
  }
}

/** The workers cannot get the current revision any more, so the set begins as one that has none. */
const withoutCurrent = ({ state }: Look): Step => ({
  state: { ...state, current: undefined, rollout: undefined },
  event: {
    isWarning: true,
    reason: 'CurrentRevisionLost',
    message: `the master does not have the revision ${state.current} any more`,
  },
})

const keyOf = ({ goal, id }: Member): string => `${goal} ${id}`

/** The members of one bulk call, which have one goal. */
const batchOf = (members: readonly Member[]): readonly Member[] =>
  members.filter(({ goal }) => goal === members[0]?.goal).slice(0, MAX_ITEMS)

function findMembers(
  { claim, deps, set, state }: SetContext,
  permitted: PermittedWorkers,
  { isCordoned }: Scale,
): Members {
  const { type, selector } = set.spec
  const isClaimOfObject = (other: string): boolean =>
    deps.workers.byIndex('claim', other).length > 0 || deps.cache.byIndex('claim', other).length > 0
  const isForeign = ({ record: { worker_id: id, managed_by: managedBy } }: WorkerRow): boolean => {
    if (managedBy === null || managedBy === claim) return false
    const { wasDeletedHere, watches } = deps
    const hasHeldBefore = state.held.has(id)
    const found = classifyClaim({
      managedBy,
      own: claim,
      isLive: isClaimOfObject,
      watches,
      wasDeletedHere,
      hasHeldBefore,
    })
    return found === 'foreign' || found === 'taken_over'
  }
  const hasFleetWorkers = deps.workers.size > 0
  const members = membersOf({
    previous: state.members,
    rows: deps.table.rows(type),
    selector,
    variantFor: variantsOf(set, isCordoned),
    claim,
    isPermitted: (id) => permitted.permits(id),
    isPinned: (id) =>
      hasFleetWorkers &&
      deps.workers
        .byIndex('target', targetOf(type, id))
        .some(
          ({ metadata }) =>
            metadata.deletionTimestamp === undefined && deps.scope(metadata.namespace, type)?.permits(id) === true,
        ),
    olderOwner: olderOwnerOf(set, deps.cache, deps.scope),
    isForeign,
  })
  for (const { id, row } of members.members) if (row.record.managed_by === claim) state.held.add(id)
  prune(state, members.members)
  return members
}

/** Nothing is left to write: removes what is superfluous, compares what is not written, and reports. */
async function finish(
  context: SetContext,
  config: SetConfig,
  look: Look,
  permitted: PermittedWorkers,
): Promise<SetResult> {
  const { set, deps } = context
  const scaleMs = (await look.scale.advance()) ?? SWEEP_MS
  const facts = factsOf(context, config, look)
  const outcome = { kind: 'ok', againAfterMs: Math.min(nextLookMs(context, config, look), scaleMs) } as const
  if (isHandsOff(set.spec)) await removeRule(context)
  if (set.spec.suspend === true) return setResult('Suspended', '', outcome, facts)
  if (look.found.matched > 0 && look.found.members.length === 0 && look.found.conflicted.length > 0)
    return setResult('OwnershipConflict', conflictMessage(look.found), outcome, facts)
  const stopped = deps.leadership.mayWrite() ? await settle(context, config, look, permitted) : undefined
  if (stopped !== undefined) return { ...facts, ...stopped }
  const drift = await compareMembers(context, config, differing(context, look))
  if (drift.kind === 'stopped') return { ...facts, ...drift.result }
  if (drift.workers.length === 0) return setResult(...syncedOf(config, look), outcome, facts)
  const message = 'the configs of some workers differ, see status.drift'
  return setResult('DriftTolerated', message, outcome, { ...facts, drift })
}

/** Whether every worker has the config of the spec. */
function syncedOf({ revision }: SetConfig, { goals, plan, state }: Look): [reason: SetSyncedReason, message: string] {
  const failure = failureOf(state.failed, revision)
  const isGiven = goals.rest === revision || goals.update === revision
  if (failure !== undefined && !isLive(state.rollout, revision) && goals.rest !== revision)
    return ['RolloutFailed', `this config is not rolled out: ${failure.message}`]
  return !isGiven || plan.counts.pending > plan.counts.failed
    ? ['Updating', 'some workers do not have this config yet']
    : ['InSync', 'the master has this config for every worker of the set']
}

/** Members whose config differs and is left so. */
function differing({ set, state, deps }: SetContext, { assigned: { members } }: Look): readonly Member[] {
  const nowMs = deps.clock.monotonicMs()
  const policy = policyOf(set.spec)
  if (policy === 'Observe') return members.filter(({ standing }) => standing === 'behind' || standing === 'changed')
  const changed = members.filter(({ standing }) => standing === 'changed')
  return policy === 'Warn'
    ? changed
    : changed.filter(({ id }) => throttleOf(state, id).throttledAt(nowMs) !== undefined)
}

/**
 * Enrols new workers with the current revision; with that of the spec once every worker has it. @returns why that is
 * not possible, or why the master does not accept the revision any more.
 */
async function settle(
  context: SetContext,
  config: SetConfig,
  look: Look,
  permitted: PermittedWorkers,
): Promise<SetResult | undefined> {
  const { spec } = context.set
  await cleanUp(context, look)
  const revision = enrolledRevision(config, look)
  if (isHandsOff(spec)) return undefined
  const stopped = await checkSchema(context, config, epochOf(look.found.members))
  if (stopped !== undefined || revision === undefined) return stopped
  const isWholly = (spec.selector.idPatterns ?? ['*']).every((pattern) => permitted.permitsAll(pattern))
  if (isWholly) return putRule(context, config, revision)
  await removeRule(context)
  return undefined
}

/** @returns the revision for new workers; `undefined`: the rule stays as it is. */
function enrolledRevision({ revision }: SetConfig, { goals, plan, state }: Look): string | undefined {
  if (goals.rest !== revision) return state.current
  return plan.counts.pending > plan.counts.failed ? undefined : revision
}

/** Releases workers that the set no longer selects, and deregisters those that have been absent for too long. */
async function cleanUp({ claim, deps, set, signal }: SetContext, { found }: Look): Promise<void> {
  const { forgetAfterSeconds = 0, managementPolicy, type } = set.spec
  const released = managementPolicy === 'Observe' ? [] : found.released
  for (const { record } of released.slice(0, MAX_SINGLE_CALLS))
    await deps.master.release({ type, workerId: record.worker_id }, claim, signal)
  if (forgetAfterSeconds === 0 || managementPolicy === 'Observe') return
  const beforeSeconds = deps.table.masterNowMs() / SECONDS - forgetAfterSeconds
  const gone = found.members.filter(({ row: { record } }) => !record.connected && record.last_seen < beforeSeconds)
  for (const { id } of gone.slice(0, MAX_SINGLE_CALLS)) await deps.master.forget({ type, workerId: id }, claim, signal)
}

function conflictMessage({ conflicted }: Members): string {
  const [first] = conflicted
  return (
    `${conflicted.length === 1 ? 'the only matching worker is' : `all ${conflicted.length} matching workers are`} ` +
    `left to ${first?.holder ?? 'others'}; change the selector, or delete one of the two objects`
  )
}

function factsOf(context: SetContext, config: SetConfig, look: Look) {
  return {
    revision: config.revision,
    sources: [...context.state.sources.shown(config.versions)],
    rollout: rolloutOf(context, config, look),
    worst: look.plan.worst,
    stored: look.state,
    scale: look.scale.report,
  } satisfies Partial<SetResult>
}

function rolloutOf(context: SetContext, config: SetConfig, look: Look): RolloutFacts {
  const { assigned, found, judged, plan, scale, state } = look
  return {
    counts: {
      ...plan.counts,
      matched: found.matched,
      pinned: found.pinned,
      conflicted: found.conflicted.length,
      cordoned: assigned.members.filter(({ id, standing }) => scale.isCordoned(id) && standing !== 'behind').length,
    },
    waiting: plan.waiting,
    maxUnavailable: plan.maxUnavailable,
    isHeld: plan.isHeld,
    isOverdue: leftMs(context, config, look) <= 0,
    holders: [...new Set(found.conflicted.map(({ holder }) => holder))].slice(0, MAX_HOLDERS_SHOWN),
    isPaused: context.set.spec.paused === true,
    waitsFor: state.rollout === undefined && look.goals.rest !== config.revision ? config.revision : undefined,
    stage: state.rollout,
    failure: failureOf(state.failed, config.revision),
    gates: judged?.gates ?? state.rollout?.gates ?? [],
    ...(judged?.baseline !== undefined && { currentRuns: runsIn(judged.baseline) }),
  }
}

const isRolling = ({ counts, waiting }: Plan): boolean => counts.pending > counts.failed || waiting > 0

/** @returns how long the rollout may still go without progress; `Infinity` while there is none. */
function leftMs(context: SetContext, config: SetConfig, look: Look): number {
  const idleMs = progressMsOf(context.state, progressOf(config, look), context.deps.clock.monotonicMs())
  const { phase } = look.state.rollout ?? {}
  const isTimed = phase === undefined ? isRolling(look.plan) : phase === 'Writing'
  return isTimed ? deadlineMs(context) - idleMs : Infinity
}

function nextLookMs(context: SetContext, config: SetConfig, look: Look): number {
  const deadline = leftMs(context, config, look)
  const { nextMs = SWEEP_MS } = look.plan
  return Math.min(SWEEP_MS, nextMs, rolloutLookMs(context, look), deadline > 0 ? deadline : SWEEP_MS)
}
