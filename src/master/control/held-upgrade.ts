/**
 * @module master/control/held-upgrade
 * Holds the raw socket of an upgrade request while its handshake waits. It keeps what the client sends before the
 * response, up to 4 KiB, and notices when the client disconnects.
 */
import { Buffer } from 'node:buffer'
import type { Duplex } from 'node:stream'
import { MAX_EARLY_BYTES } from './limits.ts'

/** Why a held socket is given up: its client disconnected, or sent more than it may. */
export type HoldEnd = 'disconnected' | 'flooded'

export class HeldUpgrade {
  readonly #socket: Duplex
  readonly #onEnd: (why: HoldEnd) => void
  #early: Buffer

  /**
   * @param head What the client sent after the request.
   * @param onEnd Called at most once, and not after {@link release}.
   */
  constructor(socket: Duplex, head: Buffer, onEnd: (why: HoldEnd) => void) {
    this.#socket = socket
    this.#onEnd = onEnd
    this.#early = head
    socket.on('error', ignored)
    // HTTP sockets stay open for writing after their client ended its side.
    socket.on('data', this.#onData).on('end', this.#onDisconnect).on('close', this.#onDisconnect)
    socket.resume() // The end of a connection is noticed only while it is read.
  }

  /** Stops holding, and pauses the socket. @returns what the client sent after the request. */
  release(): Buffer {
    const socket = this.#socket
    socket.pause()
    socket.off('data', this.#onData).off('end', this.#onDisconnect).off('close', this.#onDisconnect)
    socket.off('error', ignored)
    return this.#early
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#early.length + chunk.length > MAX_EARLY_BYTES) this.#onEnd('flooded')
    else this.#early = Buffer.concat([this.#early, chunk])
  }

  readonly #onDisconnect = (): void => {
    this.#onEnd('disconnected')
  }
}

/** A `close` always follows. */
function ignored(): void {}
