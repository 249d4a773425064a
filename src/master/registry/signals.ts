/**
 * @module master/registry/signals
 * Sends signals to the socket of a worker. `conn` names the master that has the socket, so a signal goes either to the
 * listeners of this master or over the bus to the inbox of the other one. A lost signal is repeated after the worker's
 * next frame (G6). Signals that are sent to one master in the same turn share a message (D135).
 */
import type { CancelledLease, MasterSignal, Ref } from '../../storage/index.ts'
import type { MasterDeps } from '../deps.ts'

/** A signal for one socket. */
export type SocketSignal = Exclude<MasterSignal, { kind: 'wake' | 'finished' }>
export type SignalListener = (signal: SocketSignal) => void

const MAX_SIGNALS_PER_MESSAGE = 500

export class Signals {
  readonly #deps: MasterDeps
  readonly #mayBatch: () => boolean
  /** By master, the signals of this turn. */
  readonly #waiting = new Map<string, SocketSignal[]>()
  readonly #listeners = new Set<SignalListener>()

  /** @param mayBatch Whether every live master reads messages with several signals. */
  constructor(deps: MasterDeps, mayBatch: () => boolean) {
    this.#deps = deps
    this.#mayBatch = mayBatch
  }

  /** Sends the signal to the master that has the socket. */
  send(signal: SocketSignal): void {
    if (this.isLocal(signal.conn)) return this.deliver(signal)
    const masterId = ownerOf(signal.conn)
    const waiting = this.#waiting.get(masterId)
    if (waiting !== undefined) return void waiting.push(signal)
    this.#waiting.set(masterId, [signal])
    queueMicrotask(() => this.#flush(masterId))
  }

  #flush(masterId: string): void {
    const { backend, log } = this.#deps
    const signals = this.#waiting.get(masterId) ?? []
    this.#waiting.delete(masterId)
    const size = this.#mayBatch() ? MAX_SIGNALS_PER_MESSAGE : 1
    for (let at = 0; at < signals.length; at += size) {
      const message = signals.slice(at, at + size)
      backend.bus.signal(masterId, ...message).catch((error: unknown) => {
        log.warn('failed to signal another master; the workers receive the changes with their next frames', {
          error,
          kinds: [...new Set(message.map(({ kind }) => kind))].join(' '),
          signals: message.length,
        })
      })
    }
  }

  /**
   * Sends the drain to the socket of the worker and to every other master, because polls of the worker may wait at any
   * of them (D78). Resolves when the store has accepted the signals.
   */
  async drain(ref: Ref, conn: string | null): Promise<void> {
    const { backend, masterId, log } = this.#deps
    const signal: SocketSignal = { kind: 'drain', ref, conn: conn ?? '' }
    if (conn !== null && this.isLocal(conn)) this.deliver(signal)
    try {
      const others = (await backend.meta.beat(masterId)).filter((id) => id !== masterId)
      await Promise.all(others.map((id) => backend.bus.signal(id, signal)))
    } catch (error) {
      log.warn(
        'failed to signal a drain to the other masters; ' +
          'they read it from the store at the next reserve or frame of the worker',
        { error, automation_type: ref.type, worker_id: ref.id },
      )
    }
  }

  /**
   * Sends the leases that a cancel ended to the sockets of their workers. Never rejects: a worker that does not receive
   * it ends the run at its next extend.
   */
  async cancelled(type: string, leases: readonly CancelledLease[]): Promise<void> {
    const workers = [...new Set(leases.map(({ worker }) => worker))]
    const refs = workers.map((id): Ref => ({ type, id }))
    try {
      const rows = await this.#deps.backend.workers.get(refs)
      for (const [at, ref] of refs.entries()) {
        const conn = rows[at]?.conn ?? null
        const ended = leases.filter(({ worker }) => worker === ref.id).map(({ id, token }) => ({ id, token }))
        if (conn !== null) this.send({ kind: 'cancelled', ref, conn, leases: ended })
      }
    } catch (error) {
      this.#deps.log.warn('failed to find the workers of cancelled tasks; they end the runs at their next extend', {
        error,
        automation_type: type,
      })
    }
  }

  /** Whether the connection is or was on this master. */
  isLocal(conn: string): boolean {
    return ownerOf(conn) === this.#deps.masterId
  }

  /** Calls `listener` with every signal for a socket of this master. @returns a function that unsubscribes. */
  on(listener: SignalListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Passes a signal to the listeners. */
  deliver(signal: SocketSignal): void {
    for (const listener of this.#listeners) listener(signal)
  }
}

/** The master of a connection: `conn` is "<masterId>/<n>". */
function ownerOf(conn: string): string {
  return conn.slice(0, conn.lastIndexOf('/'))
}
