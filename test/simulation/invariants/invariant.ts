/**
 * Defines what a check of invariants sees of a run, and how it reports. Each file of this folder implements
 * `InvariantCheck` for one concern; a check declares only the observations that it needs.
 */
import type { Log, LogFields, LogLevel, VirtualTime } from '../../../src/runtime/index.ts'
import type { Backend, StorageCall } from '../../../src/storage/index.ts'
import type { Plan } from '../plan.ts'
import type { Exchange } from '../pool.ts'

type Safety = `I${1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14 | 15 | 16 | 17}`
type Liveness = `V${1 | 2 | 3}`
export type Invariant = Safety | Liveness

export class Violation extends Error {
  readonly invariant: Invariant

  constructor(invariant: Invariant, problem: string) {
    super(`${invariant}: ${problem}`)
    this.invariant = invariant
  }
}

/** What a check may use, beside its observations. */
export interface CheckDeps {
  readonly plan: Plan
  readonly time: VirtualTime
  /** The store, to compare it with a model. */
  backend(): Backend
  /** Counts a situation, by the name that `must-happen.ts` lists or by a name for readers of the result. */
  count(situation: string): void
  /** Reports a violation. The first one ends the run. */
  fail(invariant: Invariant, problem: string): void
}

/** One message of the log of a process. */
export interface LogLine {
  readonly process: string
  readonly level: LogLevel
  readonly message: Parameters<Log['info']>[0]
  readonly fields: LogFields
}

/** The observations of a run, in the order in which they happen. */
export interface InvariantCheck {
  /** The store has executed a call. Its result has not left the store yet. */
  executed?(call: StorageCall, result: unknown, nowMs: number): Promise<void> | void
  /** The store lost everything and began a new epoch. */
  storeRestarted?(): void
  /** A client has received a whole response. Its code has not continued yet. */
  received?(exchange: Exchange): void
  /** A process wrote a message to its log. */
  logged?(line: LogLine): void
  /** Faults end; the calm phase begins. */
  faultsEnded?(): void
  /** The run is over and has no violation. */
  finish?(): Promise<void> | void
}

export type CreateCheck = (deps: CheckDeps) => InvariantCheck
