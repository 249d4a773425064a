/**
 * @module operator/fleetworkerset/scale/workers
 * Decides from the record of a worker whether its process can end without interrupting a task. Pure. A cordoned worker
 * is idle if one of these is true:
 *
 *   - its newest statistics are of the generation that its config has at the master, and show no slot and no task
 *   - its process has ended in an orderly way, or it has been offline for 45 s
 *   - its config has not changed for `scaleInTimeoutSeconds`, so it has been cordoned for at least as long
 *
 * The generation matters: after two cordons in short succession the newest statistics may be from before the second,
 * and a task that was taken between them would be missed.
 */
import type { WorkerRow } from '../../fleet/index.ts'
import { ONLINE_MS } from '../plan.ts'
import { labelOf } from '../revision.ts'
import type { PodWorker } from './plan.ts'

const SECONDS = 1_000

export interface WorkerContext {
  /** By the master's clock. */
  readonly nowMs: number
  /** 0: no limit. */
  readonly timeoutMs: number
  /** The claim of the set. */
  readonly claim: string
  /** The variant of a worker while it is cordoned. */
  readonly cordonOf: (workerId: string) => string
}

export function podWorkerOf({ record }: WorkerRow, context: WorkerContext): PodWorker {
  const isCordoned = labelOf(record.config_revision)?.variant === context.cordonOf(record.worker_id)
  return {
    isConnected: record.connected,
    isCordoned,
    isOwn: record.managed_by === null || record.managed_by === context.claim,
    tasksHeld: record.tasks_held ?? null,
    isIdle: isCordoned && (isProven(record) || isOver(record, context) || isTimedOut(record, context)),
  }
}

function isProven({
  applied_config_gen: applied,
  config_gen: gen,
  current_stats: stats,
  tasks_held: held,
}: Row): boolean {
  return applied === gen && stats?.config_gen === gen && stats.slots === 0 && held === 0
}

const isOver = ({ connected, ended, last_seen: lastSeen }: Row, { nowMs }: WorkerContext): boolean =>
  !connected && (ended === true || nowMs - lastSeen * SECONDS >= ONLINE_MS)

const isTimedOut = ({ config_changed_at: changedAt }: Row, { nowMs, timeoutMs }: WorkerContext): boolean =>
  timeoutMs > 0 && changedAt !== null && nowMs - changedAt * SECONDS >= timeoutMs

type Row = WorkerRow['record']
