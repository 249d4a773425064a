/** The test harness for authors, published as `muster/automation/testing`. */
export { runBatch } from './batch.ts'
export { runContinuous } from './continuous.ts'
export { RunError, type Excusable, type Fault } from './errors.ts'
export type {
  Attempt,
  BatchHandle,
  BatchOptions,
  BatchRun,
  Call,
  CallName,
  ConfigPatch,
  ContinuousAttempt,
  ContinuousOptions,
  ContinuousRun,
  Handle,
  LogLine,
  PoolItemState,
  TaskSeed,
} from './options.ts'
