/**
 * @module storage/sqlite/store
 * Opens the database so that it can be relied on, or says why not. In this order: modes, log, exclusive lock, identity,
 * schema, structure, epoch. Nothing is repaired or replaced unasked: a fault names the file and its first finding.
 *
 * `clean` is unset at open and set at close, so a store found without it was stopped by a crash and is checked whole.
 *
 * After a failed fsync the kernel takes its pages for written, although they may never reach the disk, and still
 * returns them to readers. Changes that are committed behind such pages in the log would be lost in a power cut. So an
 * open copies the log into the file and empties it before the first change is acknowledged; on a full disk it writes
 * the log again. Checkpoints are made by the session, since SQLite ignores the errors of its automatic ones (D94).
 */
import { FleetError } from '../../protocol/index.ts'
import { checkNeeds, layoutOf, NEEDS_MARK, withNeed, type LayoutNeed } from '../index.ts'
import { faultOf, messageOf, openDatabase, type Database } from './driver.ts'
import { prepareFile, writeAgain } from './files.ts'
import { checkLog } from './log-mark.ts'
import { ADDED_COLUMNS, ADDED_INDEXES, ADDITIONS, APPLICATION_ID, MIGRATIONS, SCHEMA } from './schema.ts'
import { statSync } from 'node:fs'

export interface Store {
  readonly db: Database
  readonly epoch: string
  /** The highest time that this store ever returned; 0 in a new one. */
  readonly timeMs: number
  readonly warnings: readonly string[]
}

/** Called with the size of the file before its structure is checked. The check takes seconds for each GiB. */
export type OnCheck = (fileBytes: number) => void

// FULL: fsync at every commit; better-sqlite3's own default would be NORMAL.
const PRAGMAS: readonly string[] = [
  'page_size = 4096',
  'auto_vacuum = INCREMENTAL',
  'journal_mode = WAL',
  'synchronous = FULL',
  'fullfsync = ON', // Does something on macOS alone, where fsync by itself does not reach the disk.
  'cache_size = -65536',
  'temp_store = MEMORY',
  'mmap_size = 0',
  'wal_autocheckpoint = 0',
  'journal_size_limit = 67108864',
  'busy_timeout = 0',
  'trusted_schema = OFF',
  'cell_size_check = ON',
  'foreign_keys = OFF',
]

/**
 * @param newEpoch written into an empty store (D15).
 * @param isAfterFault this process had an I/O error on the store: a log that cannot be emptied is an error then. At the
 *   start of a process a full disk is tolerated, because acknowledgements and removals work on one.
 * @throws {FleetError} STORAGE_LOCKED, STORAGE_SCHEMA, STORAGE_CORRUPT, STORAGE_UNAVAILABLE, STORAGE_FULL.
 */
export function openStore(path: string, newEpoch: string, isAfterFault: boolean, onCheck: OnCheck): Store {
  const warnings = prepareFile(path)
  let db: Database | undefined
  try {
    checkLog(path)
    db = openDatabase(path)
    db.pragma('locking_mode = EXCLUSIVE') // Before the first read, or SQLite would make a shared-memory file.
    checkIdentity(db, path)
    for (const pragma of PRAGMAS) db.pragma(pragma)
    const store = { ...enter(db, path, newEpoch, onCheck), warnings }
    emptyLog(db, isAfterFault)
    return store
  } catch (error) {
    db?.close()
    throw openError(path, error)
  }
}

/** Marks a stop in order, and leaves one file without a log beside it. */
export function closeStore(db: Database, timeMs: number): void {
  try {
    if (db.inTransaction) db.exec('ROLLBACK')
    db.pragma('synchronous = FULL')
    writeMeta(db, 'time', timeMs)
    writeMeta(db, 'clean', 1)
    db.pragma('wal_checkpoint(TRUNCATE)')
  } finally {
    db.close()
  }
}

/**
 * Copies the log into the file, syncs both, and truncates the log. On a full disk the log stays, and is written again:
 * the process before may have ended because of a failed fsync.
 */
function emptyLog(db: Database, isAfterFault: boolean): void {
  try {
    db.pragma('wal_checkpoint(TRUNCATE)')
  } catch (error) {
    if (isAfterFault || faultOf(error) !== 'full') throw error
    writeAgain(`${db.name}-wal`)
  }
}

