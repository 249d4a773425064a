/**
 * @module automation/testing/tasks
 * Simulates the queue of one run in the memory backend: submits, reserves, extends, settles and sweeps tasks as master
 * and worker do, and records every delivery for the result.
 * @see D24, D25, D26
 */
import {
  DEFAULT_IDEMPOTENCY_TTL_SECONDS,
  DEFAULT_MAX_LOST_LEASES,
  MAX_N,
  SWEEP_EVERY_MS,
  toMs,
  toSeconds,
} from '../../protocol/index.ts'
import { Signal, type Cancel, type Random, type Time } from '../../runtime/index.ts'
import type { Backend, Lease, LeaseLost as Lost } from '../../storage/index.ts'
import { LeaseLost, type AppliedConfig, type CatalogEntry, type TaskLease, type TaskSource } from '../index.ts'
import type { WorkerConfig } from './config.ts'
import type { Faults } from './errors.ts'
import { LocalLease, type Settle } from './lease.ts'
import type { Link } from './link.ts'
import type { Attempt } from './options.ts'
import { only } from './primitives.ts'
import { newTasks } from './task-seeds.ts'

const SWEEP_ITEMS = 500

export interface TasksDeps {
  readonly entry: CatalogEntry
  readonly backend: Backend
  readonly config: WorkerConfig
  readonly workerId: string
  readonly time: Time
  readonly random: Random
  readonly link: Link
  readonly faults: Faults
  /** Called after a change that may end the run. */
  readonly onChange: () => void
}

export class LocalTasks {
  readonly attempts: Attempt[] = []
  readonly acked: string[] = []
  readonly #deps: TasksDeps
  readonly #ids = new Set<string>()
  /** IDs of the tasks that are neither acked nor dead. */
  readonly #open = new Set<string>()
  readonly #held = new Map<string, LocalLease>()
  readonly #change: Signal
  #settling = 0
  #cancelDue: Cancel | undefined

  constructor(deps: TasksDeps) {
    this.#deps = deps
    this.#change = new Signal(deps.time)
    deps.time.every(SWEEP_EVERY_MS, () => void this.#sweep())
  }

  get areDone(): boolean {
    return this.#open.size === 0
  }

  /** Whether every outcome is delivered. */
  get areSettled(): boolean {
    return this.#settling === 0
  }

  get left(): readonly string[] {
    return [...this.#open]
  }

  /** Submits tasks. @throws {RunError} naming every invalid field; nothing is submitted then. */
  async submit(seeds: readonly unknown[]): Promise<void> {
    const { backend, entry, faults, time } = this.#deps
    const { tasks, problems } = newTasks(seeds, entry, this.#ids, time.wallMs())
    if (problems.length > 0) throw faults.usage(...problems)
    for (const { id } of tasks) {
      this.#ids.add(id)
      this.#open.add(id)
    }
    for (let from = 0; from < tasks.length; from += SWEEP_ITEMS)
      await backend.tasks.submit(
        entry.type,
        toMs(DEFAULT_IDEMPOTENCY_TTL_SECONDS),
        tasks.slice(from, from + SWEEP_ITEMS),
      )
    this.#changed()
  }

  /** @returns the source from which one slot takes its tasks. */
  sourceOf(slotId: number): TaskSource {
    return { take: (stopping) => this.#take(slotId, stopping) }
  }

  /** Returns a running task to the queue, as after its visibility timeout. */
  async loseLease(id: string): Promise<void> {
    const { backend, entry, faults } = this.#deps
    const lease = this.#held.get(id)
    if (lease === undefined) throw faults.usage(`loseLease: no slot runs the task "${id}" at this moment`)
    await backend.tasks.release(entry.type, [{ id, token: lease.token }])
    lease.lose()
    this.#changed()
  }

  async dead(): Promise<readonly { readonly id: string; readonly error: string | null }[]> {
    const { items } = await this.#deps.backend.tasks.dead(this.#deps.entry.type, MAX_N)
    return items.map(({ id, lastError }) => ({ id, error: lastError }))
  }

  /** @returns one sentence per unfinished task: where it is. */
  async describeUnfinished(): Promise<readonly string[]> {
    const ids = this.left.slice(0, SWEEP_ITEMS)
    const places = await this.#deps.backend.tasks.locate(this.#deps.entry.type, ids)
    return ids.map((id, index) => {
      const held = this.#held.get(id)
      if (held !== undefined) return `"${id}" runs in slot ${held.slotId} since ${held.startSeconds} s`
      return `"${id}" is ${places[index] === 'in_flight' ? 'leased and in no slot' : (places[index] ?? 'gone')}`
    })
  }

  async #take(slotId: number, stopping: AbortSignal): Promise<TaskLease | null> {
    while (!stopping.aborted) {
      const taken = this.#deps.link.isUp ? await this.#reserve(slotId) : null
      if (taken !== null) return taken
      await this.#change.wait(stopping)
    }
    return null
  }

  async #reserve(slotId: number): Promise<LocalLease | null> {
    const { backend, config, entry, time, workerId } = this.#deps
    const { current, gen } = config
    const request = { worker: workerId, limit: 1, gen, defaultMaxAttempts: current.max_attempts }
    const { results, nextDueAtMs } = await backend.tasks.reserve(entry.type, entry.visibilityMs, [request])
    if (nextDueAtMs !== null) {
      this.#cancelDue?.()
      this.#cancelDue = time.after(nextDueAtMs - time.wallMs(), () => this.#changed())
    }
    const response = only(results)
    const [lease] = response.kind === 'refused' ? [] : response.leases
    return lease === undefined ? null : this.#hold(lease, current, slotId)
  }

  #hold(lease: Lease, config: AppliedConfig, slotId: number): LocalLease {
    const { entry, time } = this.#deps
    const held: LocalLease = new LocalLease(lease, config, slotId, toSeconds(time.monotonicMs()), {
      extend: () => this.#extend(held),
      report: (progress) => void this.#extend(held, progress).catch(() => {}), // As in a worker, an outage loses it.
      settle: (how) => void this.#settle(held, how),
    })
    this.#held.set(lease.id, held)
    const everyMs = entry.visibilityMs / 3
    const arm = (ms: number): void =>
      void time.after(ms, () => {
        if (held.isOver) return
        arm(this.#deps.link.isUp ? everyMs : everyMs / 3)
        this.#extend(held).catch(() => {}) // Retried. A lost lease aborts the run.
      })
    arm(everyMs)
    return held
  }

  async #extend(lease: LocalLease, progress?: string): Promise<void> {
    const { backend, entry, link } = this.#deps
    link.assertUp()
    if (!lease.isOver) {
      const result = only(
        await backend.tasks.extend(entry.type, [
          {
            id: lease.id,
            token: lease.token,
            visibilityMs: entry.visibilityMs,
            ...(progress !== undefined && { progress }),
          },
        ]),
      )
      if (result.kind !== 'extended' && !lease.isOver) this.#lost(lease)
    }
    if (lease.isLost) throw new LeaseLost(`the lease of task ${lease.id} has ended; another worker may have the task`)
  }

  #lost(lease: LocalLease): void {
    lease.lose()
    this.#changed()
  }

