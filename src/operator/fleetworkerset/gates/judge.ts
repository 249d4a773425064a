/**
 * @module operator/fleetworkerset/gates/judge
 * Judges the gates of a stage: compares what the updated workers counted within a window with what the workers on the
 * current revision counted meanwhile. Pure.
 *
 *   errors       more failed workers than `max` permits; an exact bound, without statistics
 *   failureRate  failed runs ÷ runs that ended
 *   runSeconds   a quantile of the durations of runs
 *   counters     events ÷ runs; or ÷ minutes of the workers: of a continuous automation, and of slot_failures, because
 *                a slot that cannot start has no run
 *
 * A comparison fails only if the difference is above the bound **and** significant: the lower bound of its confidence
 * interval shows that the updated workers are worse at all. Shares use Newcombe's interval, ratios of counters that of
 * two Poisson counts given their sum, and quantiles order statistics (intervals.ts). With fewer than 3 updated workers
 * the permitted difference is doubled, because one slow host looks like a bad config.
 *
 * Runs of one worker are alike: a slow host or an unlucky share of the work affects all of them. So n runs of one
 * worker do not weigh as n independent runs, but as n ÷ (1 + (n − 1) ρ) of them (the design effect of Kish), at most
 * 1/ρ; with {@link CORRELATION} that is 40. Example: a worker with 3,000 runs, 4 % of them failed, shows less than 60
 * workers with 50 runs each. Events of a counter are weighted alike, by the number that each worker would have if both
 * revisions had the same rate; several events in one run weigh as one.
 *
 * A window is looked at several times while the stage bakes, so these looks need more evidence (z = 4) than the one at
 * the end (z = 3.09). Fewer than `minRuns` runs decide nothing.
 * @see D144
 */
import { TALLY_NAMES } from '../../../protocol/index.ts'
import { bucketAt, LAST_BUCKET, quantileMs, totalOf } from './durations.ts'
import {
  differenceInterval,
  quantileShares,
  ratioInterval,
  shareInterval,
  valueOf,
  type Rate,
  type Share,
} from './intervals.ts'
import {
  DEFAULT_MAX_ERRORS,
  DEFAULT_MAX_INCREASE,
  MIN_RUNS,
  type CounterGate,
  type GateResult,
  type Gates,
} from './schema.ts'
import { durationText, percentText, pointsText, ratioText, roundedText } from './texts.ts'
import { bucketsOf, RUNS_FAILED, RUNS_OK, SLOT_FAILURES, tallyNameOf, type Counters } from './window.ts'

/** The intraclass correlation ρ of the runs of one worker that the intervals assume. */
const CORRELATION = 0.025
/** One-sided: 0.003 % while the stage bakes, since the window is looked at repeatedly; 0.1 % at its end. */
const Z = { bake: 4, end: 3.09 } as const
/** Below so many updated workers the permitted difference is doubled. */
const FEW_WORKERS = 3
const SECONDS_PER_MINUTE = 60

/** `end`: the bake is over, and this look decides. It is repeated only while a result is Inconclusive. */
export type Look = keyof typeof Z

/** The workers on one revision, and what they counted within the window. */
export interface Cohort {
  /** Number of online workers. */
  readonly workers: number
  readonly counters: Counters
}

export interface GateFacts {
  readonly gates: Gates
  readonly kind: 'batch' | 'continuous'
  readonly look: Look
  /** `failedWorkers`: those that entered ERROR, refused the config, or did not acknowledge it in time. */
  readonly updated: Cohort & { readonly failedWorkers: number }
  /** Without any worker on the current revision, and without an earlier window of such workers: `undefined`. */
  readonly current: Cohort | undefined
}

/** @returns one result for each gate that is set, in the order of the spec. */
export const judgeGates = (facts: GateFacts): readonly GateResult[] => [
  judgeErrors(facts),
  judgeFailureRate(facts),
  ...(facts.gates.runSeconds === undefined ? [] : [judgeRunSeconds(facts, facts.gates.runSeconds)]),
  ...(facts.gates.counters ?? []).map((gate) => judgeCounter(facts, gate)),
]

/** @returns what the results mean for the stage: `Failed` wins over `Inconclusive`. */
export function stageVerdict(results: readonly GateResult[]): 'Passed' | 'Failed' | 'Inconclusive' {
  const has = (verdict: GateResult['verdict']): boolean => results.some((each) => each.verdict === verdict)
  if (has('Failed')) return 'Failed'
  return has('Inconclusive') ? 'Inconclusive' : 'Passed'
}

