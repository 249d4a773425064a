/**
 * @module master/control/heartbeat-writer
 * Writes the states and statistics of workers to the store, batched per automation type. A changed state, the first
 * statistics of a connection and its end are written immediately, with everything that is pending. Unchanged states,
 * other statistics and `last_seen` are written at most once per second and type, because a call costs the store far
 * more than a further worker in it (D219). A small fleet does not notice: the first such report after a second without
 * one is written immediately. Only the newest state of a worker is written, and all of its statistics.
 *
 * The result of a write shows what the worker has not received. It is sent immediately: a `config_changed` or `drain`
 * whose signal was lost arrives after the worker's next frame (G6). The end of a connection is written after its last
 * frames. Reports are retried while the store is unavailable.
 */
import { CLOSE, FleetError, type JsonText } from '../../protocol/index.ts'
import { sleep, type Cancel, type LogThrottle } from '../../runtime/index.ts'
import type { EndedConn, WorkerReport, WorkerRow, ReportResult } from '../../storage/index.ts'
import type { MasterDeps } from '../deps.ts'
import { RUN_ITEMS } from '../queue/index.ts'
import { departureBody, type Announce } from '../registry/index.ts'
import type { Connection } from './connection.ts'
import type { PendingReport, ReportedStateFrame } from './connection-state.ts'
import { GROUP_REPORTS_MS, SEEN_EVERY_MS, STORE_RETRY_MS } from './limits.ts'
import type { Outbound } from './outbound.ts'
import type { Backpressure } from './backpressure.ts'
import type { StateEventThrottle } from './state-event-throttle.ts'
import type { TallyCollector } from './tally-collector.ts'

interface PendingReports {
  readonly waiting: Set<Connection>
  running: Promise<void> | null
  /** Cancels the call that reports wait for. */
  cancel: Cancel | null
  /** When reports that change no state may be written next; monotonic. */
  nextMs: number
}
interface Sent extends ReturnType<PendingReport['take']> {
  readonly connection: Connection
}

export interface HeartbeatWriterDeps {
  readonly master: MasterDeps
  readonly announce: Announce
  readonly stateEvents: StateEventThrottle
  readonly outbound: Outbound
  readonly backpressure: Backpressure
  readonly tallies: TallyCollector
  readonly logThrottle: LogThrottle
}

const bytesOf = (stats: readonly JsonText[]): number => stats.reduce((sum, text) => sum + text.length, 0)

export class HeartbeatWriter {
  readonly #deps: HeartbeatWriterDeps
  readonly #byType = new Map<string, PendingReports>()
  readonly #stopping = new AbortController()

  constructor(deps: HeartbeatWriterDeps) {
    this.#deps = deps
  }

  state(connection: Connection, state: ReportedStateFrame): void {
    this.#enqueue(connection, connection.report.setState(state))
  }

  stats(connection: Connection, text: JsonText): void {
    const isFirst = connection.report.addStats(text)
    this.#deps.backpressure.addUnflushed(connection, text.length)
    this.#enqueue(connection, isFirst || connection.reading.isPaused) // A worker that is paused must not wait.
  }

  /** Records that another kind of frame arrived. */
  seen(connection: Connection): void {
    if (this.#deps.master.clock.monotonicMs() - connection.report.lastReportMs >= SEEN_EVERY_MS)
      this.#enqueue(connection, false)
  }

  /** Records that the connection ended. This is stored after its last frames. */
  ended(connection: Connection): void {
    this.#enqueue(connection, true)
  }

  /** Writes everything that is pending, once. What the store rejects now is discarded. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    for (const pending of this.#byType.values()) await this.#flush(pending)
  }

  #enqueue(connection: Connection, isUrgent: boolean): void {
    const pending = this.#pendingOf(connection.type)
    pending.waiting.add(connection)
    if (isUrgent) void this.#flush(pending)
    else if (pending.running === null && pending.cancel === null) this.#flushGrouped(pending)
  }

  #flushGrouped(pending: PendingReports): void {
    const { clock, timers } = this.#deps.master
    const flush = (): void => {
      pending.nextMs = clock.monotonicMs() + GROUP_REPORTS_MS
      void this.#flush(pending)
    }
    const inMs = pending.nextMs - clock.monotonicMs()
    if (inMs <= 0) flush()
    else pending.cancel = timers.after(inMs, flush)
  }

  #flush(pending: PendingReports): Promise<void> {
    pending.cancel?.()
    pending.cancel = null
    return (pending.running ??= this.#run(pending))
  }

  #pendingOf(type: string): PendingReports {
    const known = this.#byType.get(type)
    if (known !== undefined) return known
    const pending: PendingReports = { waiting: new Set(), running: null, cancel: null, nextMs: -Infinity }
    this.#byType.set(type, pending)
    return pending
  }

  async #run(pending: PendingReports): Promise<void> {
    await Promise.resolve() // Includes everything that arrives in the same tick.
    while (pending.waiting.size > 0) {
      const batch = [...pending.waiting].slice(0, RUN_ITEMS)
      for (const connection of batch) pending.waiting.delete(connection)
      if (!(await this.#send(batch, pending)) && !(await this.#pauseForStore())) break
    }
    pending.running = null
  }

  /** @returns false if the master is stopping. */
  #pauseForStore(): Promise<boolean> {
    return sleep(this.#deps.master.timers, STORE_RETRY_MS, this.#stopping.signal)
  }

  /** @returns false if the store rejected the batch, which is then queued again. */
  async #send(batch: readonly Connection[], pending: PendingReports): Promise<boolean> {
    // A connection that closes during the write may have further frames, so its end is written by the next one.
    const ended = batch.filter(({ isClosed }) => isClosed)
    const sent = batch.map((connection) => ({
      connection,
      ...connection.report.take(this.#deps.master.clock.monotonicMs()),
    }))
    try {
      await this.#report(
        sent.filter(({ connection, state, stats }) => !connection.isClosed || state !== null || stats.length > 0),
      )
    } catch (error) {
      this.#requeue(sent, pending, error)
      return false
    }
    return this.#disconnect(ended, pending)
  }

