/** The storage level: backends called in process, as a peer's library is. */
import { backlogRows } from './backlog.mjs'
import { sqliteRows } from './sqlite.mjs'
import { streamRows } from './streams.mjs'
import { taskRows } from './tasks.mjs'

export const rows = [...taskRows, ...streamRows, ...sqliteRows, ...backlogRows]
