/**
 * @module master/inspections/piece-reader
 * The body of one inspection while it is read: pieces of the store become JSON text and bytes as they arrive, so that no
 * step of the event loop handles more than a piece.
 */
import { ANSWER_PIECE_BYTES, MAX_ANSWER_BYTES } from '../../protocol/index.ts'
import { JsonChunks, RawJson } from '../http/route.ts'

/** What an item costs beside its text: many small ones take time as well. */
const BYTES_PER_ITEM = 256
/** What an inspection costs however little it reads. */
const BYTES_PER_INSPECTION = 32_768
/** Responses up to this size are sent as text, and their bytes are not accounted for after they were read. */
const SMALL_CHARS = 65_536

export class PieceReader {
  /** Counts bytes that were read, and resolves when the next piece may be read. */
  readonly #pace: (bytes: number) => Promise<void>
  readonly #chunks: Buffer[] = []
  #text = ''
  #bytes = 0
  #unpaced = BYTES_PER_INSPECTION
  #isFirst = true

  constructor(pace: (bytes: number) => Promise<void>) {
    this.#pace = pace
  }

  /** How many bytes the next piece may have; 0 when the response is as large as it may be. */
  get room(): number {
    return Math.max(0, Math.min(ANSWER_PIECE_BYTES, MAX_ANSWER_BYTES - this.#bytes))
  }

  /** Bytes that were read and not yet counted by the pace. */
  get unpaced(): number {
    return this.#unpaced
  }

  /** Reads one piece of the store when its time has come. @throws the reason why the client gets no response. */
  async read<T>(piece: () => Promise<T>): Promise<T> {
    const bytes = this.#unpaced
    this.#unpaced = 0
    await this.#pace(bytes)
    return piece()
  }

  text(text: string): void {
    this.#text += text
  }

  /** Items of the one list that the response holds, separated by commas. */
  items(texts: readonly string[]): void {
    if (texts.length === 0) return
    const text = texts.join(',')
    this.#text += this.#isFirst ? text : `,${text}`
    this.#isFirst = false
    const bytes = Buffer.byteLength(text)
    this.#bytes += bytes
    this.#unpaced += bytes + BYTES_PER_ITEM * texts.length
    if (this.#text.length > SMALL_CHARS) this.#flush()
  }

  /** @param onSent called once the response has left, or its client is gone; not for a small response. */
  body(onSent: (bytes: number) => void): { readonly body: RawJson | JsonChunks; readonly bytes: number } {
    if (this.#chunks.length === 0) return { body: new RawJson(this.#text), bytes: 0 }
    this.#flush()
    const bytes = this.#chunks.reduce((sum, chunk) => sum + chunk.length, 0)
    return { body: new JsonChunks(this.#chunks, bytes, () => onSent(bytes)), bytes }
  }

  #flush(): void {
    if (this.#text !== '') this.#chunks.push(Buffer.from(this.#text))
    this.#text = ''
  }
}