  async #report(sent: readonly Sent[]): Promise<void> {
    if (sent.length === 0) return
    const results = await this.#deps.master.backend.workers.beat(sent.map(reportOf))
    for (const [index, each] of sent.entries()) {
      this.#deps.backpressure.removeUnflushed(each.connection, bytesOf(each.stats))
      const result = results[index]
      if (result !== undefined) this.#applyResult(each, result)
    }
  }

  /**
   * Queues rejected reports again, before newer ones. After a programming error they are dropped: a retry would fail
   * too.
   */
  #requeue(sent: readonly Sent[], pending: PendingReports, error: unknown): void {
    const isRetryable = error instanceof FleetError
    this.#warn('failed to store states and statistics of workers', error)
    for (const { connection, state, stats } of sent) {
      if (isRetryable) connection.report.putBack({ state, stats })
      else this.#deps.backpressure.removeUnflushed(connection, bytesOf(stats))
      if (isRetryable || connection.isClosed) pending.waiting.add(connection)
    }
  }

  async #disconnect(closed: readonly Connection[], pending: PendingReports): Promise<boolean> {
    const stored = closed.filter((connection) => connection.isStored)
    if (stored.length === 0) return true
    const { workers } = this.#deps.master.backend
    let rows: readonly (WorkerRow | null)[] = []
    try {
      await workers.disconnect(stored.map(endedConn))
      rows = await workers.get(stored.map(({ ref }) => ref))
    } catch (error) {
      this.#warn('failed to store that workers disconnected; retrying', error)
      for (const connection of stored) pending.waiting.add(connection)
      return false
    }
    for (const [index, connection] of stored.entries()) {
      connection.isStored = false
      // Another connection has the worker, or its record was deleted. A register names the connection that it replaces,
      // but not if the store lost that one.
      const row = rows[index]
      if (connection.isDetached || row?.conn !== null) continue
      this.#deps.stateEvents.flush(connection)
      const { ref, isEnded: ended } = connection
      this.#deps.announce('worker.disconnected', ref, { connected: false, ended, departure: departureBody(row) })
    }
    return true
  }

  #applyResult({ connection, state }: Sent, result: ReportResult): void {
    const { status, gen } = result
    if (status === 'replaced') return this.#detach(connection, 'replaced by a newer connection')
    if (status === 'unknown') return this.#detach(connection, 'this worker was deleted from the master; register again')
    this.#deps.tallies.reported(connection, state, result)
    if (state !== null) {
      connection.outbound.reportGen(state.gen)
      this.#deps.stateEvents.update(connection, {
        state: status === 'drain' ? 'DRAINING' : state.state,
        lastError: state.lastError,
        appliedGen: state.gen,
      })
    }
    if (status === 'drain' && !connection.outbound.isDrainSent) this.#deps.outbound.drain(connection)
    if (gen > connection.outbound.knownGen) this.#deps.outbound.configChanged(connection, gen)
    connection.outbound.storedGen(gen)
  }

  #detach(connection: Connection, reason: string): void {
    connection.isDetached = true
    this.#deps.stateEvents.forget(connection)
    connection.close(CLOSE.POLICY, reason)
  }

  #warn(message: string, error: unknown): void {
    this.#deps.logThrottle.run(message, (suppressed) => this.#deps.master.log.warn(message, { error, suppressed }))
  }
}

const endedConn = ({ ref, conn, isEnded: ended, end }: Connection): EndedConn => ({
  ...ref,
  conn,
  ended,
  ...(end !== undefined && { end }),
})

function reportOf({ connection: { type, id, conn }, state, stats }: Sent): WorkerReport {
  return { type, id, conn, ...(state !== null && { state }), ...(stats.length > 0 && { stats }) }
}
