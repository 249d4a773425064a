/** Runs a plan: starts the actors, injects the faults, and ends with a calm phase. */
import { startAdmins } from './actors/admins.ts'
import { startMasters } from './actors/masters.ts'
import { startProducers } from './actors/producers.ts'
import { startReaders } from './actors/readers.ts'
import { startTaskControl } from './actors/task-control.ts'
import { startWorkers } from './actors/workers.ts'
import { Environment, type StartActor } from './environment.ts'
import { healAll, inject } from './faults.ts'
import { startGitOps } from './operator/git-ops.ts'
import { startOperators } from './operator/operators.ts'
import type { Plan } from './plan.ts'

/** In the order of their start. */
const ACTORS: readonly StartActor[] = [
  startMasters,
  startWorkers,
  startProducers,
  startAdmins,
  startReaders,
  startTaskControl,
  startOperators,
  startGitOps,
]

/** A violation ends the run within this time. Checks look at the state of the fleet this often. */
const STEP_MS = 1_000

export interface RunOptions {
  /** Called with each line of the trace. */
  readonly trace?: ((line: string) => void) | undefined
}

export interface RunResult {
  readonly plan: Plan
  /** What was violated, with its invariant in front; null after a correct run. */
  readonly violation: { readonly invariant: string; readonly problem: string } | null
  /** A hash of everything that happened, equal for equal plans. */
  readonly hash: number
  readonly events: number
  readonly counted: Readonly<Record<string, number>>
}

/** Runs a plan. The process must do nothing else meanwhile. */
export async function runPlan(plan: Plan, { trace }: RunOptions = {}): Promise<RunResult> {
  const environment = new Environment(plan, trace)
  try {
    await run(environment)
  } finally {
    // So that no promise of this run continues.
    for (const { process } of environment.managed.values()) process.kill()
  }
  const { violation, counted } = environment.checker
  return {
    plan,
    violation: violation && { invariant: violation.invariant, problem: violation.message },
    hash: environment.hash,
    events: environment.events,
    counted: Object.fromEntries(counted),
  }
}

async function run(environment: Environment): Promise<void> {
  const { plan, store, time, checker } = environment
  await store.start()
  for (const startActor of ACTORS) startActor(environment)
  for (const fault of plan.faults) time.after(fault.atMs, () => inject(environment, fault))
  await advance(environment, plan.faultsMs)
  healAll(environment)
  environment.note('world', 'faults end')
  checker.faultsEnded()
  await advance(environment, plan.calmMs)
  if (checker.violation === null) await checker.finish()
}

/** Advances the time, but ends early after a violation. */
async function advance({ time, checker }: Environment, ms: number): Promise<void> {
  for (let passedMs = 0; passedMs < ms && checker.violation === null; passedMs += STEP_MS) {
    await time.advance(Math.min(STEP_MS, ms - passedMs))
    await checker.second()
  }
}
