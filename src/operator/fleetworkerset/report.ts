/**
 * @module operator/fleetworkerset/report
 * Makes the report of a rollout for the master, from what a reconcile has found. Pure. The report contains no value of
 * a config, is cut to the size that the master accepts, and says what a person can do next.
 *
 * A restarted operator does not know when the rollout began, what started it, and which fields it changes. It takes
 * these from the last report of the same attempt ({@link carriedOver}).
 * @see D148
 */
import { Buffer } from 'node:buffer'
import {
  isFieldPointer,
  MAX_ROLLOUT_BYTES,
  pointerStep,
  ROLLOUT_BOUNDS,
  type RolloutBody,
  type RolloutShown,
} from '../../protocol/index.ts'
import { cleanText } from '../config/index.ts'
import type { RolloutFacts } from './conditions.ts'
import type { SetContext, SetResult } from './context.ts'
import type { GateResult } from './gates/index.ts'
import { nextOf } from './report-next.ts'
import { BAKE_SECONDS, isFailedPhase, type FailedRevision, type RolloutStatus, type Stage } from './rollout-schema.ts'
import { stageState } from './stage-condition.ts'

const MS = 1_000

/** When an attempt began in this term, and why. */
export interface BegunRollout {
  readonly revision: string
  readonly attempt: number
  /** Unix seconds. */
  readonly at: number
  readonly cause: NonNullable<RolloutBody['cause']>
}

/** @returns how an attempt began, if the step from one rollout to the next begins one. */
export function begunBy(
  { lastStatus, set }: Pick<SetContext, 'lastStatus' | 'set'>,
  before: RolloutStatus | undefined,
  next: RolloutStatus | undefined,
): BegunRollout | undefined {
  if (next === undefined || (before?.revision === next.revision && before.attempt === next.attempt)) return undefined
  const { attempt, revision, since } = next
  const first = lastStatus.observedGeneration === set.metadata.generation ? 'source' : 'edit'
  return { revision, attempt, at: Date.parse(since) / MS, cause: attempt > 1 ? 'retry' : first }
}

/** @returns the report; `undefined` if there is no rollout to report. */
export function reportOf(
  context: SetContext,
  { rollout: facts, stored, worst = [] }: SetResult,
): RolloutBody | undefined {
  const rollout = stored?.rollout
  if (facts === undefined || stored === undefined || rollout === undefined) return undefined
  const { claim, set, state } = context
  const { namespace, name, uid } = set.metadata
  const begun = [state.begun].find((each) => each?.revision === rollout.revision && each.attempt === rollout.attempt)
  return {
    set: { namespace, name, uid },
    managed_by: claim,
    update_revision: rollout.revision,
    current_revision: stored.current ?? null,
    attempt: Math.max(rollout.attempt, 1),
    cause: begun?.cause ?? null,
    phase: rollout.phase,
    paused: facts.isPaused && !isFailedPhase(rollout.phase),
    held: facts.isHeld,
    stage: rollout.stage,
    stages: rollout.stages,
    stage_list: (set.spec.rollout?.stages ?? []).slice(0, ROLLOUT_BOUNDS.stages).map(stageShown),
    limit: rollout.limit ?? null,
    started_at: begun?.at ?? null,
    since: Date.parse(rollout.since) / MS,
    counts: { ...facts.counts },
    gates: facts.gates.slice(0, ROLLOUT_BOUNDS.gates).map((gate) => gateShown(gate, facts.currentRuns)),
    worst: worst.slice(0, ROLLOUT_BOUNDS.worst).map(({ worker, reason, message }) => ({
      worker,
      reason: short(reason),
      message: line(message, reason),
    })),
    changed_fields: changedFields(state.changed, rollout.revision),
    failed: stored.failed.slice(-ROLLOUT_BOUNDS.failed).map(failedShown),
    message: sentence(messageOf(facts, rollout)),
    next: nextOf({ namespace, name }, rollout, { facts, current: stored.current }),
  }
}

/** The fields that the workers of the rollout got another value of. */
export interface ChangedFields {
  readonly revision: string
  readonly names: Set<string>
}

const changedFields = (changed: ChangedFields | undefined, revision: string): string[] =>
  changed?.revision === revision
    ? [...changed.names].map(pointerStep).filter(isFieldPointer).slice(0, ROLLOUT_BOUNDS.changedFields)
    : []

