/** Passes each observation of a run to every check, and keeps the first violation and the counted situations. */
import type { VirtualTime } from '../../src/runtime/index.ts'
import type { Backend, StorageCall } from '../../src/storage/index.ts'
import { CHECKS } from './invariants/index.ts'
import { Violation, type InvariantCheck, type LogLine } from './invariants/invariant.ts'
import type { Plan } from './plan.ts'
import type { Exchange } from './pool.ts'

export interface CheckerDeps {
  readonly plan: Plan
  readonly time: VirtualTime
  readonly backend: () => Backend
}

export class Checker implements Required<InvariantCheck> {
  readonly #checks: readonly InvariantCheck[]
  readonly #counted = new Map<string, number>()
  #violation: Violation | null = null

  constructor(deps: CheckerDeps) {
    const all = {
      ...deps,
      count: (situation: string) => this.count(situation),
      fail: (...violation: ConstructorParameters<typeof Violation>) => {
        this.#violation ??= new Violation(...violation)
      },
    }
    this.#checks = CHECKS.map((create) => create(all))
  }

  get violation(): Violation | null {
    return this.#violation
  }

  /** How often each situation occurred, to see that runs reach it. */
  get counted(): ReadonlyMap<string, number> {
    return this.#counted
  }

  count(situation: string): void {
    this.#counted.set(situation, (this.#counted.get(situation) ?? 0) + 1)
  }

  async executed(call: StorageCall, result: unknown, nowMs: number): Promise<void> {
    for (const check of this.#checks) await check.executed?.(call, result, nowMs)
  }

  storeRestarted(): void {
    this.count('store restarted')
    for (const check of this.#checks) check.storeRestarted?.()
  }

  received(exchange: Exchange): void {
    for (const check of this.#checks) check.received?.(exchange)
  }

  logged(line: LogLine): void {
    for (const check of this.#checks) check.logged?.(line)
  }

  faultsEnded(): void {
    for (const check of this.#checks) check.faultsEnded?.()
  }

  async finish(): Promise<void> {
    for (const check of this.#checks) await check.finish?.()
  }
}
