/**
 * @module master/worker-logs/log-reader
 * Reads the log of a worker at the master that has its socket. Another master sends a signal to it, and gets a signal
 * with the result.
 *
 *   this master ── read_logs {id, replyTo, query} ──▶ master of the socket ── read_logs ──▶ worker
 *   this master ◀── logs {id, result} ─────────────── master of the socket ◀── logs ─────── worker
 */
import { isJsonObject, LOG_READ_WITHIN_MS, LOG_READS, type JsonText } from '../../protocol/index.ts'
import type { Ref } from '../../storage/index.ts'
import type { Control, LogQuery, LogReadResult } from '../control/index.ts'
import type { MasterDeps } from '../deps.ts'
import type { MasterReleases } from '../master-releases.ts'
import { unknownWorker, type Registry, type SocketSignal } from '../registry/index.ts'

export interface LogReaderDeps extends MasterDeps {
  readonly control: Pick<Control, 'readLogs'>
  readonly registry: Pick<Registry, 'signal' | 'onSignal'>
  readonly releases: Pick<MasterReleases, 'require'>
}

/** A signal that is lost is noticed after this time: the worker has its own limit, and the bus needs some. */
const REMOTE_WITHIN_MS = LOG_READ_WITHIN_MS + 1_000

export class LogReader {
  readonly #deps: LogReaderDeps
  readonly #remote = new Map<string, (result: LogReadResult) => void>()
  #stopListening = (): void => {}

  constructor(deps: LogReaderDeps) {
    this.#deps = deps
  }

  start(): void {
    this.#stopListening = this.#deps.registry.onSignal((signal) => this.#onSignal(signal))
  }

  stop(): void {
    this.#stopListening()
    for (const end of this.#remote.values()) end({ kind: 'silent' })
  }

  /**
   * @throws {FleetError} NOT_FOUND for an unknown worker; UPGRADING while a live master could not pass the request on.
   */
  async read(ref: Ref, query: LogQuery): Promise<LogReadResult> {
    const { backend, control, masterId, releases } = this.#deps
    const [row = null] = await backend.workers.get([ref])
    if (row === null) throw unknownWorker(ref)
    const { conn } = row
    if (conn === null) return { kind: 'offline' }
    if (conn.startsWith(`${masterId}/`)) return control.readLogs(conn, query)
    releases.require('logs')
    return this.#readRemote(ref, conn, query)
  }

  #readRemote(ref: Ref, conn: string, query: LogQuery): Promise<LogReadResult> {
    const { masterId, random, registry, timers } = this.#deps
    if (this.#remote.size >= LOG_READS.waiting) return Promise.resolve({ kind: 'busy' })
    const id = random.uuid()
    return new Promise((resolve) => {
      const end = (result: LogReadResult): void => {
        cancel()
        this.#remote.delete(id)
        resolve(result)
      }
      const cancel = timers.after(REMOTE_WITHIN_MS, () => end({ kind: 'silent' }))
      this.#remote.set(id, end)
      const read = { id, replyTo: `${masterId}/logs`, query: JSON.stringify(query) }
      registry.signal({ kind: 'read_logs', ref, conn, read })
    })
  }

  #onSignal(signal: SocketSignal): void {
    if (signal.kind === 'logs') this.#remote.get(signal.read.id)?.(resultOf(signal.read.result))
    if (signal.kind === 'read_logs') void this.#serve(signal)
  }

  async #serve({ ref, conn, read: { id, replyTo, query } }: Extract<SocketSignal, { kind: 'read_logs' }>) {
    const { control, registry } = this.#deps
    const parsed = objectOf(query)
    if (parsed === null) return
    const result = await control.readLogs(conn, parsed as unknown as LogQuery)
    registry.signal({ kind: 'logs', ref, conn: replyTo, read: { id, result: JSON.stringify(result) } })
  }
}

/** @returns null for text that is no JSON object: any client of the store can publish. */
function objectOf(text: JsonText): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : null
  } catch {
    return null
  }
}

function resultOf(text: JsonText): LogReadResult {
  const { kind, text: logs, version = null } = objectOf(text) ?? {}
  if (kind === 'logs' && typeof logs === 'string') return { kind, text: logs }
  if (kind === 'outdated') return { kind, version: typeof version === 'string' ? version : null }
  return kind === 'offline' || kind === 'busy' ? { kind } : { kind: 'silent' }
}
