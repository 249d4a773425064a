/**
 * @module cmd/admin/pipe-reader
 * Checks whether a pipe still has a reader, without writing to it. `muster … | head` should end when `head` does, but a
 * silent stream writes nothing and so never receives EPIPE. Node cannot poll a pipe that it only writes to, so this
 * reads /proc to find which processes have the other end open. /proc does not show the files of another user's
 * processes: a pipe whose reader was never found counts as read, and the next write detects its end.
 */
import { fstatSync, lstatSync, readdirSync, readlinkSync } from 'node:fs'

const READ_END = 0o400

/**
 * @returns a function that checks whether the pipe `fd` has a reader. It always returns true for a file that is not a
 *   pipe, and without /proc.
 */
export function pipeReader(fd: number): () => boolean {
  if (!fstatSync(fd).isFIFO()) return () => true
  const pipe = linkOf(`/proc/self/fd/${fd}`)
  let readers = readersOf(pipe)
  if (readers.length === 0) return () => true
  return () => {
    // The reader may have passed its end to another process.
    if (!readers.some((each) => linkOf(each) === pipe)) readers = readersOf(pipe)
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
