/**
 * The API for plugin authors, published as `muster/automation`: defining automations, outcomes, and the types of the
 * context.
 */
export { Type, type Static } from 'typebox'
export type {
  BatchContext,
  Context,
  Lock,
  Metrics,
  Pool,
  PoolLease,
  SlotLog,
  StopReason,
  TaskHandle,
} from './context.ts'
export {
  defineBatch,
  defineContinuous,
  type Automation,
  type BatchAutomation,
  type ContinuousAutomation,
} from './define.ts'
export { AutomationError, LeaseLost, Permanent, RetryIn, SlotStopped } from './errors.ts'