function judgeErrors({ gates, updated }: GateFacts): GateResult {
  const percent = Number.parseInt(gates.errors?.max ?? DEFAULT_MAX_ERRORS, 10)
  const allowed = Math.floor((percent * updated.workers) / 100)
  const result = { name: 'errors', updated: `${updated.failedWorkers} of ${updated.workers}`, allowed: String(allowed) }
  if (updated.failedWorkers <= allowed) return { ...result, verdict: 'Passed' }
  return failed(result, `${result.updated} updated workers failed; at most ${allowed} may`)
}

function judgeFailureRate(facts: GateFacts): GateResult {
  const { gates, look, updated, current } = facts
  const { max, maxIncrease = DEFAULT_MAX_INCREASE } = gates.failureRate ?? {}
  const [own, other] = [failedShareOf(updated), failedShareOf(current)]
  const runs = { name: 'failureRate', runs: wholeRuns(own.total) }
  const undecided = undecidedOf(facts, { ...runs, baseline: other.total, isComparison: max === undefined })
  if (undecided !== undefined) return undecided
  const hasBaseline = other.total > 0
  const increase = Number(maxIncrease) * leniency(updated)
  const allowed = [
    ...(hasBaseline ? [pointsText(increase)] : []),
    ...(max === undefined ? [] : [percentText(Number(max))]),
  ]
  const result = {
    ...runs,
    updated: percentText(valueOf(own)),
    ...(hasBaseline && { current: percentText(valueOf(other)) }),
    allowed: allowed.join(', '),
  }
  const weighted = weightedShare(own, updated)
  if (max !== undefined && shareInterval(weighted, Z[look]).lower > Number(max))
    return failed(result, `${result.updated} of ${runs.runs} runs failed; at most ${percentText(Number(max))} may`)
  if (current === undefined || valueOf(own) - valueOf(other) <= increase) return { ...result, verdict: 'Passed' }
  if (differenceInterval(weighted, weightedShare(other, current), Z[look]).lower <= 0)
    return { ...result, verdict: 'Passed' }
  return failed(
    result,
    `${result.updated} of ${runs.runs} runs failed; before the change, ${percentText(valueOf(other))}`,
  )
}

function judgeRunSeconds(facts: GateFacts, gate: NonNullable<Gates['runSeconds']>): GateResult {
  const { look, updated, current } = facts
  const [own, other] = [bucketsOf(updated.counters), bucketsOf(current?.counters ?? {})]
  const runs = { name: 'runSeconds', runs: wholeRuns(totalOf(own)) }
  const undecided = undecidedOf(facts, { ...runs, baseline: totalOf(other), isComparison: true })
  if (undecided !== undefined) return undecided
  const quantile = Number(gate.quantile.slice(1)) / 100
  const [ownMs, otherMs] = [quantileMs(own, quantile) ?? 1, quantileMs(other, quantile) ?? 1]
  const allowed = permittedRatio(gate.maxRatio, updated)
  const result = { ...runs, updated: durationText(ownMs), current: durationText(otherMs), allowed: ratioText(allowed) }
  if (bucketAt(other, quantile) === LAST_BUCKET)
    return { ...result, verdict: 'NotApplicable', message: 'runs of more than 49 minutes are not compared' }
  const lower = quantileShares(quantile, weightedRuns(totalOf(own), updated), Z[look]).lower
  const upper = quantileShares(quantile, weightedRuns(totalOf(other), current), Z[look]).upper
  const isSignificant = (bucketAt(own, lower) ?? 0) > (bucketAt(other, upper) ?? LAST_BUCKET)
  if (ownMs / otherMs <= allowed || !isSignificant) return { ...result, verdict: 'Passed' }
  return failed(result, `${gate.quantile} of a run is ${result.updated}; before the change, ${result.current}`)
}

function judgeCounter(facts: GateFacts, gate: CounterGate): GateResult {
  const { kind, look, updated, current } = facts
  const name = tallyNameOf(gate.name)
  const isPerRun = kind === 'batch' && gate.name !== SLOT_FAILURES
  const [own, other] = [rateOf(updated, name, isPerRun), rateOf(current, name, isPerRun)]
  const runs = wholeRuns(failedShareOf(updated).total)
  const undecided = isPerRun
    ? undecidedOf(facts, { name, runs, baseline: other.exposure, isComparison: true })
    : undecidedByTime(name, own, other)
  if (undecided !== undefined) return undecided
  const [ownRate, otherRate] = [own.count / own.exposure, other.count / other.exposure]
  const allowed = permittedRatio(gate.maxRatio, updated)
  const unit = isPerRun ? 'per run' : 'per min'
  const result = {
    name,
    updated: `${roundedText(ownRate)} ${unit}`,
    current: `${roundedText(otherRate)} ${unit}`,
    allowed: ratioText(allowed),
    ...(isPerRun && { runs }),
  }
  if (ownRate <= allowed * otherRate) return { ...result, verdict: 'Passed' }
  const weights = { pooled: (own.count + other.count) / (own.exposure + other.exposure), isPerRun }
  const [weighted, weightedOther] = [weightedRate(own, updated, weights), weightedRate(other, current, weights)]
  if (ratioInterval(weighted, weightedOther, Z[look]).lower <= 1) return { ...result, verdict: 'Passed' }
  return failed(result, `${result.updated}; before the change, ${result.current}`)
}

