/** Reports of rollouts: what the operator says about the rollout of a set, for readers of the master. */
export { overviewOfReports } from './heads.ts'
export { createRollouts } from './routes.ts'
