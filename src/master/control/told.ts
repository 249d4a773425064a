/**
 * @module master/control/told
 * What the event log was told of a worker's state, beside what its record says by now. Only a difference becomes an
 * event: a frame that repeats itself is none, nor is the first one after a reconnect that changed nothing.
 *
 * A worker that keeps changing its mind is told ten times at once and then once a second, the newest only, so that it
 * cannot push everybody else's events out of the log.
 */
import type { WorkerState } from '../../protocol/index.ts'
import type { Clock, Timers } from '../../runtime/index.ts'
import type { Reported } from '../../storage/index.ts'
import type { Announce } from '../registry/index.ts'
import type { Connection } from './connection.ts'

const EVERY_MS = 1_000
const AT_ONCE = 10

export interface ToldDeps {
  readonly clock: Clock
  readonly timers: Timers
  readonly announce: Announce
}

export class Told {
  readonly #deps: ToldDeps
  /** Those with a difference that waits for its time. */
  readonly #waiting = new Set<Connection>()
  #isArmed = false

  constructor(deps: ToldDeps) {
    this.#deps = deps
  }

  /** The record says this from now on. */
  reports(connection: Connection, reported: Reported): void {
    connection.reported = reported
    if (isSame(connection.told, reported)) return void this.#waiting.delete(connection)
    if (connection.tellableAtMs > this.#deps.clock.monotonicMs()) return this.#wait(connection)
    this.#tell(connection)
  }

  /** Somebody else has told this state. */
  knows(connection: Connection, state: WorkerState): void {
    connection.told = { ...connection.told, state }
    connection.reported = { ...connection.reported, state }
  }

  /** Tells what waits: the connection ends. */
  flush(connection: Connection): void {
    if (this.#waiting.has(connection)) this.#tell(connection)
  }

  /** The connection speaks for its worker no more. */
  forget(connection: Connection): void {
    this.#waiting.delete(connection)
  }

  #wait(connection: Connection): void {
    this.#waiting.add(connection)
    if (this.#isArmed) return
    this.#isArmed = true
    this.#deps.timers.after(EVERY_MS, () => {
      this.#isArmed = false
      for (const each of this.#waiting) this.reports(each, each.reported)
    })
  }

  #tell(connection: Connection): void {
    const { ref, told, reported } = connection
    const nowMs = this.#deps.clock.monotonicMs()
    this.#waiting.delete(connection)
    connection.told = reported
    connection.tellableAtMs = Math.max(connection.tellableAtMs, nowMs - (AT_ONCE - 1) * EVERY_MS) + EVERY_MS
    const { state, lastError, appliedGen } = reported
    if (state !== told.state || lastError !== told.lastError)
      this.#deps.announce('worker.state', ref, { state, last_error: lastError })
    if (appliedGen !== told.appliedGen)
      this.#deps.announce('worker.config_applied', ref, { applied_config_gen: appliedGen })
  }
}

function isSame(one: Reported, other: Reported): boolean {
  return one.state === other.state && one.lastError === other.lastError && one.appliedGen === other.appliedGen
}
