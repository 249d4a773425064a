/**
 * Searches plans for a violation, in this process. Each plan runs while the real clock is forbidden. An exception that
 * nothing caught counts as a violation of its own, `crash`, so that its seed is reported too.
 */
import { linkSignalsWeakly } from './linked-signals.ts'
import type { Plan } from './plan.ts'
import { forbidRealTime } from './real-time.ts'
import { shrink, type Shrunk } from './shrink.ts'
import { runPlan, type RunOptions, type RunResult } from './world.ts'

/** The result of a search, as it is printed. */
export interface SearchResult {
  readonly seeds: number
  readonly events: number
  readonly cpuMsPerSeed: number
  readonly counted: Readonly<Record<string, number>>
  readonly violation: RunResult['violation']
  /** The plan of the violation. */
  readonly plan: Plan | null
  /** What remains of it after shrinking. */
  readonly shrunk: Shrunk | null
  /** The seed whose two runs differed. */
  readonly differing: number | null
  /** Kinds of resources that a run left behind. */
  readonly leftOpen: readonly string[]
  /** Situations that a long search did not reach; empty after a shorter one. */
  readonly neverReached: readonly string[]
}

export interface SearchOptions {
  /** The first so many plans run twice, and must give the same hash. */
  readonly twice: number
  readonly shouldShrink: boolean
  /** Ignores violations of other invariants than this one. */
  readonly until?: string | undefined
  readonly trace?: RunOptions['trace']
  /** Called after each plan with the number of plans that ran. */
  readonly onSeed?: (seeds: number) => void
}

const MAX_SHRINK_RUNS = 200
const MAX_SHRINK_MS = 120_000
/** Each further frame of the stack of an error takes time. A run with a trace shows them all. */
const FRAMES_WITHOUT_TRACE = 2
// Bound before the clock is forbidden: only the limits of a search use it.
const realMs = performance.now.bind(performance)

/** Runs plans until the first violation, or the first plan whose two runs differ. */
export async function search(plans: Iterable<Plan>, options: SearchOptions): Promise<SearchResult> {
  const counted: Record<string, number> = {}
  const before = new Set(process.getActiveResourcesInfo())
  const restorers = [forbidRealTime(), linkSignalsWeakly(), limitStacks(options.trace !== undefined)]
  const startedCpu = process.cpuUsage()
  let [seeds, runs, events] = [0, 0, 0]
  let violated: RunResult | null = null
  let differing: number | null = null
  for (const plan of plans) {
    const result = await runGuarded(plan, { trace: options.trace })
    seeds += 1
    runs += 1
    events += result.events
    for (const [what, count] of Object.entries(result.counted)) counted[what] = (counted[what] ?? 0) + count
    if (isWanted(result, options.until)) violated = result
    if (seeds <= options.twice) {
      const again = await runGuarded(plan)
      runs += 1
      if (again.hash !== result.hash) differing = plan.seed
    }
    options.onSeed?.(seeds)
    if (violated !== null || differing !== null) break
  }
  const { user, system } = process.cpuUsage(startedCpu)
  const shrunk = violated !== null && options.shouldShrink ? await shrinkViolated(violated) : null
  for (const restore of restorers) restore()
  return {
    seeds,
    events,
    cpuMsPerSeed: Math.round((user + system) / 1_000 / runs),
    counted,
    violation: violated?.violation ?? null,
    plan: violated?.plan ?? null,
    shrunk,
    differing,
    leftOpen: process.getActiveResourcesInfo().filter((kind) => !before.has(kind)),
    neverReached: [],
  }
}

/** @returns a function that restores the limit. */
function limitStacks(isTraced: boolean): () => void {
  const { stackTraceLimit } = Error
  if (!isTraced) Error.stackTraceLimit = FRAMES_WITHOUT_TRACE
  return () => {
    Error.stackTraceLimit = stackTraceLimit
  }
}

const isWanted = ({ violation }: RunResult, until: string | undefined): boolean =>
  violation !== null && (until === undefined || violation.invariant === until)

function shrinkViolated({ plan, violation }: RunResult): Promise<Shrunk> {
  const untilMs = realMs() + MAX_SHRINK_MS
  return shrink(plan, {
    fails: async (smaller) => (await runGuarded(smaller)).violation?.invariant === violation?.invariant,
    maxRuns: MAX_SHRINK_RUNS,
    isOver: () => realMs() > untilMs,
  })
}

/** Runs a plan. An error that the run threw, or that nothing caught, becomes the violation `crash`. */
async function runGuarded(plan: Plan, options: RunOptions = {}): Promise<RunResult> {
  let crash: unknown
  const onCrash = (error: unknown): void => void (crash ??= error)
  process.on('uncaughtException', onCrash) // Called for rejections without a handler, too.
  try {
    const result = await runPlan(plan, options)
    return crash === undefined ? result : { ...result, violation: result.violation ?? crashOf(crash) }
  } catch (error) {
    return { plan, violation: crashOf(crash ?? error), hash: 0, events: 0, counted: {} }
  } finally {
    process.off('uncaughtException', onCrash)
  }
}

const crashOf = (error: unknown): NonNullable<RunResult['violation']> => ({
  invariant: 'crash',
  problem: `crash: ${error instanceof Error ? String(error.stack) : String(error)}`,
})
