/**
 * @module master/inspections/inspection-body
 * Builds the body of one inspection. Each piece that is read from the store immediately becomes JSON text and bytes, so
 * that no step of the event loop handles more than one piece.
 */
import { RESPONSE_PIECE_BYTES, MAX_RESPONSE_BYTES } from '../../protocol/index.ts'
import { JsonChunks, RawJson } from '../http/index.ts'

/** Added to the size of each item, because many small items take time as well. */
const BYTES_PER_ITEM = 256
/** The minimum cost of an inspection. */
const BYTES_PER_INSPECTION = 32_768
/** Responses up to this size are sent as text. Their bytes are not counted after they were read. */
const SMALL_CHARS = 65_536

export class InspectionBody {
  /** Counts bytes that were read. Resolves when the next piece may be read. */
  readonly #pace: (bytes: number) => Promise<void>
  readonly #chunks: Buffer[] = []
  #text = ''
  #bytes = 0
  #unpaced = BYTES_PER_INSPECTION
  #isFirst = true

  constructor(pace: (bytes: number) => Promise<void>) {
    this.#pace = pace
  }

  /** How many bytes the next piece may have; 0 if the response has reached its limit. */
  get room(): number {
    return Math.max(0, Math.min(RESPONSE_PIECE_BYTES, MAX_RESPONSE_BYTES - this.#bytes))
  }

  /** Bytes that were read and not passed to `pace` yet. */
  get unpaced(): number {
    return this.#unpaced
  }

  /** Reads one piece of the store when the byte rate permits. @throws the reason why the client gets no response. */
  async read<T>(piece: () => Promise<T>): Promise<T> {
    const bytes = this.#unpaced
    this.#unpaced = 0
    await this.#pace(bytes)
    return piece()
  }

  text(text: string): void {
    this.#text += text
  }

  /** Appends items to the list of the response, separated by commas. */
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

  /** Counts items that were read and are not part of the response. @param bytes All of them together. */
  skip(items: number, bytes: number): void {
    this.#unpaced += bytes + BYTES_PER_ITEM * items
  }

  /** @param onSent Called after the response was sent or its client disconnected. Not called for a small response. */
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
