/**
 * A small controller runtime: list and watch, cache, work queue, status, lease, events. It works with any kind of
 * object.
 */
export { type Change, type IndexOf, type ObjectCache, WritableCache } from './cache.ts'
export { Controller } from './controller.ts'
export { isBehind, priorityOf } from './edits.ts'
export { type EventRecorder, type EventTarget, FoldingEventRecorder } from './events.ts'
export { Health } from './health.ts'
export { type Credentials, defaultIdentity, identityFromText, type KubeIdentity } from './identity.ts'
export { KubeError } from './kube-error.ts'
export { ALWAYS_LEADING, type Leadership, LeaseElector } from './leadership.ts'
export { createKubeMetrics, type KubeMetrics } from './metrics.ts'
export * from './objects.ts'
export { PRIORITY, type Priority } from './priority.ts'
export { sharing } from './sharing.ts'
export { ApplyStatusWriter, type StatusWriter } from './status-writer.ts'
export {
  type ClosableTransport,
  type KubeRequest,
  type KubeTransport,
  PooledTransport,
  type TransportDeps,
  type WatchLine,
} from './transport.ts'
export { type RestartReason, WatchLoop } from './watch-loop.ts'
export { type ReconcileOutcome, WorkQueue } from './work-queue.ts'
