/**
 * Simulates the stages of rollouts and what workers count in them, seeded. Runs of one worker are correlated: the share
 * of failed runs of each worker is drawn from a beta distribution around the share of its config (beta-binomial).
 */
import { judgeGates, stageVerdict, type Gates, type Look } from '../../../../src/operator/fleetworkerset/gates/index.ts'

// Jest's modules look globals up slowly.
const { PI, ceil, cos, exp, floor, imul, log, log1p, max, min, round, sqrt } = Math

/** Numbers from 0 to 1, by the generator of Marsaglia (xorshift) with 32 bits. */
export function createRandom(seed: number): () => number {
  let state = (imul(seed + 1, 0x9e3779b1) ^ 0x85ebca6b) >>> 0 || 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return ((state >>> 0) + 0.5) / 2 ** 32
  }
}

type StageVerdict = ReturnType<typeof stageVerdict>
type Random = ReturnType<typeof createRandom>

const normal = (random: Random): number => sqrt(-2 * log(random())) * cos(2 * PI * random())

/** Marsaglia and Tsang, 2000. */
function gamma(shape: number, random: Random): number {
  if (shape < 1) return gamma(shape + 1, random) * random() ** (1 / shape)
  const d = shape - 1 / 3
  for (;;) {
    const x = normal(random)
    const v = (1 + x / sqrt(9 * d)) ** 3
    if (v > 0 && log(random()) < x ** 2 / 2 + d * (1 - v + log(v))) return d * v
  }
}

/** A share around `mean`; `correlation` is the correlation of two runs with this share of failures. */
function beta(mean: number, correlation: number, random: Random): number {
  if (correlation === 0) return mean
  const size = 1 / correlation - 1
  const a = gamma(max(mean * size, 1e-6), random)
  return a / (a + gamma((1 - mean) * size, random))
}

function binomial(total: number, share: number, random: Random): number {
  if (share > 0.5) return total - binomial(total, 1 - share, random)
  const mean = total * share
  if (mean > 30) return min(max(round(mean + normal(random) * sqrt(mean * (1 - share))), 0), total)
  // Waiting times between failures are geometric.
  let [count, position] = [0, 0]
  const scale = log1p(-share)
  for (;;) {
    position += floor(log(random()) / scale) + 1
    if (!(position <= total)) return count
    count += 1
  }
}

export interface Scenario {
  readonly workers: number
  /** Share of failed runs of both configs. */
  readonly currentRate: number
  readonly updatedRate: number
  /** Correlation of runs of one worker. */
  readonly correlation: number
  /** Runs that a worker ends in a stage, in the median. */
  readonly runsPerWorker: number
  readonly gates: Gates
}

const STAGES = ['1', '10%', '50%', '100%']
/** Looks at a window while it grows; the next one of the same length follows while `minRuns` is not reached. */
const BAKE_LOOKS = 4
/** A rollout waits for so many windows at most: then it is Inconclusive, and paused. */
const MAX_WINDOWS = 10

/** How many workers each stage has, as the stage machine computes it: all but the last leave one worker. */
function limitsOf(workers: number): readonly number[] {
  const limits: number[] = []
  for (const stage of STAGES) {
    const size = stage.endsWith('%') ? ceil((Number.parseInt(stage, 10) / 100) * workers) : Number(stage)
    const limit = stage === '100%' ? workers : min(size, workers - 1)
    if (limit > (limits.at(-1) ?? 0)) limits.push(limit)
  }
  return limits
}

/** The runs of one worker in a window. */
interface Worker {
  readonly runs: number
  readonly rate: number
  readonly cohort: Counts
}

/** What the workers on one revision counted. */
class Counts {
  readonly workers: number
  readonly isUpdated: boolean
  #ok = 0
  #failed = 0

  constructor(workers: number, isUpdated: boolean) {
    this.workers = workers
    this.isUpdated = isUpdated
  }

  add(runs: number, failed: number): void {
    this.#ok += runs - failed
    this.#failed += failed
  }

  get counters(): Record<string, number> {
    return { runs_ok: this.#ok, runs_failed: this.#failed }
  }
}

/** `paused`: too few runs; neither a rollback nor a completion. */
type Outcome = { readonly kind: 'completed' | 'paused' } | { readonly kind: 'stopped'; readonly stage: number }

/** @returns how the rollout ends, with the stage from 1 in which a gate failed. */
export function simulateRollout(scenario: Scenario, random: Random): Outcome {
  const { workers } = scenario
  let baseline: Counts | undefined
  for (const [index, limit] of limitsOf(workers).entries()) {
    const updated = new Counts(limit, true)
    const current = new Counts(workers - limit, false)
    if (limit < workers) baseline = current
    const fleet = Array.from({ length: workers }, (_, worker) =>
      createWorker(scenario, worker < limit ? updated : current, random),
    )
    const verdict = bake(scenario, { fleet, updated, current: baseline }, random)
    if (verdict === 'Failed') return { kind: 'stopped', stage: index + 1 }
    if (verdict === 'Inconclusive') return { kind: 'paused' }
  }
  return { kind: 'completed' }
}

function createWorker(scenario: Scenario, cohort: Counts, random: Random): Worker {
  const { currentRate, updatedRate, correlation, runsPerWorker } = scenario
  const rate = cohort.isUpdated ? updatedRate : currentRate
  return {
    // Workers differ in their speed.
    runs: runsPerWorker * exp(0.5 * normal(random)),
    rate: beta(rate, correlation, random),
    cohort,
  }
}

interface Stage {
  readonly fleet: readonly Worker[]
  readonly updated: Counts
  readonly current: Counts | undefined
}

function bake(scenario: Scenario, { fleet, updated, current }: Stage, random: Random): StageVerdict {
  const judge = (look: Look): StageVerdict =>
    stageVerdict(
      judgeGates({
        gates: scenario.gates,
        kind: 'batch',
        look,
        updated: { workers: updated.workers, failedWorkers: 0, counters: updated.counters },
        current: current && { workers: current.workers, counters: current.counters },
      }),
    )
  for (let look = 1; look <= BAKE_LOOKS * MAX_WINDOWS; look += 1) {
    for (const { runs, rate, cohort } of fleet) {
      const ended = round((runs * look) / BAKE_LOOKS) - round((runs * (look - 1)) / BAKE_LOOKS)
      cohort.add(ended, binomial(ended, rate, random))
    }
    if (judge('bake') === 'Failed') return 'Failed'
    const verdict = look < BAKE_LOOKS ? 'Inconclusive' : judge('end')
    if (verdict !== 'Inconclusive') return verdict
  }
  return 'Inconclusive'
}
