/**
 * @module storage/sqlite/log-mark
 * LogMark records how far the write-ahead log is synced, in `FILE-synced` beside it. SQLite cuts the log at its first
 * invalid frame, because a power cut leaves a torn end. It cannot tell that from damage in the middle, behind which
 * acknowledged changes would be lost without a message. The mark distinguishes the two: it is written after the fsync
 * of a commit, so a frame in front of it that is invalid was valid on the disk before (D97).
 *
 * The mark itself is not synced. An older one finds less and is never wrong: the salts name the log that it is about,
 * and SQLite syncs a header with new salts before it writes over the frames of the log before.
 *
 * @see https://www.sqlite.org/fileformat2.html#walformat
 */
import { FleetError } from '../../protocol/index.ts'
import { codeOf } from './driver.ts'
import { closeSync, constants, openSync, readFileSync, readSync, rmSync, writeSync } from 'node:fs'
import { endianness } from 'node:os'
import { crc32 } from 'node:zlib'

const HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
const MARK_BYTES = 16
/** The checksum is made of big-endian words if the lowest bit of the first word is set. */
const MAGIC = 0x377f0682

const markOf = (path: string): string => `${path}-synced`
const logOf = (path: string): string => `${path}-wal`

export class LogMark {
  readonly #path: string
  readonly #header = Buffer.alloc(HEADER_BYTES)
  readonly #mark = Buffer.alloc(MARK_BYTES)
  #log: number | undefined
  #file: number | undefined

  constructor(path: string) {
    this.#path = path
  }

  /** Records that the first `frames` frames of the log are synced. Without a mark, damage is not found; so no error. */
  set(frames: number): void {
    try {
      this.#log ??= openSync(logOf(this.#path), 'r')
      this.#file ??= openSync(markOf(this.#path), constants.O_RDWR | constants.O_CREAT, 0o600)
      this.#write(this.#log, this.#file, frames)
    } catch {
      this.close()
    }
  }

  #write(log: number, file: number, frames: number): void {
    if (readSync(log, this.#header, 0, HEADER_BYTES, 0) < HEADER_BYTES) return
    this.#header.copy(this.#mark, 0, 16, 24)
    this.#mark.writeUInt32BE(frames, 8)
    this.#mark.writeUInt32BE(crc32(this.#mark.subarray(0, 12)), 12)
    writeSync(file, this.#mark, 0, MARK_BYTES, 0)
  }

  close(): void {
    for (const handle of [this.#log, this.#file]) if (handle !== undefined) closeSync(handle)
    this.#log = undefined
    this.#file = undefined
  }

  /** After a stop in order there is no log, and so no mark. */
  remove(): void {
    this.close()
    rmSync(markOf(this.#path), { force: true })
  }
}

/**
 * Compares the log with its mark. Call it before SQLite opens the file: an open cuts the log at the damage.
 *
 * @throws {FleetError} STORAGE_CORRUPT: a frame that was synced is damaged.
 */
export function checkLog(path: string): void {
  const mark = read(markOf(path))
  if (mark.length !== MARK_BYTES || crc32(mark.subarray(0, 12)) !== mark.readUInt32BE(12)) return
  const salts = mark.subarray(0, 8)
  const synced = mark.readUInt32BE(8)
  const log = read(logOf(path))
  if (!hasSalts(log, salts)) return
  const { frames, offset } = validPart(log, synced)
  if (frames >= synced) return
  if (!hasSalts(read(logOf(path)), salts)) return // A running master wrote over it. Taking the lock will fail.
  const fault = `${logOf(path)} is damaged at byte ${offset}, before acknowledged changes`
  const wayOut = `restore ${path} from a backup, or remove ${markOf(path)} to start without these changes`
  throw new FleetError('STORAGE_CORRUPT', `${fault}; ${wayOut}`)
}

function read(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return Buffer.alloc(0)
    throw error
  }
}

function hasSalts(log: Buffer, salts: Buffer): boolean {
  return log.length >= HEADER_BYTES && log.subarray(16, 24).equals(salts)
}

/** The frames up to the first invalid one, `atMost` of them. */
function validPart(log: Buffer, atMost: number): { readonly frames: number; readonly offset: number } {
  const isBigEndian = log.readUInt32BE(0) !== MAGIC
  const frameBytes = FRAME_HEADER_BYTES + log.readUInt32BE(8)
  const sum = new Checksum(isBigEndian)
  sum.add(log, 0, 24)
  let [frames, offset] = [0, HEADER_BYTES]
  for (; frames < atMost && offset + frameBytes <= log.length; frames += 1, offset += frameBytes) {
    sum.add(log, offset, 8)
    sum.add(log, offset + FRAME_HEADER_BYTES, frameBytes - FRAME_HEADER_BYTES)
    const isOfThisLog = log.compare(log, 16, 24, offset + 8, offset + 16) === 0
    if (!isOfThisLog || !sum.equals(log, offset + 16)) break
  }
  return { frames, offset }
}

/** The checksum of the format, which covers all that was added before. */
class Checksum {
  readonly #swaps: boolean
  readonly #sums = new Uint32Array(2)

  constructor(isBigEndian: boolean) {
    this.#swaps = isBigEndian !== (endianness() === 'BE')
  }

  add(bytes: Buffer, offset: number, length: number): void {
    const part = Buffer.from(bytes.subarray(offset, offset + length))
    if (this.#swaps) part.swap32()
    const words = new Uint32Array(new Uint8Array(part).buffer)
    let [a = 0, b = 0] = this.#sums
    for (let i = 0; i < words.length; i += 2) {
      a = (a + (words[i] ?? 0) + b) | 0
      b = (b + (words[i + 1] ?? 0) + a) | 0
    }
    this.#sums.set([a, b])
  }

  equals(bytes: Buffer, offset: number): boolean {
    return bytes.readUInt32BE(offset) === this.#sums[0] && bytes.readUInt32BE(offset + 4) === this.#sums[1]
  }
}
