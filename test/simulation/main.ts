/**
 * Runs simulations: `node test/simulation/main.ts [--seed N] [--seeds COUNT] [--base N] [--plan FILE] [--twice COUNT]`.
 *
 *   --seed N       one seed, with its trace on stderr
 *   --plan FILE    one plan, with its trace on stderr
 *   --seeds COUNT  seeds from --base on (0 by default), until the first violation
 *   --twice COUNT  the first COUNT of them run twice, and must give the same hash
 *
 * Prints one line of JSON. Exit codes: 0 correct, 1 a violation, 2 not deterministic.
 */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { drawPlan, type Plan } from './plan.ts'
import { forbidRealTime } from './real-time.ts'
import { runPlan, type RunResult } from './world.ts'

/** The result of a search, as it is printed. */
export interface SearchResult {
  readonly seeds: number
  readonly events: number
  readonly cpuMsPerSeed: number
  readonly counted: Readonly<Record<string, number>>
  readonly violation: RunResult['violation']
  /** The plan of the violation. */
  readonly plan: Plan | null
  /** The seed whose two runs differed. */
  readonly differing: number | null
  /** Kinds of resources that a run left behind. */
  readonly leftOpen: readonly string[]
}

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string', default: '1' },
    base: { type: 'string', default: '0' },
    plan: { type: 'string' },
    twice: { type: 'string', default: '0' },
  },
})

const plans = function* (): Generator<Plan> {
  if (values.plan !== undefined) return yield JSON.parse(readFileSync(values.plan, 'utf8')) as Plan
  if (values.seed !== undefined) return yield drawPlan(Number(values.seed))
  for (let at = 0; at < Number(values.seeds); at += 1) yield drawPlan(Number(values.base) + at)
}

const isSingle = values.plan !== undefined || values.seed !== undefined
const trace = isSingle ? (line: string): void => void process.stderr.write(`${line}\n`) : undefined
const counted: Record<string, number> = {}
const before = new Set(process.getActiveResourcesInfo())
const restore = forbidRealTime()
const startedCpu = process.cpuUsage()
let [seeds, runs, events] = [0, 0, 0]
let violated: RunResult | null = null
let differing: number | null = null
for (const plan of plans()) {
  const result = await runPlan(plan, { trace })
  seeds += 1
  runs += 1
  events += result.events
  for (const [what, count] of Object.entries(result.counted)) counted[what] = (counted[what] ?? 0) + count
  if (result.violation !== null) violated = result
  if (seeds <= Number(values.twice)) {
    const again = await runPlan(plan)
    runs += 1
    if (again.hash !== result.hash) differing = plan.seed
  }
  if (violated !== null || differing !== null) break
}
const { user, system } = process.cpuUsage(startedCpu)
restore()
const search: SearchResult = {
  seeds,
  events,
  cpuMsPerSeed: Math.round((user + system) / 1_000 / runs),
  counted,
  violation: violated?.violation ?? null,
  plan: violated?.plan ?? null,
  differing,
  leftOpen: process.getActiveResourcesInfo().filter((kind) => !before.has(kind)),
}
process.stdout.write(`${JSON.stringify(search)}\n`)
if (violated !== null) process.exitCode = 1
else if (differing !== null) process.exitCode = 2