  /** Delivers the outcome as soon as the link is up. */
  async #settle(lease: LocalLease, how: Settle): Promise<void> {
    if (this.#held.get(lease.id) === lease) this.#held.delete(lease.id)
    this.#settling += 1
    const endSeconds = toSeconds(this.#deps.time.monotonicMs())
    await this.#deps.link.whenUp()
    const outcome = how === 'lost' ? 'lease_lost' : await this.#deliver(lease, how)
    const failed = how !== 'lost' && how.outcome === 'failed' ? how : null
    const { id: taskId, attempt, slotId, startSeconds } = lease
    this.attempts.push({
      taskId,
      attempt,
      slotId,
      startSeconds,
      endSeconds,
      outcome,
      error: failed?.error ?? null,
      retryInSeconds: failed === null || failed.retryInMs === null ? null : toSeconds(failed.retryInMs),
    })
    if (outcome === 'acked') this.acked.push(taskId)
    if (outcome === 'acked' || outcome === 'dead') this.#open.delete(taskId)
    this.#settling -= 1
    this.#changed()
  }

  async #deliver({ id, token }: LocalLease, how: Exclude<Settle, 'lost'>): Promise<Attempt['outcome']> {
    const {
      backend: { tasks },
      entry: { type, retry },
      random,
    } = this.#deps
    const ref = { id, token }
    if (how.outcome === 'failed') {
      const { error, retryInMs, permanent } = how
      const nacked = only(
        await tasks.nack(type, retry, [{ ...ref, error, retryInMs, permanent, jitter: random.unit() }]),
      )
      return isLost(nacked) ? 'lease_lost' : nacked
    }
    const replied = only(await (how.outcome === 'acked' ? tasks.ack(type, [ref]) : tasks.release(type, [ref])))
    return isLost(replied) ? 'lease_lost' : how.outcome
  }

  async #sweep(): Promise<void> {
    const { backend, entry } = this.#deps
    const { dead } = await backend.tasks.sweep(entry.type, DEFAULT_MAX_LOST_LEASES, SWEEP_ITEMS)
    if (dead > 0) for (const { id } of await this.dead()) this.#open.delete(id)
    this.#changed()
  }

  #changed(): void {
    this.#change.notify()
    this.#deps.onChange()
  }
}

const isLost = (response: unknown): response is Lost => response === 'lease_lost' || response === 'not_issued'
