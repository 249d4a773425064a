/**
 * @module storage/sqlite/driver
 * The one file that names better-sqlite3. Everything else sees a database of prepared statements, and of an error
 * its kind alone.
 */
import Sqlite from 'better-sqlite3'

export type Database = Sqlite.Database
/** A prepared statement: what it binds, and the row it returns. */
export type Statement<Bound extends unknown[], Row = unknown> = Sqlite.Statement<Bound, Row>

/**
 * `fileMustExist`: files are made by files.ts, with their modes, before SQLite sees them. A busy file is refused
 * immediately.
 */
export function openDatabase(path: string, { isReadonly = false } = {}): Database {
  return new Sqlite(path, { fileMustExist: true, timeout: 0, readonly: isReadonly })
}

/**
 * What an error of the database means for the caller.
 * `busy`: another process holds the file. `full`: the disk is. `corrupt`: the file's structure is broken, or it is no
 * database. `io`: reading or writing failed, so the state of the handle is not known. `null`: not the medium's fault.
 */
export type Fault = 'busy' | 'full' | 'corrupt' | 'io' | null

const FAULTS: readonly (readonly [string, Fault])[] = [
  ['SQLITE_BUSY', 'busy'],
  ['SQLITE_LOCKED', 'busy'],
  ['SQLITE_FULL', 'full'],
  ['SQLITE_CORRUPT', 'corrupt'],
  ['SQLITE_NOTADB', 'corrupt'],
  ['SQLITE_IOERR', 'io'],
  ['SQLITE_CANTOPEN', 'io'],
  ['SQLITE_READONLY', 'io'],
  ['SQLITE_PERM', 'io'],
]

/** Extended codes (`SQLITE_IOERR_FSYNC`) count as the code that they extend. */
export function faultOf(error: unknown): Fault {
  const code = codeOf(error)
  return FAULTS.find(([prefix]) => code === prefix || code.startsWith(`${prefix}_`))?.[1] ?? null
}

/**
 * The code of an error of SQLite or of the file system. Asked of the field, since such errors may come from another
 * realm.
 */
export function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : ''
}

export function messageOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : String(error)
}
