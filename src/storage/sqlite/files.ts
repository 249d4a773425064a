/**
 * @module storage/sqlite/files
 * The file of the store before SQLite sees it. Configs and payloads lie in it in clear, so only its owner may read it:
 * folder 0700, file 0600 (the write-ahead log beside it inherits that). What is found wider is narrowed, and said.
 */
import { FleetError } from '../../protocol/index.ts'
import { codeOf, messageOf } from './driver.ts'
import {
  chmodSync,
  closeSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  statfsSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'

const FILE_MODE = 0o600
const FOLDER_MODE = 0o700
const CHUNK_BYTES = 1_048_576
/** `f_type` of file systems on which neither locks nor fsync can be trusted. @see statfs(2) */
const NETWORK_FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB2'],
  [0x01021997, '9p'],
  [0x00c36400, 'CephFS'],
  [0x6b414653, 'AFS'],
])

/**
 * Makes folder and file where they are missing, and makes their names durable before the first reply leaves.
 *
 * @returns what an administrator should know; empty when all is well.
 * @throws {FleetError} STORAGE_UNAVAILABLE: not ours, no regular file, or not to be made.
 */
export function prepareFile(path: string): readonly string[] {
  try {
    const folder = dirname(path)
    const made = mkdirSync(folder, { recursive: true, mode: FOLDER_MODE })
    const isNew = createFile(path)
    if (isNew) syncFolder(folder)
    if (made !== undefined) syncFolder(dirname(made))
    return [
      ...(made === undefined && !isNew ? narrowed(folder, FOLDER_MODE) : []),
      ...narrowed(path, FILE_MODE),
      ...networkWarning(folder),
    ]
  } catch (error) {
    if (error instanceof FleetError) throw error
    throw new FleetError(
      'STORAGE_UNAVAILABLE',
      `the store ${path} cannot be used: ${messageOf(error)}; make its folder writable for this user`,
      { cause: error, outcome: 'not_sent' },
    )
  }
}

/**
 * True where the file is new. `wx` is O_EXCL: two masters that start simultaneously do not both believe that they
 * created it.
 */
function createFile(path: string): boolean {
  let handle: number
  try {
    handle = openSync(path, 'wx', FILE_MODE)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
  fsyncSync(handle)
  closeSync(handle)
  return true
}

/**
 * Writes a file with the content that it has, and syncs it. After a failed fsync the kernel takes pages for written
 * that are not on the disk, and only a write makes it write them.
 */
export function writeAgain(path: string): void {
  const handle = openSync(path, 'r+')
  try {
    const bytes = Buffer.alloc(CHUNK_BYTES)
    let offset = 0
    for (let count = 1; count > 0; offset += count) {
      count = readSync(handle, bytes, 0, CHUNK_BYTES, offset)
      writeSync(handle, bytes, 0, count, offset)
    }
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/** Without this the file's name, and all that is in it, may be gone after a power cut. */
function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/**
 * Removes the permissions of other users. A folder shared on purpose (`/tmp`, another owner) keeps its mode; the file
 * never does.
 */
function narrowed(path: string, mode: number): readonly string[] {
  const found = mode === FILE_MODE ? lstatSync(path) : statSync(path)
  if (mode === FILE_MODE && !found.isFile())
    throw new FleetError('STORAGE_UNAVAILABLE', `the store ${path} is not a regular file`, { outcome: 'not_sent' })
  const us = process.getuid?.() ?? found.uid
  if (found.uid !== us) {
    if (mode === FOLDER_MODE) return []
    throw new FleetError(
      'STORAGE_UNAVAILABLE',
      `the store ${path} belongs to user ${found.uid}, this process runs as ${us}; change its owner to this user`,
      { outcome: 'not_sent' },
    )
  }
  const wide = found.mode & 0o7777 & ~mode
  if (wide === 0 || (found.mode & 0o1000) !== 0) return []
  chmodSync(path, found.mode & mode)
  return [
    `${path} was accessible to other users (mode ${(found.mode & 0o7777).toString(8)}); ` +
      `changed to ${(found.mode & mode).toString(8)}`,
  ]
}

function networkWarning(folder: string): readonly string[] {
  const name = NETWORK_FILE_SYSTEMS.get(statfsSync(folder).type)
  return name === undefined
    ? []
    : [`${folder} is on a network file system (${name}), where locks and fsync are unreliable; use a local disk`]
}