interface Runs {
  readonly name: string
  readonly runs: number
  /** Number of runs to compare with. */
  readonly baseline: number
  /** Whether the gate has no bound that holds without a baseline. */
  readonly isComparison: boolean
}

/** @returns the result of a gate of runs that cannot be judged, or not yet; `undefined` if it can. */
function undecidedOf({ gates, kind, current }: GateFacts, { name, runs, ...more }: Runs): GateResult | undefined {
  if (kind === 'continuous')
    return { name, verdict: 'NotApplicable', message: 'a continuous automation has no runs that end' }
  const { minRuns = MIN_RUNS.default } = gates
  const result = { name, runs }
  if (runs === 0 && (more.baseline === 0 || minRuns === 0))
    return { ...result, verdict: 'NoTraffic', message: 'no run ended' }
  if (more.isComparison && current === undefined) return notComparable(result)
  if (runs < minRuns)
    return {
      ...result,
      verdict: 'Inconclusive',
      message: `${runs} runs of updated workers ended; ${minRuns} are needed`,
    }
  return more.isComparison && more.baseline === 0 ? notComparable(result) : undefined
}

function undecidedByTime(name: string, own: Rate, other: Rate): GateResult | undefined {
  if (own.exposure === 0 && other.exposure === 0)
    return { name, verdict: 'NoTraffic', message: 'no worker sent statistics' }
  if (own.exposure === 0) return { name, verdict: 'Inconclusive', message: 'no updated worker sent statistics' }
  return other.exposure === 0 ? notComparable({ name }) : undefined
}

const notComparable = (result: Pick<GateResult, 'name' | 'runs'>): GateResult => ({
  ...result,
  verdict: 'NotApplicable',
  message: 'no run of a worker on the current revision to compare with',
})

const failed = (result: Omit<GateResult, 'verdict' | 'message'>, message: string): GateResult => ({
  ...result,
  verdict: 'Failed',
  message,
})

/** A worker may send any number, but a status with a fraction here would be refused by the API server. */
const wholeRuns = Math.floor

/** @returns how many runs of these counters ended. */
export const runsIn = (counters: Counters): number => wholeRuns(failedShareOf({ workers: 0, counters }).total)

function failedShareOf(cohort: Cohort | undefined): Share {
  const { [RUNS_OK]: ok = 0, [RUNS_FAILED]: count = 0 } = cohort?.counters ?? {}
  return { count, total: ok + count }
}

function rateOf(cohort: Cohort | undefined, name: string, isPerRun: boolean): Rate {
  const counters = cohort?.counters ?? {}
  const minutes = (counters[TALLY_NAMES.workerSeconds] ?? 0) / SECONDS_PER_MINUTE
  return { count: counters[name] ?? 0, exposure: isPerRun ? failedShareOf(cohort).total : minutes }
}

const leniency = ({ workers }: Cohort): number => (workers < FEW_WORKERS ? 2 : 1)

const permittedRatio = (maxRatio: string, updated: Cohort): number => 1 + (Number(maxRatio) - 1) * leniency(updated)

/** The factor by which correlation within a worker raises the variance of a sum of `count` runs or events. */
const designEffect = (count: number, cohort: Cohort | undefined): number =>
  1 + CORRELATION * Math.max(count / Math.max(cohort?.workers ?? 1, 1) - 1, 0)

const weightedRuns = (count: number, cohort: Cohort | undefined): number => count / designEffect(count, cohort)

function weightedShare({ count, total }: Share, cohort: Cohort): Share {
  const effect = designEffect(total, cohort)
  return { count: count / effect, total: total / effect }
}

/**
 * @param pooled The rate of both revisions together, which gives the number of events without a difference.
 * @param isPerRun Whether the exposure is a number of runs. More than one event in a run weighs as one.
 */
function weightedRate(
  { count, exposure }: Rate,
  cohort: Cohort | undefined,
  { pooled, isPerRun }: { readonly pooled: number; readonly isPerRun: boolean },
): Rate {
  const perRun = isPerRun ? Math.max(pooled, 1) : 1
  const effect = perRun * designEffect((pooled / perRun) * exposure, cohort)
  return { count: count / effect, exposure: exposure / effect }
}
