/**
 * @module master/control/inbound
 * Handles the frames of workers. The path and the register frame decide which worker a socket belongs to; later frames
 * cannot change it. An invalid frame closes its own connection and no other (D12).
 */
import { Buffer } from 'node:buffer'
import {
  CLOSE,
  decodeWorkerFrame,
  FleetError,
  FrameFault,
  MAX_ERROR_CHARS,
  PROTOCOL_VERSION,
  withSourceNumbers,
  type Output,
  type WorkerFrame,
  type WorkerLabels,
} from '../../protocol/index.ts'
import { truncateError, type LogThrottle } from '../../runtime/index.ts'
import type { MasterDeps } from '../deps.ts'
import { checkDocument } from '../http/index.ts'
import { statsText, type Registry } from '../registry/index.ts'
import type { OutputSink } from '../streams/index.ts'
import type { HeartbeatWriter } from './heartbeat-writer.ts'
import type { Connection } from './connection.ts'
import { INITIAL_STATUS, PAUSE } from './connection-state.ts'
import type { LogReads } from './log-reads.ts'
import { MAX_HARDWARE_BYTES } from './limits.ts'
import type { Outbound } from './outbound.ts'
import type { Backpressure } from './backpressure.ts'
import { Registrations, type Registered, type Registrant } from './registrations.ts'
import type { TallyCollector } from './tally-collector.ts'

type FrameOf<T extends WorkerFrame['type']> = Extract<WorkerFrame, { type: T }>

/** Length limit of the pointer in a close reason, so that the problem still fits after it. */
const MAX_PATH_CHARS = 60
/** Length limit of a close reason in the log. */
const MAX_LOGGED_CHARS = 200

export interface InboundDeps {
  readonly master: MasterDeps
  readonly registry: Registry
  readonly sink: OutputSink
  readonly heartbeats: HeartbeatWriter
  readonly outbound: Outbound
  readonly backpressure: Backpressure
  readonly tallies: TallyCollector
  readonly logReads: LogReads
  readonly logThrottle: LogThrottle
  /** The registered sockets by `conn`, for signals that name a connection. */
  readonly byConn: Map<string, Connection>
  /** Called when the connection has registered within its deadline. */
  readonly onRegistered: (connection: Connection) => void
}

export class Inbound {
  readonly #deps: InboundDeps
  readonly #registrations: Registrations
  #accepted = 0

  constructor(deps: InboundDeps) {
    this.#deps = deps
    this.#registrations = new Registrations(deps.master, deps.logThrottle)
  }

  /** Handles one text message. */
  receive(connection: Connection, text: string): void {
    connection.missedPings = 0
    if (connection.phase === 'closing') return
    if (connection.phase === 'registering') return void connection.backlog.push(text)
    try {
      this.#handle(connection, decodeWorkerFrame(text), text)
    } catch (error) {
      this.#onFault(connection, error)
    }
  }

