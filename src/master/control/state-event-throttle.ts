/**
 * @module master/control/state-event-throttle
 * Publishes changes of a worker's state to the event log. Only a difference to the last published state becomes an
 * event. A repeated frame publishes nothing, and neither does the first frame after a reconnect that changed nothing.
 *
 * A worker whose state flaps may publish a burst of 10 events, then one per second with the newest state (token
 * bucket). Otherwise it would push the events of other workers out of the log.
 *
 * After the event log lost events, the records that clients read may be those of a restored store, which the next
 * reports of the workers correct. So everything is published again with the next report of each connection.
 */
import type { WorkerState } from '../../protocol/index.ts'
import { TokenBucket, type Clock, type Timers } from '../../runtime/index.ts'
import type { RecordedStatus } from '../../storage/index.ts'
import type { Announce } from '../registry/index.ts'
import type { Connection } from './connection.ts'

const INTERVAL_MS = 1_000
const RATE = { capacity: 10, perSecond: 1 }

export interface StateEventThrottleDeps {
  readonly clock: Clock
  readonly timers: Timers
  readonly announce: Announce
}

export class StateEventThrottle {
  readonly #deps: StateEventThrottleDeps
  /** Connections whose newest state is not published yet because of the throttle. */
  readonly #waiting = new Set<Connection>()
  #isArmed = false
  /** How often the event log lost events. */
  #losses = 0

  constructor(deps: StateEventThrottleDeps) {
    this.#deps = deps
  }

  /** Records that the event log lost events. */
  eventsLost(): void {
    this.#losses += 1
  }

  /** Records that the store has registered this connection, and that this is published. */
  registered({ stateEvents }: Connection): void {
    stateEvents.losses = this.#losses
  }

  /** Records the state that was stored for the worker, and publishes it now or when the throttle permits. */
  update(connection: Connection, reported: RecordedStatus): void {
    const { stateEvents } = connection
    stateEvents.reported = reported
    const isCurrent = stateEvents.losses === this.#losses
    if (isCurrent && isSame(stateEvents.published, reported)) return void this.#waiting.delete(connection)
    if (this.#bucketOf(connection).waitMs() > 0) return this.#wait(connection)
    this.#publish(connection)
  }

  /** Records that another component has already published this state. */
  markPublished({ stateEvents }: Connection, state: WorkerState): void {
    stateEvents.published = { ...stateEvents.published, state }
    stateEvents.reported = { ...stateEvents.reported, state }
  }

  /** Publishes the newest state without waiting for the throttle. For a connection that ended. */
  flush(connection: Connection): void {
    if (this.#waiting.has(connection)) this.#publish(connection)
  }

  /** Discards what is not published: the connection no longer represents its worker. */
  forget(connection: Connection): void {
    this.#waiting.delete(connection)
  }

  #bucketOf({ stateEvents }: Connection): TokenBucket {
    stateEvents.bucket ??= new TokenBucket(this.#deps.clock, RATE)
    return stateEvents.bucket
  }

  #wait(connection: Connection): void {
    this.#waiting.add(connection)
    if (this.#isArmed) return
    this.#isArmed = true
    this.#deps.timers.after(INTERVAL_MS, () => {
      this.#isArmed = false
      for (const each of this.#waiting) this.update(each, each.stateEvents.reported)
    })
  }

  #publish(connection: Connection): void {
    const { ref, stateEvents } = connection
    const { published, reported } = stateEvents
    this.#waiting.delete(connection)
    stateEvents.published = reported
    this.#bucketOf(connection).spend(1)
    const isBehind = stateEvents.losses !== this.#losses
    stateEvents.losses = this.#losses
    const { state, lastError, appliedGen } = reported
    if (isBehind) this.#deps.announce('worker.connected', ref, { connected: true })
    if (isBehind || state !== published.state || lastError !== published.lastError)
      this.#deps.announce('worker.state', ref, { state, last_error: lastError })
    if (isBehind || appliedGen !== published.appliedGen)
      this.#deps.announce('worker.config_applied', ref, { applied_config_gen: appliedGen })
  }
}

function isSame(one: RecordedStatus, other: RecordedStatus): boolean {
  return one.state === other.state && one.lastError === other.lastError && one.appliedGen === other.appliedGen
}
