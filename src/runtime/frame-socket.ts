/**
 * @module runtime/frame-socket
 * The members of a WebSocket that master and worker use. An interface, so that a simulation can replace the network.
 */
import type { RawData } from 'ws'

/** The `readyState` of an open socket (RFC 6455). */
export const SOCKET_OPEN = 1

/** One end of a WebSocket. Listeners are called with the socket as `this`, so that many sockets can share them. */
export interface FrameSocket {
  readonly readyState: number
  /** Bytes that were sent and are not on the network yet. */
  readonly bufferedAmount: number
  on(event: 'open' | 'ping' | 'pong', listener: (this: FrameSocket) => void): unknown
  on(event: 'message', listener: (this: FrameSocket, data: RawData, isBinary: boolean) => void): unknown
  /** A `close` always follows. */
  on(event: 'error', listener: (this: FrameSocket, error: Error) => void): unknown
  on(event: 'close', listener: (this: FrameSocket, code: number, reason: Buffer) => void): unknown
  /** @param done Called when the text was passed to the network, or could not be. */
  send(text: string, done?: (error?: Error) => void): void
  /** Sends a ping frame; the peer responds with a pong by itself. */
  ping(): void
  /** Starts the closing handshake. */
  close(code: number, reason: string): void
  /** Closes the connection without a handshake. */
  terminate(): void
  /** Stops reading. */
  pause(): void
  resume(): void
}
