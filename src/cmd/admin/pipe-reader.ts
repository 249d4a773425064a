/**
 * @module cmd/admin/pipe-reader
 * Whether a pipe still has a reader, without writing to it: `muster … | head` should end with `head`, but a stream that
 * is silent writes nothing and so never meets EPIPE. Node cannot poll a pipe that it only writes to, so the table of
 * open files tells: who holds the other end. A reader of another user is not seen there; a pipe whose reader was never
 * seen counts as read, and ends at the next write.
 */
import { fstatSync, lstatSync, readdirSync, readlinkSync } from 'node:fs'

const READ_END = 0o400

/** Answers whether the pipe `fd` is read. Always true for what is no pipe, and where there is no /proc. */
export function pipeReader(fd: number): () => boolean {
  if (!fstatSync(fd).isFIFO()) return () => true
  const pipe = linkOf(`/proc/self/fd/${fd}`)
  let readers = readersOf(pipe)
  if (readers.length === 0) return () => true
  return () => {
    if (!readers.some((each) => linkOf(each) === pipe)) readers = readersOf(pipe) // It may have handed its end on.
    return readers.length > 0
  }
}

function readersOf(pipe: string | null): readonly string[] {
  if (pipe === null) return []
  const tables = namesIn('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => `/proc/${pid}/fd`)
  return tables
    .flatMap((table) => namesIn(table).map((name) => `${table}/${name}`))
    .filter((path) => linkOf(path) === pipe && isReadEnd(path))
}

function isReadEnd(path: string): boolean {
  const entry = lstatSync(path, { throwIfNoEntry: false })
  return entry !== undefined && (entry.mode & READ_END) !== 0
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return [] // Another user's, or a process that has just ended.
  }
}

function linkOf(path: string): string | null {
  try {
    return readlinkSync(path)
  } catch {
    return null // Closed, or gone with its process.
  }
}
