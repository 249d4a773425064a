/** The storage level: backends called in process, like the library of a peer. */
import { backlogRows } from './backlog.mjs'
import { beforeRows } from './before.mjs'
import { sqliteRows } from './sqlite.mjs'
import { streamRows } from './streams.mjs'
import { taskRows } from './tasks.mjs'

export const rows = [...taskRows, ...streamRows, ...sqliteRows, ...backlogRows, ...beforeRows]
