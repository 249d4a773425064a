/**
 * @module master/control/heartbeat-writer
 * Writes the states and statistics of workers to the store, batched per automation type. One call contains what arrived
 * in one tick, or during the previous call. Only the newest state of a worker is written, and all of its statistics.
 * Any other frame only updates `last_seen`.
 *
 * The result of a write shows what the worker has not received. It is sent immediately: a `config_changed` or `drain`
 * whose signal was lost arrives after the worker's next frame (G6). The end of a connection is written after its last
 * frames. Reports are retried while the store is unavailable.
 */
import { CLOSE, FleetError, type JsonText } from '../../protocol/index.ts'
import type { LogThrottle } from '../../runtime/index.ts'
import type { WorkerReport, ReportResult } from '../../storage/index.ts'
import type { MasterDeps } from '../deps.ts'
import { RUN_ITEMS } from '../queue/batcher.ts'
import type { Announce } from '../registry/index.ts'
import type { Connection, ReportedStateFrame } from './connection.ts'
import { SEEN_EVERY_MS, STORE_RETRY_MS } from './limits.ts'
import type { Outbound } from './outbound.ts'
import type { Backpressure } from './backpressure.ts'
import type { StateEventThrottle } from './state-event-throttle.ts'

interface TypeLane {
  readonly waiting: Set<Connection>
  running: Promise<void> | null
}
interface Sent {
  readonly connection: Connection
  readonly state: ReportedStateFrame | null
  readonly stats: JsonText[]
}

export interface HeartbeatWriterDeps {
  readonly master: MasterDeps
  readonly announce: Announce
  readonly stateEvents: StateEventThrottle
  readonly outbound: Outbound
  readonly backpressure: Backpressure
  readonly logThrottle: LogThrottle
}

const bytesOf = (stats: readonly JsonText[]): number => stats.reduce((sum, text) => sum + text.length, 0)

export class HeartbeatWriter {
  readonly #deps: HeartbeatWriterDeps
  readonly #lanes = new Map<string, TypeLane>()
  readonly #stopping = new AbortController()

  constructor(deps: HeartbeatWriterDeps) {
    this.#deps = deps
  }

  state(connection: Connection, state: ReportedStateFrame): void {
    connection.pendingState = state
    this.#enqueue(connection)
  }

  stats(connection: Connection, text: JsonText): void {
    connection.pendingStats.push(text)
    this.#deps.backpressure.addUnflushed(connection, text.length)
    this.#enqueue(connection)
  }

