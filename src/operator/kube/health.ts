/**
 * @module operator/kube/health
 * Implements liveness and readiness, which are separate (D45). Alive: the operator's own loops make progress. A restart
 * fixes nothing else, so neither an unreachable peer nor a parked queue counts. Ready: everything was listed once. A
 * standby is ready.
 *
 * @see D45
 */
import type { Clock } from '../../runtime/index.ts'
import type { Controller } from './controller.ts'
import type { WatchLoop } from './watch-loop.ts'
import type { KubeObject } from './objects.ts'
import type { WorkQueue } from './work-queue.ts'

const MAX_RECONCILE_MS = 120_000
const MAX_WITHOUT_END_MS = 120_000
const MAX_WATCH_PAUSE_MS = 10 * 60_000

export interface HealthDeps<T extends KubeObject> {
  readonly clock: Clock
  readonly queue: WorkQueue
  readonly cache: { readonly isSynced: boolean }
  readonly watches: readonly Pick<WatchLoop<T>, 'activeMs'>[]
  /** The controller of the current term; `undefined` on a standby. */
  readonly controller: () => Pick<Controller, 'finishedMs'> | undefined
}

export class Health<T extends KubeObject> {
  readonly #deps: HealthDeps<T>

  constructor(deps: HealthDeps<T>) {
    this.#deps = deps
  }

  /** @returns the stuck components, without names or addresses; empty if all are alive. */
  stuck(): readonly string[] {
    const { clock, watches } = this.#deps
    const nowMs = clock.monotonicMs()
    return [
      ...(watches.some(({ activeMs }) => nowMs - activeMs > MAX_WATCH_PAUSE_MS)
        ? ['a watch has neither read nor retried for 10 min']
        : []),
      ...this.#stuckWork(nowMs),
    ]
  }

  get isReady(): boolean {
    return this.#deps.cache.isSynced
  }

  #stuckWork(nowMs: number): readonly string[] {
    const { controller, queue } = this.#deps
    const { finishedMs } = controller() ?? {}
    if (finishedMs === undefined) return []
    if (queue.runningMs().some((ms) => ms > MAX_RECONCILE_MS)) return ['a reconcile has run for more than 120 s']
    if (queue.parked !== null || queue.depth === 0) return []
    const sinceMs = Math.max(finishedMs, queue.oldestDueMs ?? nowMs, queue.releasedMs)
    return nowMs - sinceMs > MAX_WITHOUT_END_MS ? ['keys have waited for 120 s and none was finished'] : []
  }
}
