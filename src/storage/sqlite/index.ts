/** State in one SQLite file (`filedb://`), for one master. */
export { SqliteBackend, type SqliteOptions } from './backend.ts'
export { readSqliteInfo } from './read-info.ts'
