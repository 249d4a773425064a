/**
 * @module operator/fleetworkerset/converge
 * Writes the workers of a set that need it, in bulk calls, until none is left or the plan waits.
 *
 *   Enforce  members that are behind, or that another client has changed; a worker that is changed again and again is
 *            reverted only every 5 minutes
 *   Warn     members that are behind; changes by other clients are reported
 *   Observe  none; a dry run shows which fields differ
 */
import { classifyClaim, type WorkerRow } from '../fleet/index.ts'
import { isHandsOff, policyOf, targetOf, type PermittedWorkers } from '../fleetworker/index.ts'
import type { SetConfig } from './config.ts'
import type { RolloutFacts } from './conditions.ts'
import { quietResult, setResult, type SetContext, type SetResult } from './context.ts'
import { membersOf, type Member, type Members } from './members.ts'
import { owedForMs, prune, throttleOf } from './memory.ts'
import { compareMembers, MAX_ITEMS, refusalFor, writeMembers } from './bulk.ts'
import { putRule, removeRule } from './enrolment.ts'
import { olderOwnerOf } from './ownership.ts'
import { planOf, type Plan } from './plan.ts'
import { variantsOf } from './revision.ts'
import { openScale, type Scale } from './scale/scale.ts'
import { ACK_TIMEOUT_SECONDS, DEFAULT_MAX_UNAVAILABLE, PROGRESS_DEADLINE_SECONDS } from './schema.ts'

/** Without any event a set is looked at again after this time. */
const SWEEP_MS = 60_000
/** Claims and records that are removed in one pass, each with a call of its own. */
const MAX_SINGLE_CALLS = 50
const MAX_HOLDERS_SHOWN = 3
const SECONDS = 1_000

interface Survey {
  readonly scale: Scale
  readonly found: Members
  readonly plan: Plan
}

export async function converge(
  context: SetContext,
  config: SetConfig,
  permitted: PermittedWorkers,
): Promise<SetResult> {
  const written = new Set<string>()
  const scale = await openScale(context)
  for (;;) {
    const found = findMembers(context, config, permitted, scale)
    const plan = planFor(context, config, found)
    const survey = { scale, found, plan }
    if (isHandsOff(context.set.spec) || plan.writes.length === 0) return finish(context, config, survey, permitted)
    const next = plan.writes.filter(({ id }) => !written.has(id)).slice(0, MAX_ITEMS)
    // Written in this pass, and still different: the master lost state meanwhile, or another client is as fast.
    const stopped = next.length === 0 ? quietResult({ kind: 'retry' }) : await writeMembers(context, config, next)
    if (stopped !== undefined) return { ...factsOf(context, config, survey), ...stopped }
    for (const { id } of next) written.add(id)
  }
}

