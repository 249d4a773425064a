/** Deliberate defects of the store, each of which the crash points must find. */
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const REPOSITORY = join(import.meta.dirname, '../..')
const COPIED = ['package.json', 'src/protocol', 'src/runtime', 'src/storage', 'test/durability', 'test/kit']

/** One edit of a source file. `find` occurs exactly once in it. */
export interface Control {
  readonly file: string
  readonly find: string
  readonly replace: string
}

/** Commits are synced at the next checkpoint only. */
export const SYNCHRONOUS_NORMAL: Control = {
  file: 'src/storage/sqlite/session.ts',
  find: "this.#setSync(kind !== 'write')",
  replace: 'this.#setSync(true)',
}

/** The name of a new folder is not durable. */
export const NO_FOLDER_SYNC: Control = {
  file: 'src/storage/sqlite/files.ts',
  find: 'if (made !== undefined) syncFolder(dirname(made))',
  replace: '',
}

/** A log is used further after an fsync of it failed. */
export const LOG_KEPT_AFTER_FAULT: Control = {
  file: 'src/storage/sqlite/store.ts',
  find: '    emptyLog(db, isAfterFault)\n',
  replace: '',
}

/** A log that a full disk keeps is used further at a restart, although the process before may have had an I/O error. */
export const LOG_NOT_WRITTEN_AGAIN: Control = {
  file: 'src/storage/sqlite/store.ts',
  find: '    writeAgain(`${db.name}-wal`)\n',
  replace: '',
}

/**
 * Copies the sources to `folder`, with the edit.
 *
 * @param program A program of this folder.
 * @returns the program of the copy.
 */
export function copyWith({ file, find, replace }: Control, folder: string, program = 'load.ts'): string {
  for (const path of COPIED) cpSync(join(REPOSITORY, path), join(folder, path), { recursive: true })
  symlinkSync(join(REPOSITORY, 'node_modules'), join(folder, 'node_modules'))
  const source = readFileSync(join(folder, file), 'utf8')
  if (source.split(find).length !== 2) throw new Error(`${file} does not have "${find}" exactly once`)
  writeFileSync(join(folder, file), source.replace(find, replace))
  return join(folder, 'test/durability', program)
}
