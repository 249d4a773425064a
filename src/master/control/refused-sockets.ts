/**
 * @module master/control/refused-sockets
 * Closes sockets that were accepted only to send a close code (D12). They have a small limit of their own, so that
 * clients without a token do not take the place of workers. Each is terminated after a second (D70).
 */
import { MAX_REFUSED_SOCKETS } from '../../protocol/index.ts'
import type { Cancel, FrameSocket, Timers } from '../../runtime/index.ts'
import { closeReason } from './connection.ts'
import { REFUSED_SOCKET_MS } from './limits.ts'

export class RefusedSockets {
  readonly #timers: Timers
  readonly #onClose: () => void
  readonly #sockets = new Map<FrameSocket, Cancel>()

  /** @param onClose Called after a socket was removed. */
  constructor(timers: Timers, onClose: () => void) {
    this.#timers = timers
    this.#onClose = onClose
  }

  get size(): number {
    return this.#sockets.size
  }

  get isFull(): boolean {
    return this.#sockets.size >= MAX_REFUSED_SOCKETS
  }

  /** Sends the close code, and terminates the socket if its peer has not closed it a second later. */
  close(socket: FrameSocket, code: number, reason: string): void {
    this.#sockets.set(
      socket,
      this.#timers.after(REFUSED_SOCKET_MS, () => socket.terminate()),
    )
    socket.on('close', () => this.#forget(socket))
    socket.close(code, closeReason(reason))
  }

  terminateAll(): void {
    for (const socket of this.#sockets.keys()) socket.terminate()
  }

  #forget(socket: FrameSocket): void {
    this.#sockets.get(socket)?.()
    this.#sockets.delete(socket)
    this.#onClose()
  }
}
