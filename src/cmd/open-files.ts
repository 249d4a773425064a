/**
 * @module cmd/open-files
 * Reads how many files this process may open. Each connection needs one, and Node has no interface for this limit. Node
 * itself raises the soft limit to the hard limit at its start.
 */
import { readFile } from 'node:fs/promises'

/** Files beside the control sockets: requests, the store, modules. */
const OTHER_FILES = 1_000

/** @returns Infinity if the limit is unknown, as on macOS. */
export async function readOpenFileLimit(path = '/proc/self/limits'): Promise<number> {
  const text = await readFile(path, 'utf8').catch(() => '')
  const soft = /^Max open files\s+(\d+)/m.exec(text)?.[1]
  return soft === undefined ? Infinity : Number(soft)
}

/** What to log at start; null if the limit suffices. */
export function openFilesAdvice(limit: number, maxSockets: number): string | null {
  const needed = maxSockets + OTHER_FILES
  if (limit >= needed) return null
  return (
    `this process may open ${limit} files, which is too few for ${maxSockets} workers (SVC_MAX_SOCKETS): ` +
    `raise the limit to ${needed} (ulimit -n), or lower SVC_MAX_SOCKETS`
  )
}
