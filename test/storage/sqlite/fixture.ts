/** Shared by the tests of the SQLite backend: a folder per test, and backends on a file. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach } from '@jest/globals'
import { seededRandom, VirtualTime, type Clock } from '../../../src/runtime/index.ts'
import { SqliteBackend, type SqliteOptions } from '../../../src/storage/sqlite/index.ts'

/** Node runs the thread from its source. */
export const THREAD_URL = pathToFileURL(join(import.meta.dirname, '../../../src/storage/sqlite/thread.ts'))

export interface Folder {
  readonly path: string
  readonly file: string
}

/** Call once per describe. Returns a function that creates a folder, which is removed after the test. */
export function folders(): () => Folder {
  const made: string[] = []
  afterEach(() => {
    for (const path of made.splice(0)) rmSync(path, { recursive: true, force: true })
  })
  return () => {
    const path = mkdtempSync(join(tmpdir(), 'muster-sqlite-'))
    made.push(path)
    return { path, file: join(path, 'state', 'master.db') }
  }
}

/** Returns a backend on a file. Its timers run only when the test advances `time`. */
export function backendOn(
  file: string,
  clock: Clock,
  more: Partial<SqliteOptions> & { readonly time?: VirtualTime } = {},
): SqliteBackend {
  const { time = new VirtualTime(), ...options } = more
  return new SqliteBackend({ path: file, clock, timers: time, random: seededRandom(seed++), ...options })
}

let seed = 1 // Each store has its own epoch.
