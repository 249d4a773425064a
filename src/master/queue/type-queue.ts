/**
 * @module master/queue/type-queue
 * The tasks of one automation type as the rest of the master sees them: one lane for each change, the pump behind
 * them. Whatever makes a task ready wakes the pump after its commit.
 */
import type { CatalogEntry } from '../../automation/index.ts'
import type { Random } from '../../runtime/index.ts'
import type { Backend, Lease, LeaseLost, LeaseRef, Nack, NewTask, Submitted, Tasks } from '../../storage/index.ts'
import { allAnswered, Lane, RUN_ITEMS } from './lane.ts'
import { Pump, type PumpPorts } from './pump.ts'
import type { Ask } from './waiters.ts'

export type Settled = 'ok' | 'lease_lost'
export type Extended = { readonly until: number } | 'lease_lost'
export type Nacked = 'scheduled' | 'dead' | 'lease_lost'
type Selected = 'replayed' | 'removed' | 'not_dead'
/** A nack as the worker words it. */
export type NackAsk = Omit<Nack, 'u'>

export interface TypeQueuePorts extends Omit<PumpPorts, 'release'> {
  readonly backend: Backend
  readonly random: Random
  readonly idempotencyTtlMs: number
  readonly maxQueueLength: number
  /** A lease was shown under a token that the store has not issued. */
  readonly onRegression: (lease: LeaseRef) => void
}

export class TypeQueue {
  readonly entry: CatalogEntry
  readonly #tasks: Tasks
  readonly #random: Random
  readonly #pump: Pump
  readonly #submits: Lane<NewTask, Submitted>
  readonly #acks: Lane<LeaseRef, Settled>
  readonly #releases: Lane<LeaseRef, Settled>
  readonly #extends: Lane<LeaseRef, Extended>
  readonly #nacks: Lane<Nack, Nacked>

  constructor(entry: CatalogEntry, ports: TypeQueuePorts) {
    const { type, visibilityMs, retry } = entry
    const { tasks } = ports.backend
    this.entry = entry
    this.#tasks = tasks
    this.#random = ports.random
    this.#pump = new Pump(entry, { ...ports, release: (leases) => this.#giveBack(leases) })
    this.#submits = new Lane(
      (items) => tasks.submit(type, ports.idempotencyTtlMs, items, ports.maxQueueLength),
      ({ body }) => body.length,
    )
    const lost = lostOf(ports.onRegression)
    this.#acks = new Lane(async (leases) => lost(leases, await tasks.ack(type, leases)))
    this.#releases = new Lane(async (leases) => lost(leases, await tasks.release(type, leases)))
    this.#extends = new Lane(async (leases) =>
      lost(
        leases,
        await tasks.extend(
          type,
          leases.map((lease) => ({ ...lease, visibilityMs })),
        ),
      ),
    )
    this.#nacks = new Lane(async (items) => lost(items, await tasks.nack(type, retry, items)))
  }

  get waiting(): number {
    return this.#pump.waiting
  }

  /** One outcome per task; an Error for those whose call of the store failed. @throws FleetError STORAGE_OVERLOADED */
  async submit(tasks: readonly NewTask[]): Promise<readonly (Submitted | Error)[]> {
    const outcomes = await this.#submits.add(tasks)
    this.wake(
      count(outcomes, (outcome) => !(outcome instanceof Error) && outcome !== 'queue_full' && 'queued' in outcome),
    )
    return outcomes
  }

  reserve(ask: Ask): Promise<readonly Lease[]> {
    return this.#pump.reserve(ask)
  }

  async ack(leases: readonly LeaseRef[]): Promise<readonly Settled[]> {
    return allAnswered(await this.#acks.add(leases))
  }

  async release(leases: readonly LeaseRef[]): Promise<readonly Settled[]> {
    const outcomes = await this.#releases.add(leases)
    this.wake(count(outcomes, (outcome) => outcome === 'ok'))
    return allAnswered(outcomes)
  }

  async extend(leases: readonly LeaseRef[]): Promise<readonly Extended[]> {
    return allAnswered(await this.#extends.add(leases))
  }

  async nack(asks: readonly NackAsk[]): Promise<readonly Nacked[]> {
    const outcomes = await this.#nacks.add(asks.map((ask) => ({ ...ask, u: this.#random.unit() })))
    this.wake(count(outcomes, (outcome) => outcome === 'scheduled')) // The pump learns when the next retry is due.
    return allAnswered(outcomes)
  }

  /** Oldest death first, at most `n`. */
  async replay(n: number): Promise<number> {
    let replayed = 0
    while (replayed < n) {
      const asked = Math.min(RUN_ITEMS, n - replayed)
      const done = await this.#tasks.replay(this.entry.type, asked)
      replayed += done
      this.wake(done)
      if (done < asked) break
    }
    return replayed
  }

  /** Acts on these dead tasks and on no other; one outcome each, in order. */
  async select(action: 'replay' | 'remove', ids: readonly string[]): Promise<readonly Selected[]> {
    const outcomes: Selected[] = []
    for (let from = 0; from < ids.length; from += RUN_ITEMS) {
      const done = await this.#tasks.select(this.entry.type, action, ids.slice(from, from + RUN_ITEMS))
      this.wake(count(done, (outcome) => outcome === 'replayed'))
      outcomes.push(...done)
    }
    return outcomes
  }

  wake(tasks?: number): void {
    if (tasks !== 0) this.#pump.wake(tasks)
  }

  dismiss(worker: string): void {
    this.#pump.dismiss(worker)
  }

  close(): void {
    this.#pump.close()
  }

  /** Leases whose request is gone. Should this fail, their deadline brings them back. */
  async #giveBack(leases: readonly LeaseRef[]): Promise<void> {
    await this.release(leases.map(({ id, token }) => ({ id, token }))).catch(() => {})
  }
}

/** What the store answered as callers see it: a token that it has not issued is told to whom it concerns, and is a lost lease. */
function lostOf(onRegression: (lease: LeaseRef) => void) {
  return <Answer>(
    leases: readonly LeaseRef[],
    answers: readonly (Answer | LeaseLost)[],
  ): readonly (Answer | 'lease_lost')[] => {
    if (!answers.includes('not_issued')) return answers as readonly (Answer | 'lease_lost')[]
    return answers.map((answer, at) => {
      const lease = leases[at]
      if (answer !== 'not_issued') return answer
      if (lease !== undefined) onRegression(lease)
      return 'lease_lost'
    })
  }
}

function count<T>(items: readonly T[], matches: (item: T) => boolean): number {
  let found = 0
  for (const item of items) if (matches(item)) found += 1
  return found
}
