/**
 * @module storage/sqlite/read-info
 * Reads what a file says about itself, without the checks of a master: it creates and migrates nothing, and also reads
 * a file of a newer release. It fails while a master uses the file, because a master locks it exclusively.
 */
import { statSync } from 'node:fs'
import { FleetError } from '../../protocol/index.ts'
import { needsIn, type StoreInfo } from '../index.ts'
import { openDatabase, type Database } from './driver.ts'
import { checkApplication, openError, readMeta } from './store.ts'

const EMPTY: StoreInfo = { schema: null, epoch: null, needs: [], masters: null }

/**
 * @returns `masters` is null, because the file serves one process.
 * @throws {FleetError} STORAGE_LOCKED, STORAGE_CORRUPT, STORAGE_UNAVAILABLE.
 */
export function readSqliteInfo(path: string): StoreInfo {
  if (sizeOf(path) === 0) return EMPTY
  let db: Database | undefined
  try {
    // Only the last connection that may write copies a log into the file, which is left to the next master.
    db = openDatabase(path, { isReadonly: sizeOf(`${path}-wal`) > 0 })
    db.pragma('query_only = ON')
    return infoIn(db, path)
  } catch (error) {
    throw openError(path, error)
  } finally {
    db?.close()
  }
}

function infoIn(db: Database, path: string): StoreInfo {
  checkApplication(db, path)
  const schema = Number(db.pragma('user_version', { simple: true }))
  if (schema === 0) return EMPTY
  return { schema, epoch: String(readMeta(db, 'epoch')), needs: needsIn(readMeta(db, 'needs')), masters: null }
}

/** @returns 0 for a file that does not exist. */
function sizeOf(path: string): number {
  try {
    return statSync(path, { throwIfNoEntry: false })?.size ?? 0
  } catch (error) {
    throw new FleetError('STORAGE_UNAVAILABLE', `${path} cannot be read: ${(error as Error).message}`, {
      cause: error,
      outcome: 'not_sent',
    })
  }
}
