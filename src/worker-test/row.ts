/** @module worker-test/row  Defines one row of the conformance kit as data. */
import type { Trial } from './trial.ts'

type Area = 'connect' | 'config' | 'tasks' | 'ends' | 'output' | 'secrets' | 'tolerance' | 'logs'

export interface Row {
  /** `W01`, …: never given to another row. */
  readonly id: string
  readonly area: Area
  /** A worker that violates a `must` fails the kit. */
  readonly level: 'must' | 'should'
  /** What must hold, in one or two sentences. */
  readonly holds: string
  /** Typical duration, in seconds. Long rows are started first. */
  readonly seconds: number
  /** @throws {RowFailure} when it does not hold. */
  readonly check: (trial: Trial) => Promise<void>
}
