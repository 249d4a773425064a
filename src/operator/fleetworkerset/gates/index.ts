/**
 * The gates of a staged rollout: they compare the updated workers with those on the current revision. Pure.
 *
 *   tally of a revision ──snapshotOf──▶ status ──windowBetween──▶ judgeGates ──▶ results, stageVerdict
 */
export { judgeGates, runsIn, stageVerdict, type Cohort, type GateFacts, type Look } from './judge.ts'
export { gatesFaults } from './faults.ts'
export * from './schema.ts'
export { countersOf, isSnapshotFor, snapshotOf, windowBetween, type Counters } from './window.ts'
