/** Passes each observation of a run to every check, and keeps the first violation and the counted situations. */
import type { FeedItem } from '../../src/client/index.ts'
import type { LoggedEvent, StorageCall } from '../../src/storage/index.ts'
import { CHECKS } from './invariants/index.ts'
import {
  Violation,
  type CheckDeps,
  type InvariantCheck,
  type LogLine,
  type OperatorWrite,
  type PluginEvent,
  type ReceivedFrame,
} from './invariants/invariant.ts'
import type { Situation } from './must-happen.ts'
import type { Fault } from './plan.ts'
import type { Exchange, Served } from './pool.ts'

type Observation = keyof InvariantCheck
/** Checks that declare this observation. */
type Observing<K extends Observation> = readonly Required<Pick<InvariantCheck, K>>[]

export class Checker implements Required<InvariantCheck> {
  readonly #checks: readonly InvariantCheck[]
  /** For the frequent observations, because most checks declare few of them. */
  readonly #executing: Observing<'executed'>
  readonly #appending: Observing<'appended'>
  readonly #receiving: Observing<'received'>
  readonly #serving: Observing<'served'>
  readonly #framing: Observing<'framed'>
  readonly #running: Observing<'ran'>
  readonly #feeding: Observing<'fed'>
  readonly #logging: Observing<'logged'>
  readonly #counted = new Map<Situation, number>()
  #violation: Violation | null = null
  /** While the store executes its log again, nothing is new. */
  #isReplaying = false

  constructor(deps: Omit<CheckDeps, 'count' | 'fail'>) {
    const all: CheckDeps = {
      ...deps,
      count: (situation) => this.count(situation),
      fail: (...violation) => {
        if (!this.#isReplaying) this.#violation ??= new Violation(...violation)
      },
    }
    this.#checks = CHECKS.map((create) => create(all))
    this.#executing = this.#observing('executed')
    this.#appending = this.#observing('appended')
    this.#receiving = this.#observing('received')
    this.#serving = this.#observing('served')
    this.#framing = this.#observing('framed')
    this.#running = this.#observing('ran')
    this.#feeding = this.#observing('fed')
    this.#logging = this.#observing('logged')
  }

  get violation(): Violation | null {
    return this.#violation
  }

  /** How often each situation occurred, to see that runs reach it. */
  get counted(): ReadonlyMap<Situation, number> {
    return this.#counted
  }

  count(situation: Situation): void {
    if (!this.#isReplaying) this.#counted.set(situation, (this.#counted.get(situation) ?? 0) + 1)
  }

  async executed(call: StorageCall, result: unknown, nowMs: number): Promise<void> {
    for (const check of this.#executing) {
      const checked = check.executed(call, result, nowMs)
      if (checked !== undefined) await checked
    }
  }

  appended(events: readonly LoggedEvent[]): void {
    for (const check of this.#appending) check.appended(events)
  }

  storeLost(): void {
    this.#isReplaying = true
    for (const check of this.#checks) check.storeLost?.()
  }

  storeKept(): void {
    this.#isReplaying = false
    for (const check of this.#checks) check.storeKept?.()
  }

  received(exchange: Exchange): void {
    for (const check of this.#receiving) check.received(exchange)
  }

  served(served: Served): void {
    for (const check of this.#serving) check.served(served)
  }

  framed(frame: ReceivedFrame): void {
    for (const check of this.#framing) check.framed(frame)
  }

  ran(event: PluginEvent): void {
    for (const check of this.#running) check.ran(event)
  }

  fed(reader: string, item: FeedItem): void {
    for (const check of this.#feeding) check.fed(reader, item)
  }

  logged(line: LogLine): void {
    for (const check of this.#logging) check.logged(line)
  }

  injected(fault: Fault): void {
    for (const check of this.#checks) check.injected?.(fault)
  }

  async second(): Promise<void> {
    for (const check of this.#checks) await check.second?.()
  }

  operatorWrites(write: OperatorWrite): void {
    for (const check of this.#checks) check.operatorWrites?.(write)
  }

  faultsEnded(): void {
    for (const check of this.#checks) check.faultsEnded?.()
  }

  async finish(): Promise<void> {
    for (const check of this.#checks) await check.finish?.()
  }

  #observing<K extends Observation>(observation: K): Observing<K> {
    return this.#checks.filter((check) => check[observation] !== undefined) as unknown as Observing<K>
  }
}
