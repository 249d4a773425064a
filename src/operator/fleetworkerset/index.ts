/**
 * The FleetWorkerSet resource: its schema, and the reconcile that brings all workers of the set in line with it.
 *
 *   set + sources ──▶ revision ──labels of the workers──▶ members ──▶ plan ──▶ bulk calls, conditions ──▶ status
 *
 * reconcile.ts, config.ts, converge.ts, bulk.ts, enrolment.ts, history.ts, orphaned-rules.ts, release.ts and status.ts
 * have side effects. The other modules are pure, except for memory.ts, which has state.
 */
export * from './bounds.ts'
export * from './conditions.ts'
export type { SetDeps } from './context.ts'
export { configOfRevision, historyOfSet, revisionNameOf, revisionObjectName, type SetRevision } from './history.ts'
export { membersOf, type Member, type MemberFacts, type Members } from './members.ts'
export { SetMemory } from './memory.ts'
export { keepRulesClean } from './orphaned-rules.ts'
export { otherSetKeys } from './ownership.ts'
export { planOf, type Plan, type PlanFacts } from './plan.ts'
export { reconcileSet } from './reconcile.ts'
export * from './resource.ts'
export * from './revision.ts'
export * from './schema.ts'