function findMembers(
  { claim, deps, set, state }: SetContext,
  { revision }: SetConfig,
  permitted: PermittedWorkers,
  { isCordoned }: Scale,
): Members {
  const { type, selector } = set.spec
  const isLive = (other: string): boolean =>
    deps.workers.byIndex('claim', other).length > 0 || deps.cache.byIndex('claim', other).length > 0
  const isForeign = ({ record: { worker_id: id, managed_by: managedBy } }: WorkerRow): boolean => {
    const { wasDeletedHere, watches } = deps
    const hasHeldBefore = state.held.has(id)
    const found = classifyClaim({ managedBy, own: claim, isLive, watches, wasDeletedHere, hasHeldBefore })
    return found === 'foreign' || found === 'taken_over'
  }
  const members = membersOf({
    rows: deps.table.rows(type),
    selector,
    revision,
    variantFor: variantsOf(set, isCordoned),
    claim,
    isPermitted: (id) => permitted.permits(id),
    isPinned: (id) =>
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
  prune(state, new Map(members.members.map(({ id, row }) => [id, row])))
  return members
}

function planFor({ deps, set, state }: SetContext, config: SetConfig, { members }: Members): Plan {
  const { managementPolicy, rollout = {} } = set.spec
  const nowMs = deps.clock.monotonicMs()
  const mayRevert = ({ id }: Member): boolean =>
    managementPolicy !== 'Warn' && (throttleOf(state, id).throttledAt(nowMs)?.nextMs ?? 0) <= nowMs
  return planOf({
    members,
    nowMs: deps.table.masterNowMs(),
    ackTimeoutMs: (rollout.ackTimeoutSeconds ?? ACK_TIMEOUT_SECONDS.default) * SECONDS,
    maxUnavailable: rollout.maxUnavailable ?? DEFAULT_MAX_UNAVAILABLE,
    mayWrite: (member) => member.standing !== 'changed' || mayRevert(member),
    refusalOf: (member) => refusalFor(state, config, member),
    owesForMs: (row) => owedForMs(state, row, nowMs),
  })
}

/** Nothing is left to write: removes what is superfluous, compares what is not written, and reports. */
async function finish(
  context: SetContext,
  config: SetConfig,
  survey: Survey,
  permitted: PermittedWorkers,
): Promise<SetResult> {
  const { set, deps } = context
  const scaleMs = (await survey.scale.advance()) ?? SWEEP_MS
  const facts = factsOf(context, config, survey)
  const outcome = { kind: 'ok', againAfterMs: Math.min(nextLookMs(context, survey), scaleMs) } as const
  if (isHandsOff(set.spec)) await removeRule(context)
  if (set.spec.suspend === true) return setResult('Suspended', '', outcome, facts)
  if (survey.found.matched > 0 && survey.found.members.length === 0 && survey.found.conflicted.length > 0)
    return setResult('OwnershipConflict', conflictMessage(survey.found), outcome, facts)
  const stopped = deps.leadership.mayWrite() ? await settle(context, config, survey, permitted) : undefined
  if (stopped !== undefined) return { ...facts, ...stopped }
  const drift = await compareMembers(context, config, differing(context, survey))
  if (drift.kind === 'stopped') return { ...facts, ...drift.result }
  const more = drift.workers.length === 0 ? facts : { ...facts, drift }
  if (drift.workers.length > 0)
    return setResult('DriftTolerated', 'the configs of some workers differ, see status.drift', outcome, more)
  return survey.plan.counts.pending > survey.plan.counts.failed
    ? setResult('Updating', 'some workers do not have this config yet', outcome, more)
    : setResult('InSync', 'the master has this config for every worker of the set', outcome, more)
}

/** Members whose config differs and is left so. */
function differing({ set, state, deps }: SetContext, { found: { members } }: Survey): readonly Member[] {
  const nowMs = deps.clock.monotonicMs()
  const policy = policyOf(set.spec)
  if (policy === 'Observe') return members.filter(({ standing }) => standing === 'behind' || standing === 'changed')
  const changed = members.filter(({ standing }) => standing === 'changed')
  return policy === 'Warn'
    ? changed
    : changed.filter(({ id }) => throttleOf(state, id).throttledAt(nowMs) !== undefined)
}

/** Enrols new workers, unless a rollout runs. @returns why that is not possible. */
async function settle(
  context: SetContext,
  config: SetConfig,
  survey: Survey,
  permitted: PermittedWorkers,
): Promise<SetResult | undefined> {
  const { spec } = context.set
  await cleanUp(context, survey)
  if (isHandsOff(spec) || survey.plan.counts.pending > survey.plan.counts.failed) return undefined
  const isWholly = (spec.selector.idPatterns ?? ['*']).every((pattern) => permitted.permitsAll(pattern))
  if (isWholly) return putRule(context, config)
  await removeRule(context)
  return undefined
}

/** Releases workers that the set no longer selects, and deregisters those that have been absent for too long. */
async function cleanUp({ claim, deps, set, signal }: SetContext, { found }: Survey): Promise<void> {
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

function factsOf(context: SetContext, { revision, versions }: SetConfig, survey: Survey) {
  return {
    revision,
    sources: [...versions].map(([field, version]) => ({ field, version })),
    rollout: rolloutOf(context, revision, survey),
    worst: survey.plan.worst,
    scale: survey.scale.report,
  } satisfies Partial<SetResult>
}

function rolloutOf(context: SetContext, revision: string, { found, plan, scale }: Survey): RolloutFacts {
  return {
    counts: {
      ...plan.counts,
      matched: found.matched,
      pinned: found.pinned,
      conflicted: found.conflicted.length,
      cordoned: found.members.filter(({ id, standing }) => scale.isCordoned(id) && standing !== 'behind').length,
    },
    waiting: plan.waiting,
    maxUnavailable: plan.maxUnavailable,
    isHeld: plan.isHeld,
    isOverdue: leftMs(context, revision, plan) <= 0,
    holders: [...new Set(found.conflicted.map(({ holder }) => holder))].slice(0, MAX_HOLDERS_SHOWN),
  }
}

const isRolling = ({ counts, waiting }: Plan): boolean => counts.pending > counts.failed || waiting > 0

/** @returns how long the rollout may still go without progress; `Infinity` while there is none. */
function leftMs({ deps, set, state }: SetContext, revision: string, plan: Plan): number {
  const nowMs = deps.clock.monotonicMs()
  const at = `${revision} ${plan.counts.updated} ${plan.counts.acknowledged}`
  if (state.progress?.at !== at) state.progress = { at, sinceMs: nowMs }
  if (!isRolling(plan)) return Infinity
  const seconds = set.spec.rollout?.progressDeadlineSeconds ?? PROGRESS_DEADLINE_SECONDS.default
  return state.progress.sinceMs + seconds * SECONDS - nowMs
}

function nextLookMs(context: SetContext, { plan }: Survey): number {
  const { progress } = context.state
  const deadlineMs = leftMs(context, progress?.at.split(' ')[0] ?? '', plan)
  return Math.min(SWEEP_MS, plan.nextMs ?? SWEEP_MS, deadlineMs > 0 ? deadlineMs : SWEEP_MS)
}
