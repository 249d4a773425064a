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

type ExecutedCheck = Required<Pick<InvariantCheck, 'executed'>>

export class Checker implements Required<InvariantCheck> {
  readonly #checks: readonly InvariantCheck[]
  /** Those that look at calls of the store. */
  readonly #executing: readonly ExecutedCheck[]
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
    this.#executing = this.#checks.filter((check) => check.executed !== undefined) as readonly ExecutedCheck[]
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
    for (const check of this.#checks) check.appended?.(events)
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
    for (const check of this.#checks) check.received?.(exchange)
  }

  served(served: Served): void {
    for (const check of this.#checks) check.served?.(served)
  }

  framed(frame: ReceivedFrame): void {
    for (const check of this.#checks) check.framed?.(frame)
  }

  ran(event: PluginEvent): void {
    for (const check of this.#checks) check.ran?.(event)
  }

  fed(reader: string, item: FeedItem): void {
    for (const check of this.#checks) check.fed?.(reader, item)
  }

  logged(line: LogLine): void {
    for (const check of this.#checks) check.logged?.(line)
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
}
