/**
 * @module operator/kube/line-reader
 * Splits a watch body, which arrives in chunks of any size, into lines. Chunks are joined as bytes and decoded per
 * line, so a character that is split between two chunks is decoded correctly. A line above the limit is an error,
 * because the peer controls its length.
 */
import { KubeError } from './kube-error.ts'

/** An object has at most 1.5 MiB in etcd; as escaped JSON it stays below this limit. */
export const MAX_LINE_BYTES = 4 * 1_048_576
const NEWLINE = 0x0a

export class LineReader {
  readonly #maxBytes: number
  #pieces: Uint8Array[] = []
  #bytes = 0

  constructor(maxBytes = MAX_LINE_BYTES) {
    this.#maxBytes = maxBytes
  }

  /**
   * Yields the lines that `chunk` completes, without empty ones. @throws {KubeError} `UnreadableLine` above the limit.
   */
  *push(chunk: Uint8Array): Generator<string> {
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      this.#keep(chunk.subarray(start, end))
      start = end + 1
      const line = Buffer.concat(this.#pieces).toString('utf8')
      this.#pieces = []
      this.#bytes = 0
      if (line.trim() !== '') yield line
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start))
  }

  #keep(piece: Uint8Array): void {
    this.#bytes += piece.length
    if (this.#bytes > this.#maxBytes)
      throw new KubeError(0, 'UnreadableLine', `a line of the watch is longer than ${this.#maxBytes} bytes`)
    this.#pieces.push(piece)
  }
}
