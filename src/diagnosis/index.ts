/**
 * Finds what needs attention, and explains why a queue or a worker makes no progress, as sentences with what fixes each
 * cause. The dashboard, `muster why` and the alerts of a master show the same ones. Pure functions over records of the
 * API.
 */
export { coversProblem, keyOf, splitAcknowledged, type Acknowledged } from './acknowledged.ts'
export type { Cause, Fix, WorkersFilter } from './cause.ts'
export { departureText } from './departure-text.ts'
export { ErrorPatience } from './error-patience.ts'
export { explainQueue } from './explain-queue.ts'
export { explainNotApplied, explainWorker } from './explain-worker.ts'
export { explainWorkers } from './explain-workers.ts'
export { findFailingRuns } from './failing-problem.ts'
export {
  findProblems,
  PROBLEM_RANK,
  refusesConfig,
  type FleetFacts,
  type Problem,
  type ProblemKind,
} from './problems.ts'
export { deadTypes, ratedTypes, withRates, type DeadGroupsByType, type RunsByType } from './rates.ts'
export { standingOf, type Standing } from './rollout-standing.ts'
export type { WorkerFacts } from './worker-facts.ts'