  /** Records that another kind of frame arrived. */
  seen(connection: Connection): void {
    if (this.#deps.master.clock.monotonicMs() - connection.lastReportMs >= SEEN_EVERY_MS) this.#enqueue(connection)
  }

  /** Records that the connection ended. This is stored after its last frames. */
  left(connection: Connection): void {
    this.#enqueue(connection)
  }

  /** Writes everything that is pending, once. What the store rejects now is discarded. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    for (const { running } of this.#lanes.values()) await running
  }

  #enqueue(connection: Connection): void {
    const lane = this.#laneOf(connection.type)
    lane.waiting.add(connection)
    lane.running ??= this.#run(lane)
  }

  #laneOf(type: string): TypeLane {
    const known = this.#lanes.get(type)
    if (known !== undefined) return known
    const lane: TypeLane = { waiting: new Set(), running: null }
    this.#lanes.set(type, lane)
    return lane
  }

  async #run(lane: TypeLane): Promise<void> {
    await Promise.resolve() // Includes everything that arrives in the same tick.
    while (lane.waiting.size > 0) {
      const batch = [...lane.waiting].slice(0, RUN_ITEMS)
      for (const connection of batch) lane.waiting.delete(connection)
      if (!(await this.#send(batch, lane)) && !(await this.#pauseForStore())) break
    }
    lane.running = null
  }

  /** @returns false if the master is stopping. */
  async #pauseForStore(): Promise<boolean> {
    return this.#deps.master.timers.sleep(STORE_RETRY_MS, this.#stopping.signal).then(
      () => true,
      () => false,
    )
  }

  /** @returns false if the store rejected the batch, which is then queued again. */
  async #send(batch: readonly Connection[], lane: TypeLane): Promise<boolean> {
    const sent = batch.map((connection) => taken(connection, this.#deps.master.clock.monotonicMs()))
    try {
      await this.#beat(
        sent.filter(({ connection, state, stats }) => !connection.gone || state !== null || stats.length > 0),
      )
    } catch (error) {
      this.#refused(sent, lane, error)
      return false
    }
    return this.#disconnect(
      batch.filter(({ gone }) => gone),
      lane,
    )
  }

  async #beat(sent: readonly Sent[]): Promise<void> {
    if (sent.length === 0) return
    const answers = await this.#deps.master.backend.workers.beat(sent.map(beatOf))
    for (const [index, each] of sent.entries()) {
      this.#deps.backpressure.removeUnflushed(each.connection, bytesOf(each.stats))
      const answer = answers[index]
      if (answer !== undefined) this.#answered(each, answer)
    }
  }

  /**
   * Queues rejected reports again, before newer ones. After a programming error they are dropped: a retry would fail
   * too.
   */
  #refused(sent: readonly Sent[], lane: TypeLane, error: unknown): void {
    const again = error instanceof FleetError
    this.#complain('failed to store states and statistics of workers', error)
    for (const { connection, state, stats } of sent) {
      if (again) {
        connection.pendingState ??= state
        connection.pendingStats.unshift(...stats)
      } else {
        this.#deps.backpressure.removeUnflushed(connection, bytesOf(stats))
      }
      if (again || connection.gone) lane.waiting.add(connection)
    }
  }

  async #disconnect(gone: readonly Connection[], lane: TypeLane): Promise<boolean> {
    const stored = gone.filter((connection) => connection.stored)
    if (stored.length === 0) return true
    try {
      await this.#deps.master.backend.workers.disconnect(stored.map(({ ref, conn }) => ({ ...ref, conn })))
    } catch (error) {
      this.#complain('failed to store that workers disconnected; retrying', error)
      for (const connection of stored) lane.waiting.add(connection)
      return false
    }
    for (const connection of stored) {
      connection.stored = false
      if (connection.disowned) continue
      this.#deps.stateEvents.flush(connection)
      this.#deps.announce('worker.disconnected', connection.ref, { connected: false })
    }
    return true
  }

  #answered({ connection, state }: Sent, { status: was, gen }: ReportResult): void {
    if (was === 'replaced') return this.#disown(connection, 'replaced by a newer connection')
    if (was === 'unknown') return this.#disown(connection, 'this worker was deleted from the master; register again')
    if (state !== null) {
      connection.knownGen = Math.max(connection.knownGen, state.gen)
      this.#deps.stateEvents.update(connection, {
        state: was === 'drain' ? 'DRAINING' : state.state,
        lastError: state.lastError,
        appliedGen: state.gen,
      })
    }
    if (was === 'drain' && !connection.isDrainSent) this.#deps.outbound.drain(connection)
    if (gen > connection.knownGen) this.#deps.outbound.configChanged(connection, gen)
  }

  #disown(connection: Connection, reason: string): void {
    connection.disowned = true
    this.#deps.stateEvents.forget(connection)
    connection.close(CLOSE.POLICY, reason)
  }

  #complain(message: string, error: unknown): void {
    this.#deps.logThrottle.run(message, (suppressed) => this.#deps.master.log.warn(message, { error, suppressed }))
  }
}

/** Takes from the connection what waits for the store. */
function taken(connection: Connection, nowMs: number): Sent {
  const { pendingState: state, pendingStats: stats } = connection
  connection.pendingState = null
  if (stats.length > 0) connection.pendingStats = []
  connection.lastReportMs = nowMs
  return { connection, state, stats }
}

function beatOf({ connection: { type, id, conn }, state, stats }: Sent): WorkerReport {
  return { type, id, conn, ...(state !== null && { state }), ...(stats.length > 0 && { stats }) }
}
