/**
 * @module master/control/control-socket
 * The server side of a control socket. It accepts a frame of up to 1 MiB in any number of fragments (RFC 6455 section
 * 5.4) and closes with a code and a reason after a fault in the byte stream, where `ws` sends the code alone.
 *
 * `ws` keeps every fragment as an object of its own, which also keeps the chunk of the socket alive that it was read
 * in: 1 MiB in fragments of 1 byte would cost 100 MiB, and 64 KiB for each byte if a peer fills the chunks with pongs.
 * {@link mergePieces} bounds this: an incomplete frame keeps at most {@link MAX_PIECES} pieces.
 */
import { Buffer } from 'node:buffer'
import type { Duplex } from 'node:stream'
import { WebSocket } from 'ws'
import { CLOSE, MAX_FRAME_BYTES } from '../../protocol/index.ts'
import type { FrameSocket } from '../../runtime/index.ts'

/** Each piece keeps at most one chunk of 64 KiB alive, so an incomplete frame costs about 4 MiB at most. */
export const MAX_PIECES = 32

/** Faults that `ws` detects itself, by the close code that it chooses. */
const FAULTS: Readonly<Record<number, string>> = {
  1002: 'the data is not a valid WebSocket frame',
  [CLOSE.INVALID_FRAME]: 'the text of a frame is not UTF-8',
  [CLOSE.POLICY]: 'a frame arrived in too many pieces',
  [CLOSE.TOO_BIG]: `the frame is larger than ${MAX_FRAME_BYTES} bytes`,
}

/** A socket after its upgrade. */
export interface AcceptedSocket extends FrameSocket {
  /**
   * The first code that this side sent, which is why the socket ended. `ws` reports 1006 if the peer does not echo it.
   */
  readonly sentCode: number | undefined
  /** Why the WebSocket implementation closed the socket by itself. */
  readonly fault: string | undefined
}

export class ControlSocket extends WebSocket implements AcceptedSocket {
  sentCode: number | undefined
  fault: string | undefined

  override close(code?: number, reason?: string | Buffer): void {
    this.sentCode ??= code
    if (code === undefined || reason !== undefined) return super.close(code, reason)
    this.fault = FAULTS[code] ?? 'the peer violated the WebSocket protocol'
    super.close(code, this.fault)
  }
}

/**
 * What `ws` 8 keeps of an incomplete frame. The fields are not public; control-socket.test.ts checks that they exist.
 */
interface Receiver {
  /** Fragments of the message, unmasked. */
  readonly _fragments: Buffer[]
  /** Chunks of the current fragment, as they were read. */
  readonly _buffers: Buffer[]
}

/** Merges what `socket` keeps of an incomplete frame after each chunk of `stream`. */
export function boundPieces(socket: WebSocket, stream: Duplex): void {
  const { _receiver: receiver } = socket as unknown as { readonly _receiver: Receiver }
  stream.on('data', () => {
    const { _fragments: fragments, _buffers: chunks } = receiver // `ws` replaces these arrays after each message.
    mergePieces(fragments)
    mergePieces(chunks)
  })
}

/**
 * Merges the pieces into one if there are more than {@link MAX_PIECES}. A piece at the front that is more than twice as
 * long as all pieces after it is not copied. There are at most 20 of those, and each byte is copied about 35 times at
 * most.
 */
export function mergePieces(pieces: Buffer[]): void {
  if (pieces.length <= MAX_PIECES) return
  let bytes = pieces.reduce((sum, { length }) => sum + length, 0)
  const from = pieces.findIndex(({ length }) => {
    const isLong = length > 2 * (bytes - length)
    if (isLong) bytes -= length
    return !isLong
  })
  if (from !== -1) pieces.push(Buffer.concat(pieces.splice(from), bytes))
}
