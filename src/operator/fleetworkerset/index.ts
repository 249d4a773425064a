/**
 * The FleetWorkerSet resource: its schema, and the reconcile that brings all workers of the set in line with it.
 *
 *   set + sources ──▶ revision ──labels of the workers──▶ members ──▶ goals ──▶ plan ──▶ bulk calls ──▶ status
 *                                                                      ▲
 *                     status + gates ──▶ stage-machine ──▶ status ─────┘
 *
 * reconcile.ts, config.ts, converge.ts, rollout.ts, counters.ts, bulk.ts, enrolment.ts, history.ts, orphaned-rules.ts,
 * release.ts, status.ts and rollout-reports.ts have side effects. The other modules are pure, except for memory.ts and
 * source-versions.ts, which have state.
 */
export * from './acts.ts'
export * from './bounds.ts'
export * from './conditions.ts'
export type { SetDeps } from './context.ts'
export { assignGoals } from './goals.ts'
export { configOfRevision, historyOfSet, revisionNameOf, revisionObjectName, type SetRevision } from './history.ts'
export { membersOf, type Member, type MemberFacts, type Members } from './members.ts'
export { SetMemory } from './memory.ts'
export { keepRulesClean } from './orphaned-rules.ts'
export { otherSetKeys } from './ownership.ts'
export { planOf, type Plan, type PlanFacts } from './plan.ts'
export { reconcileSet } from './reconcile.ts'
export * from './resource.ts'
export * from './revision.ts'
export { RolloutReports } from './rollout-reports.ts'
export * from './rollout-schema.ts'
export * from './schema.ts'
export { inOrder, rankOf, stageAfter } from './stages.ts'