const messageOf = (facts: RolloutFacts, rollout: RolloutStatus): string => stageState(facts, rollout).message

const stageShown = ({ workers, bakeSeconds = BAKE_SECONDS.default, approval = 'Auto' }: Stage) => ({
  workers,
  bake_seconds: bakeSeconds,
  approval,
})

const gateShown = (gate: GateResult, currentRuns: number | undefined): NonNullable<RolloutBody['gates']>[number] => ({
  name: short(gate.name),
  verdict: gate.verdict,
  updated: shortOrNull(gate.updated),
  current: shortOrNull(gate.current),
  allowed: shortOrNull(gate.allowed),
  updated_runs: runs(gate.runs),
  current_runs: gate.runs === undefined ? null : runs(currentRuns),
  message: gate.message === undefined ? null : line(gate.message, gate.verdict),
})

/** A worker may send any number. */
const runs = (count: number | undefined): number | null =>
  count === undefined ? null : Math.min(Math.max(count, 0), ROLLOUT_BOUNDS.runs)

const failedShown = ({ revision, attempts, time, stage, gate, message }: FailedRevision) => ({
  revision,
  attempts: attempts ?? null,
  failed_at: Date.parse(time) / MS,
  stage: stage ?? null,
  gate: shortOrNull(gate),
  message: sentence(message),
})

const short = (text: string): string => cleanText(text, ROLLOUT_BOUNDS.shortChars) || '-'
const shortOrNull = (text: string | undefined): string | null => (text === undefined ? null : short(text))
const line = (text: string, otherwise: string): string => cleanText(text, ROLLOUT_BOUNDS.lineChars) || short(otherwise)
const sentence = (text: string): string => cleanText(text, ROLLOUT_BOUNDS.messageChars) || '-'

/** A report at the master, without the fields that the master adds. */
export function bodyOf({ rollout: _name, reported_at: _time, ...report }: RolloutShown): RolloutBody {
  return report
}

/** @returns the report, with what an earlier one of the same attempt knows and this one does not. */
export function carriedOver(report: RolloutBody, before: RolloutBody | undefined): RolloutBody {
  if (before?.update_revision !== report.update_revision || before.attempt !== report.attempt) return report
  const fields = [...new Set([...(before.changed_fields ?? []), ...(report.changed_fields ?? [])])]
  return {
    ...report,
    started_at: before.started_at ?? report.started_at ?? null,
    cause: before.cause ?? report.cause ?? null,
    changed_fields: fields.slice(0, ROLLOUT_BOUNDS.changedFields),
    gates: (report.gates ?? []).map((gate) => ({ ...gate, current_runs: currentRunsOf(gate, before) })),
  }
}

/** After a failure the gates are those of the failure, and the runs that they were compared with are known no more. */
function currentRunsOf(
  { current_runs: known, name, updated_runs: updated }: NonNullable<RolloutBody['gates']>[number],
  before: RolloutBody,
): number | null {
  if (known !== null && known !== undefined) return known
  const same = before.gates?.find((each) => each.name === name && each.updated_runs === updated)
  return same?.current_runs ?? null
}

/** Lists that may be shortened. The first entries of each matter most; of `failed` the last ones. */
const SHORTENED = ['worst', 'changed_fields', 'failed', 'gates'] as const

/** @returns the report, with the longest of its lists shortened until the master accepts its size. */
export function withinBounds(report: RolloutBody): RolloutBody {
  let fitting = report
  while (bytesOf(fitting) > MAX_ROLLOUT_BYTES) {
    const [longest = 'worst'] = SHORTENED.toSorted((a, b) => bytesOf(fitting[b] ?? []) - bytesOf(fitting[a] ?? []))
    const list = fitting[longest] ?? []
    if (list.length === 0) return fitting
    fitting = { ...fitting, [longest]: longest === 'failed' ? list.slice(1) : list.slice(0, -1) }
  }
  return fitting
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

/** Text that is another one when the report is news, so that it is sent immediately. */
export const newsOf = ({
  gates,
  attempt,
  paused,
  phase,
  stage,
  stages,
  update_revision: revision,
}: RolloutBody): string =>
  JSON.stringify([revision, attempt, phase, stage, stages, paused === true, verdictsOf(gates ?? [])])

const verdictsOf = (gates: NonNullable<RolloutBody['gates']>) => gates.map(({ name, verdict }) => [name, verdict])
