/**
 * @module master/control/log-reads
 * Reads the log entries that workers with a socket of this master keep (D181): sends a `read_logs` frame and waits for
 * the `logs` frame with the same id. A worker that does not announce the feature never receives the frame.
 */
import {
  LOG_READ_WITHIN_MS,
  LOG_READS,
  type JsonText,
  type MasterFrame,
  type WorkerFrame,
  type WorkerLogsBody,
} from '../../protocol/index.ts'
import type { MasterDeps } from '../deps.ts'
import type { Connection } from './connection.ts'
import type { Outbound } from './outbound.ts'

type LogsFrame = Extract<WorkerFrame, { type: 'logs' }>
/** What a `read_logs` frame selects. */
export type LogQuery = Omit<Extract<MasterFrame, { type: 'read_logs' }>, 'type' | 'id'>

/**
 * What a read has found. `text`: a WorkerLogsBody. `busy`: too many reads wait for the worker or in this master.
 * `silent`: the worker has not responded in time.
 */
export type LogReadResult =
  | { readonly kind: 'logs'; readonly text: JsonText }
  | { readonly kind: 'outdated'; readonly version: string | null }
  | { readonly kind: 'offline' | 'busy' | 'silent' }

interface Read {
  readonly connection: Connection
  readonly end: (result: LogReadResult) => void
}

export interface LogReadsDeps {
  readonly master: Pick<MasterDeps, 'random' | 'timers'>
  readonly byConn: ReadonlyMap<string, Connection>
  readonly outbound: Pick<Outbound, 'readLogs'>
}

export class LogReads {
  readonly #deps: LogReadsDeps
  readonly #reads = new Map<string, Read>()

  constructor(deps: LogReadsDeps) {
    this.#deps = deps
  }

  /** @param conn The connection of the worker, as its record names it. Never rejects. */
  read(conn: string, query: LogQuery): Promise<LogReadResult> {
    const connection = this.#deps.byConn.get(conn)
    const refusal = this.#refusalOf(connection)
    return connection === undefined || refusal !== null
      ? Promise.resolve(refusal ?? { kind: 'offline' })
      : this.#send(connection, query)
  }

  /** Ends the read that a worker responds to. Ignores a response that is late, or to no request. */
  received(connection: Connection, { id, started_at, entries, next, has_more, missed }: LogsFrame): void {
    const read = this.#reads.get(id)
    if (read?.connection !== connection) return
    const body: WorkerLogsBody = { started_at, entries, next, has_more, missed }
    read.end({ kind: 'logs', text: JSON.stringify(body) })
  }

  closed(connection: Connection): void {
    for (const read of this.#reads.values()) if (read.connection === connection) read.end({ kind: 'offline' })
  }

  #refusalOf(connection: Connection | undefined): LogReadResult | null {
    if (connection?.phase !== 'registered') return { kind: 'offline' }
    if (!connection.features.has('logs')) return { kind: 'outdated', version: connection.version ?? null }
    const ofWorker = [...this.#reads.values()].filter((read) => read.connection === connection)
    const isFull = this.#reads.size >= LOG_READS.waiting || ofWorker.length >= LOG_READS.waitingPerWorker
    return isFull ? { kind: 'busy' } : null
  }

  #send(connection: Connection, query: LogQuery): Promise<LogReadResult> {
    const { master, outbound } = this.#deps
    const id = master.random.uuid()
    return new Promise((resolve) => {
      const end = (result: LogReadResult): void => {
        cancel()
        this.#reads.delete(id)
        resolve(result)
      }
      const cancel = master.timers.after(LOG_READ_WITHIN_MS, () => end({ kind: 'silent' }))
      this.#reads.set(id, { connection, end })
      if (!outbound.readLogs(connection, id, query)) end({ kind: 'silent' })
    })
  }
}