  #onFault(connection: Connection, error: unknown): void {
    if (error instanceof FrameFault)
      return this.refuse(connection, error.isUnknownType ? CLOSE.POLICY : CLOSE.INVALID_FRAME, error.message)
    const [fault] = error instanceof FleetError && typeof error.detail !== 'string' ? error.detail : []
    if (fault !== undefined)
      return this.refuse(connection, CLOSE.INVALID_FRAME, `${fault.path.slice(0, MAX_PATH_CHARS)}: ${fault.message}`)
    if (error instanceof RangeError)
      return this.refuse(connection, CLOSE.INVALID_FRAME, 'the frame is nested too deeply')
    this.#deps.master.log.error('failed to handle a frame', {
      error,
      automation_type: connection.type,
      worker_id: connection.id,
    })
    connection.close(CLOSE.INTERNAL_ERROR, 'the master could not handle this frame')
  }

  /** Closes the connection because of a fault of the worker. Logs this once a minute per worker. */
  refuse(connection: Connection, code: number, reason: string): void {
    const {
      master: { log },
      logThrottle,
    } = this.#deps
    logThrottle.run(`control ${connection.type}/${connection.id}`, (suppressed) => {
      log.warn('disconnected a worker that broke the protocol', {
        automation_type: connection.type,
        worker_id: connection.id,
        code,
        reason: truncateError(reason, MAX_LOGGED_CHARS),
        suppressed,
      })
    })
    connection.close(code, reason)
  }

  #handle(connection: Connection, frame: WorkerFrame, text: string): void {
    if (frame.type === 'register') return this.#register(connection, frame)
    if (connection.phase === 'new') return this.refuse(connection, CLOSE.POLICY, 'the first frame must be register')
    const { heartbeats, logReads, outbound, sink, backpressure, tallies } = this.#deps
    switch (frame.type) {
      case 'state':
        return heartbeats.state(connection, {
          state: frame.state,
          gen: frame.config_gen,
          lastError: frame.last_error === null ? null : truncateError(frame.last_error, MAX_ERROR_CHARS),
        })
      case 'stats':
        checkDocument(frame)
        tallies.stats(connection, frame.metrics)
        return heartbeats.stats(connection, statsText(frame))
      case 'output':
        sink.accept(
          connection.type,
          connection.id,
          [outputOf(frame)],
          [outputOf(withSourceNumbers(text, frame) as Output)],
        )
        break
      case 'output_batch':
        sink.accept(
          connection.type,
          connection.id,
          frame.outputs,
          (withSourceNumbers(text, frame) as typeof frame).outputs,
        )
        break
      case 'logs':
        checkDocument(frame)
        logReads.received(connection, frame)
        break
      case 'ping':
        outbound.pong(connection, frame.id)
    }
    backpressure.onOutput(connection)
    heartbeats.seen(connection)
  }

  #register(connection: Connection, frame: FrameOf<'register'>): void {
    if (frame.automation_type !== connection.type)
      return this.refuse(connection, CLOSE.POLICY, 'automation_type of register differs from the path')
    if (frame.worker_id !== connection.id)
      return this.refuse(connection, CLOSE.POLICY, 'worker_id of register differs from the path')
    if (frame.protocol_version !== PROTOCOL_VERSION) {
      return this.refuse(
        connection,
        CLOSE.PROTOCOL_VERSION,
        `this master uses protocol version ${PROTOCOL_VERSION}, ` +
          `the worker version ${frame.protocol_version}; run the same release`,
      )
    }
    const hardware = JSON.stringify(frame.hardware)
    if (Buffer.byteLength(hardware) > MAX_HARDWARE_BYTES)
      return this.refuse(connection, CLOSE.INVALID_FRAME, `/hardware: is larger than ${MAX_HARDWARE_BYTES} bytes`)
    connection.phase = 'registering'
    connection.pause(PAUSE.registering)
    if (connection.conn === '') connection.conn = `${this.#deps.master.masterId}/${++this.#accepted}`
    this.#deps.byConn.set(connection.conn, connection) // Before it is stored: a signal may arrive before the result.
    const { type, id, conn } = connection
    const { instance_id: instance, labels } = frame
    void this.#store(connection, { type, id, conn, instance: instance ?? '', hardware, labels: labels ?? {} })
  }

  async #store(connection: Connection, registrant: Registrant): Promise<void> {
    const storing = this.#registrations.store(connection.entry, registrant)
    const result = await storing.catch((error: unknown) => error as Error)
    if (result instanceof Error) {
      this.#deps.logThrottle.run('register', (suppressed) =>
        this.#deps.master.log.warn('failed to store registrations of workers; they reconnect', {
          error: result,
          suppressed,
        }),
      )
      return connection.close(CLOSE.TRY_AGAIN_LATER, 'the store is unavailable; try again')
    }
    if (result.kind === 'full') return this.refuse(connection, CLOSE.POLICY, 'too many workers of this type')
    const isNewConnection = !connection.isStored // A register may be repeated.
    connection.isStored = true
    if (isNewConnection) this.#deps.tallies.registered(connection, result)
    this.#registered(connection, result, isNewConnection, registrant.labels)
  }

  #registered(
    connection: Connection,
    { previous: before, drain, replaced, gen, news }: Registered,
    isNewConnection: boolean,
    labels: WorkerLabels,
  ): void {
    const { registry, outbound, heartbeats, onRegistered } = this.#deps
    const { ref } = connection
    if (replaced !== null && replaced !== connection.conn) registry.signal({ kind: 'replaced', ref, conn: replaced })
    const hasDrainEnded = before?.state === 'DRAINING' && !drain // The drained process was replaced by a new one.
    connection.stateEvents.published = { ...(before ?? INITIAL_STATUS), ...(hasDrainEnded && { state: 'IDLE' }) }
    connection.stateEvents.reported = connection.stateEvents.published
    if (before === null) registry.announce('worker.registered', ref, { state: 'IDLE', config_gen: gen, ...news })
    if (isNewConnection)
      registry.announce('worker.connected', ref, {
        connected: true,
        ...(hasDrainEnded && { state: 'IDLE', draining: false }),
        ...(Object.keys(labels).length > 0 && { labels }),
      })
    // Closed meanwhile: the record must not keep naming it.
    if (connection.isClosed) return heartbeats.ended(connection)
    if (connection.phase === 'closing') return
    connection.phase = 'registered'
    connection.report.lastReportMs = this.#deps.master.clock.monotonicMs()
    onRegistered(connection)
    if (drain) outbound.drain(connection)
    connection.reading.remove(PAUSE.registering)
    const { backlog } = connection
    connection.backlog = []
    for (const text of backlog) this.receive(connection, text)
  }
}

const outputOf = ({ slot_id, ts, task_id, payload }: Output): Output => ({
  slot_id,
  ts,
  ...(task_id !== undefined && { task_id }),
  payload,
})
