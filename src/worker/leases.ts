/**
 * @module worker/leases
 * Tracks every lease of this worker, from the response of a reserve until its outcome is queued. Extends all leases in
 * one call at each third of the visibility timeout (D25), so that two consecutive calls may fail before a lease
 * expires. The progress of runs is sent by extends of its own (progress-reports.ts).
 *
 * Only the master ends a lease early, with `lease_lost`; the worker's own clock never does. While the master is
 * unavailable, no other worker can receive the task, and the fencing token rejects a late outcome (D24).
 */
import { LeaseLost, type AppliedConfig } from '../automation/index.ts'
import {
  MAX_SETTLE_ITEMS,
  type ReservedTask,
  type RpcMethod,
  type RpcParams,
  type RpcResult,
} from '../protocol/index.ts'
import type { Cancel, Log, Timers } from '../runtime/index.ts'
import { HeldLease, type LeaseHolder, type NackOptions, type Settlement } from './lease.ts'
import type { MasterFeatures } from './master-features.ts'
import { ProgressReports, type Reports } from './progress-reports.ts'
import type { RpcOptions } from './rpc-client.ts'

const MAX_CALL_MS = 15_000
/** Leases in one call with progress: 512 KiB, half of the maximum body. */
const MAX_PROGRESS_ITEMS = 512

export interface CallRpc {
  call<M extends RpcMethod>(method: M, params: RpcParams<M>, options?: RpcOptions): Promise<RpcResult<M>>
}

export interface LeasesDeps {
  readonly timers: Timers
  readonly log: Log
  readonly rpc: CallRpc
  readonly features: Pick<MasterFeatures, 'drop' | 'has'>
  readonly visibilityMs: number
  readonly outcomes: { add(outcome: Settlement): void }
}

export class Leases implements LeaseHolder {
  readonly #deps: LeasesDeps
  readonly #held = new Map<number, HeldLease>()
  readonly #everyMs: number
  readonly #progress: ProgressReports
  #cancel: Cancel | undefined

  constructor(deps: LeasesDeps) {
    this.#deps = deps
    this.#everyMs = deps.visibilityMs / 3
    this.#progress = new ProgressReports({
      ...deps,
      send: (reports) => this.#extendWithProgress(reports),
      isHeld: ({ token }) => this.#held.has(token),
    })
  }

  get size(): number {
    return this.#held.size
  }

  start(): void {
    this.#schedule(this.#everyMs)
  }

  stop(): void {
    this.#cancel?.()
  }

  hold(task: ReservedTask, config: AppliedConfig): HeldLease {
    const lease = new HeldLease(task, config, this)
    this.#held.set(lease.token, lease)
    return lease
  }

  settle(lease: HeldLease, outcome: Settlement): void {
    this.#held.delete(lease.token)
    if (outcome.method === 'tasks.ack') this.#progress.forget(lease)
    else this.#progress.flush(lease)
    this.#deps.outcomes.add(outcome)
  }

  async extend(lease: HeldLease): Promise<void> {
    if (this.#held.has(lease.token)) await this.#extendMany([lease])
    if (lease.isLost) throw new LeaseLost(`the lease of task ${lease.id} was lost; another worker may have the task`)
  }

  report(lease: HeldLease, text: string): void {
    this.#progress.add(lease, text)
  }

  /** Releases all remaining leases, before the process ends. */
  releaseAll(): void {
    for (const lease of this.#held.values()) lease.release()
  }

  /** Ends a lease whose task was cancelled. Does nothing for a lease that has an outcome, or has not arrived yet. */
  cancelled(taskId: string, token: number): void {
    const lease = this.#held.get(token)
    if (lease?.id !== taskId) return
    this.#held.delete(token)
    this.#progress.forget(lease)
    this.#deps.log.info('the task was cancelled, ending its run', { task_id: taskId })
    lease.end()
  }

  /** Nacks every lease of the task `taskId`. Does nothing without such a lease. */
  fail(taskId: string, error: string, settle: NackOptions): void {
    for (const lease of this.#held.values()) if (lease.id === taskId) lease.nack(error, settle)
  }

  #schedule(ms: number): void {
    this.#cancel = this.#deps.timers.after(ms, () => {
      this.#schedule(this.#everyMs)
      void this.#extendAll()
    })
  }

  async #extendAll(): Promise<void> {
    const held = [...this.#held.values()]
    const parts = Array.from({ length: Math.ceil(held.length / MAX_SETTLE_ITEMS) }, (_, index) =>
      held.slice(index * MAX_SETTLE_ITEMS, (index + 1) * MAX_SETTLE_ITEMS),
    )
    try {
      await Promise.all(parts.map((part) => this.#extendMany(part)))
    } catch (error) {
      this.#deps.log.warn('failed to extend leases, retrying', {
        leases: held.length,
        error: (error as Error).message,
      })
      this.#cancel?.()
      this.#schedule(this.#everyMs / 3)
    }
  }

  async #extendWithProgress(reports: Reports): Promise<void> {
    const leases = [...reports.keys()]
    for (let from = 0; from < leases.length; from += MAX_PROGRESS_ITEMS)
      await this.#extendMany(leases.slice(from, from + MAX_PROGRESS_ITEMS), reports)
  }

  async #extendMany(leases: readonly HeldLease[], reports?: Reports): Promise<void> {
    const tasks = leases.map((lease) => itemOf(lease, reports?.get(lease)))
    const { results } = await this.#deps.rpc.call(
      'tasks.extend',
      { tasks },
      { timeoutMs: Math.min(MAX_CALL_MS, this.#everyMs) },
    )
    for (const [index, lease] of leases.entries()) {
      if (results[index]?.ok === false) this.#end(lease)
    }
  }

  #end(lease: HeldLease): void {
    if (!this.#held.delete(lease.token)) return // Its outcome was reported during the call.
    this.#progress.forget(lease)
    this.#deps.log.warn('lease lost: the task may have been given to another worker', { task_id: lease.id })
    lease.end()
  }
}

type ExtendItem = RpcParams<'tasks.extend'>['tasks'][number]

function itemOf({ id, token }: HeldLease, progress: string | undefined): ExtendItem {
  const item = { task_id: id, token }
  return progress === undefined ? item : { ...item, progress: JSON.parse(progress) as unknown }
}
