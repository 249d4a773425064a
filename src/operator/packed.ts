/**
 * @module operator/packed
 * Stores JSON that is read rarely: as text, which takes a third of the memory of its objects, and compressed to a tenth
 * while memory is scarce. Compression takes about 20 µs per direction, and memory outside of the heap, which makes
 * garbage collections more frequent. So only the configs of large fleets are compressed.
 */
import { Buffer } from 'node:buffer'
import { getHeapStatistics } from 'node:v8'
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib'
import type { JsonObject } from '../protocol/index.ts'

// A config is smaller than the window, 16 kB.
const FAST = { params: { [constants.BROTLI_PARAM_QUALITY]: 1, [constants.BROTLI_PARAM_LGWIN]: 14 } }
/** Memory is scarce above this share of the heap's limit. */
const SCARCE_SHARE = 0.25
/** JSON of an object begins with a brace. */
const COMPRESSED = Buffer.from('~')

/** JSON, or `~` and one byte per character. A Buffer has more overhead for such short data. */
export type Packed = string & { readonly isPacked: true }

export const packed = (value: object, compress = isMemoryScarce()): Packed => {
  const text = JSON.stringify(value)
  return (compress ? Buffer.concat([COMPRESSED, brotliCompressSync(text, FAST)]).toString('latin1') : text) as Packed
}

export const unpacked = (pack: Packed): JsonObject =>
  JSON.parse(
    pack.startsWith('~') ? brotliDecompressSync(Buffer.from(pack.slice(1), 'latin1')).toString('utf8') : pack,
  ) as JsonObject

function isMemoryScarce(): boolean {
  const { heap_size_limit: limit, used_heap_size: used } = getHeapStatistics()
  return used > limit * SCARCE_SHARE
}
