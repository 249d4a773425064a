/**
 * @module master/http/content-coding
 * Chooses the content coding of a response by `Accept-Encoding`, and compresses with it (RFC 9110 section 12.5.3).
 * Levels are the cheapest that pay: 600 kB of worker records take 1 ms with brotli, 2 ms with gzip, in a thread of the
 * pool, and become 35 kB. `small` is for columns, which are requested all the time.
 */
import { promisify } from 'node:util'
import {
  brotliCompress,
  constants,
  createBrotliCompress,
  createGzip,
  gzip,
  type BrotliOptions,
  type ZlibOptions,
} from 'node:zlib'
import type { Transform } from 'node:stream'
import Negotiator from 'negotiator'

export type ContentCoding = 'br' | 'gzip'

/** The first one wins among those that the client likes equally. */
const CODINGS: readonly ContentCoding[] = ['br', 'gzip']
/** By whether a smaller body is worth more CPU. */
const LEVELS = { fast: { gzip: 1, br: 1 }, small: { gzip: 6, br: 5 } } as const
type Effort = keyof typeof LEVELS
/** A window of 256 KiB, which limits the memory of one compression. */
const BROTLI_WINDOW_BITS = 18
/** A coding with its weight, as RFC 9110 defines them. The package also accepts others, such as `gzip;q=2`. */
const ITEM = /^[\w!#$%&'*+.^`|~-]+(?:[ \t]*;[ \t]*q=(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?$/i

/**
 * Chooses a coding that the client accepts.
 * @param header The value of `Accept-Encoding`. Items that are malformed count as not sent.
 * @returns null if the response must be sent as it is.
 */
export function chooseCoding(header: string | undefined): ContentCoding | null {
  if (header === undefined) return null
  const items = header.split(',').map((item) => item.trim().replace(/^x-gzip(?=$|[ \t;])/i, 'gzip'))
  const wellFormed = items.filter((item) => ITEM.test(item)).join(',')
  const client = new Negotiator({ headers: { 'accept-encoding': wellFormed } })
  const best = client.encoding([...CODINGS, 'identity'], { preferred: CODINGS })
  return CODINGS.find((coding) => coding === best) ?? null
}

const gzipAsync = promisify(gzip)
const brotliAsync = promisify(brotliCompress)

const gzipOptions = (effort: Effort): ZlibOptions => ({ level: LEVELS[effort].gzip })
const brotliOptions = (bytes: number, effort: Effort): BrotliOptions => ({
  params: {
    [constants.BROTLI_PARAM_QUALITY]: LEVELS[effort].br,
    [constants.BROTLI_PARAM_LGWIN]: BROTLI_WINDOW_BITS,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes,
  },
})

/** Compresses a whole body in the thread pool. */
export function compress(coding: ContentCoding, body: Uint8Array, effort: Effort = 'fast'): Promise<Buffer> {
  return coding === 'br' ? brotliAsync(body, brotliOptions(body.length, effort)) : gzipAsync(body, gzipOptions(effort))
}

/** Creates a stream that compresses what is written to it. @param bytes How much will be written. */
export function createCompressor(coding: ContentCoding, bytes: number): Transform {
  return coding === 'br' ? createBrotliCompress(brotliOptions(bytes, 'fast')) : createGzip(gzipOptions('fast'))
}