/** Runs before anything is written: a database of another program must not be turned into a store. */
function checkIdentity(db: Database, path: string): void {
  checkApplication(db, path)
  const recorded = Number(db.pragma('user_version', { simple: true }))
  const version = layoutOf(recorded)
  if (version > SCHEMA)
    throw new FleetError(
      'STORAGE_SCHEMA',
      `${path} was written by a newer version (schema ${version}, this one knows ${SCHEMA}); ` +
        'start that version, or name another file',
    )
  if (recorded !== version) checkNeeds(String(readMeta(db, 'needs')), path)
}

/** @throws {FleetError} STORAGE_CORRUPT for a database that is neither a store nor empty. */
export function checkApplication(db: Database, path: string): void {
  const id = db.pragma('application_id', { simple: true })
  const tables = db.prepare<[], number>('SELECT count(*) FROM sqlite_schema').pluck().get() ?? 0
  if (id !== APPLICATION_ID && (tables > 0 || id !== 0))
    throw new FleetError(
      'STORAGE_CORRUPT',
      `${path} is a database of another program (application id ${String(id)}); name another file`,
    )
}

/** The first write takes the file lock, which dies with the process. */
function enter(db: Database, path: string, newEpoch: string, onCheck: OnCheck): Omit<Store, 'warnings'> {
  db.exec('BEGIN IMMEDIATE')
  const isNew = Number(db.pragma('user_version', { simple: true })) === 0
  const clean = isNew || readMeta(db, 'clean') === 1
  db.exec('COMMIT')
  if (!clean) {
    onCheck(statSync(path).size)
    checkStructure(db, path)
  }
  db.exec('BEGIN IMMEDIATE')
  migrate(db)
  if (isNew) writeMeta(db, 'epoch', newEpoch)
  writeMeta(db, 'clean', 0)
  db.exec('COMMIT')
  return { db, epoch: String(readMeta(db, 'epoch')), timeMs: Number(readMeta(db, 'time') ?? 0) }
}

/** Records what the data needs beside the layout (D121), in the transaction that writes such data. */
export function declareNeed(db: Database, need: LayoutNeed): void {
  const recorded = readMeta(db, 'needs')
  const needs = typeof recorded === 'string' ? recorded : ''
  const more = withNeed(needs, need)
  if (more === needs) return
  writeMeta(db, 'needs', more)
  db.pragma(`user_version = ${SCHEMA + NEEDS_MARK}`)
}

function migrate(db: Database): void {
  const recorded = Number(db.pragma('user_version', { simple: true }))
  const version = layoutOf(recorded)
  for (const step of MIGRATIONS.slice(version)) db.exec(step)
  db.exec(ADDITIONS)
  for (const { table, column, type } of ADDED_COLUMNS)
    if (!columnsOf(db, table).includes(column)) db.exec(`ALTER TABLE ${table} ADD COLUMN ${column} ${type}`)
  db.exec(ADDED_INDEXES)
  if (version === SCHEMA) return
  db.pragma(`application_id = ${APPLICATION_ID}`)
  db.pragma(`user_version = ${SCHEMA + recorded - version}`)
}

function columnsOf(db: Database, table: string): readonly string[] {
  return db.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck().all(table)
}

function checkStructure(db: Database, path: string): void {
  const finding = String(db.pragma('quick_check(1)', { simple: true }))
  if (finding !== 'ok')
    throw new FleetError(
      'STORAGE_CORRUPT',
      `${path} is damaged: ${finding}; restore it from a backup, or name another file`,
    )
}

export function readMeta(db: Database, key: string): unknown {
  return db.prepare<[string]>('SELECT v FROM meta WHERE k = ?').pluck().get(key)
}

function writeMeta(db: Database, key: string, value: string | number): void {
  db.prepare('INSERT INTO meta(k, v) VALUES(?, ?) ON CONFLICT(k) DO UPDATE SET v = excluded.v').run(key, value)
}

export function openError(path: string, error: unknown): FleetError {
  if (error instanceof FleetError) return error
  const reason = messageOf(error)
  switch (faultOf(error)) {
    case 'busy':
      return new FleetError('STORAGE_LOCKED', `another master uses this file: ${path}; stop it, or name another file`, {
        cause: error,
        outcome: 'not_sent',
      })
    case 'corrupt':
      return new FleetError(
        'STORAGE_CORRUPT',
        `${path} is damaged: ${reason}; restore it from a backup, or name another file`,
        { cause: error },
      )
    case 'full':
      return new FleetError('STORAGE_FULL', `${path} cannot be opened: the disk is full`, {
        cause: error,
        outcome: 'not_sent',
      })
    case 'io':
    case null:
      return new FleetError('STORAGE_UNAVAILABLE', `${path} cannot be opened: ${reason}`, {
        cause: error,
        outcome: 'not_sent',
      })
  }
}
