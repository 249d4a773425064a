/**
 * Runs simulations: `node test/simulation/main.ts [OPTION…]`.
 *
 *   --seed N         one seed, decimal or hexadecimal (0x5f3a), with its trace on stderr
 *   --plan FILE      one plan, with its trace on stderr
 *   --seeds COUNT    seeds from --base on, until the first violation; progress on stderr
 *   --base N         the first seed; without it the commit decides
 *   --step N         every N-th seed
 *   --twice COUNT    the first COUNT seeds run twice, and must give the same hash
 *   --until NAME     ignore violations of other invariants than this one
 *   --processes N    share the seeds among N processes
 *   --shrink         shrink the plan of a violation, and write what remains to coverage/simulation/
 *   --gate COUNT     a search of so many seeds has to reach every situation of must-happen.ts; 10,000 by default
 *
 * Prints one line of JSON. With RECORD=1 a search is added to test/reliability.
 * Exit codes: 0 correct, 1 a violation, 2 not deterministic, 3 a situation was never reached.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { recordRun } from '../kit/record-run.ts'
import { GATE_SEEDS, MUST_HAPPEN, neverReached } from './must-happen.ts'
import { searchInParallel, type SearchMessage } from './parallel.ts'
import { drawPlan, type Plan } from './plan.ts'
import { search, type SearchResult } from './search.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    plan: { type: 'string' },
    seeds: { type: 'string', default: '1' },
    base: { type: 'string' },
    step: { type: 'string', default: '1' },
    twice: { type: 'string', default: '0' },
    until: { type: 'string' },
    processes: { type: 'string', default: '1' },
    shrink: { type: 'boolean', default: false },
    gate: { type: 'string', default: String(GATE_SEEDS) },
  },
})

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const FOUND = 'coverage/simulation'
const PROGRESS_MS = 10_000
const hex = (seed: number): string => `0x${seed.toString(16)}`
const print = (line: string): void => void process.stderr.write(`${line}\n`)

/** The commit as a number, so that each commit searches seeds of its own; 0 outside a repository. */
function baseOfCommit(): number {
  try {
    const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, encoding: 'utf8', stdio: 'pipe' })
    return Number.parseInt(commit.slice(0, 7), 16)
  } catch {
    return 0
  }
}

/** Prints how far a search is, at most every ten seconds. */
function progressOf(seeds: number): (done: number) => void {
  const now = performance.now.bind(performance)
  const startMs = now()
  let printedMs = startMs
  return (done) => {
    process.send?.({ kind: 'progress', seeds: done } satisfies SearchMessage)
    const nowMs = now()
    if (process.send !== undefined || nowMs - printedMs < PROGRESS_MS) return
    printedMs = nowMs
    const perSecond = done / ((nowMs - startMs) / 1_000)
    const etaSeconds = Math.round((seeds - done) / perSecond)
    print(`${done} of ${seeds} seeds, ${perSecond.toFixed(1)}/s, ETA ${etaSeconds} s`)
  }
}

/** Prints what repeats a violation, and writes the shrunk plan to a file. */
function report({ violation, plan, shrunk, neverReached: missing }: SearchResult): void {
  for (const situation of missing) print(`never reached: ${situation}`)
  if (violation === null || plan === null) return
  print(violation.problem)
  print(`make simulate SEED=${hex(plan.seed)}`)
  if (shrunk === null) return
  const file = `${FOUND}/${hex(plan.seed)}.json`
  mkdirSync(`${ROOT}/${FOUND}`, { recursive: true })
  writeFileSync(`${ROOT}/${file}`, `${JSON.stringify(shrunk.plan, null, 2)}\n`)
  const faults = `${shrunk.plan.faults.length} of ${plan.faults.length} faults`
  print(`make simulate PLAN=${file} # ${faults} remain after ${shrunk.runs} runs`)
}

async function runSingle(plan: Plan): Promise<SearchResult> {
  return search([plan], { twice: Number(values.twice), shouldShrink: values.shrink, trace: print })
}

async function runSearch(): Promise<SearchResult> {
  const [seeds, step] = [Number(values.seeds), Number(values.step)]
  const base = values.base === undefined ? baseOfCommit() : Number(values.base)
  const shared = {
    twice: Number(values.twice),
    shouldShrink: values.shrink,
    until: values.until,
    onSeed: progressOf(seeds),
  }
  if (process.send === undefined) print(`seeds ${hex(base)} to ${hex(base + seeds - 1)}`)
  const processes = Math.min(Number(values.processes), seeds)
  const plans = function* (): Generator<Plan> {
    for (let at = 0; at < seeds; at += 1) yield drawPlan(base + at * step)
  }
  const result =
    processes > 1 ? await searchInParallel({ base, seeds, processes, ...shared }) : await search(plans(), shared)
  return process.send === undefined ? recorded(base, gated(result)) : result
}

/** Names what a long search did not reach. */
const gated = (result: SearchResult): SearchResult =>
  result.seeds < Number(values.gate) ? result : { ...result, neverReached: neverReached(result.counted) }

function recorded(base: number, result: SearchResult): SearchResult {
  const { seeds, counted, cpuMsPerSeed, violation } = result
  const none = Object.fromEntries(Object.keys(MUST_HAPPEN).map((situation) => [situation, 0]))
  recordRun({
    layer: 'L2',
    command: `make simulate SEEDS=${seeds} BASE=${base}`,
    count: seeds,
    counted: 'simulated fleets with faults',
    seedBase: base,
    mustHappen: { ...none, ...counted },
    found: violation === null ? 0 : 1,
    figures: { 'CPU ms a seed': cpuMsPerSeed },
  })
  return result
}

async function run(): Promise<SearchResult> {
  if (values.plan !== undefined) return runSingle(JSON.parse(readFileSync(values.plan, 'utf8')) as Plan)
  if (values.seed !== undefined) return runSingle(drawPlan(Number(values.seed)))
  return runSearch()
}

if (process.send !== undefined) process.once('disconnect', () => process.exit()) // The parent process ended.
const result = await run()
if (process.send === undefined) {
  report(result)
  process.stdout.write(`${JSON.stringify(result)}\n`)
} else process.send({ kind: 'result', result } satisfies SearchMessage, () => process.disconnect())
if (result.violation !== null) process.exitCode = 1
else if (result.differing !== null) process.exitCode = 2
else if (result.neverReached.length > 0) process.exitCode = 3
