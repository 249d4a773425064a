/**
 * @module storage/redis/tasks-list
 * Lists the tasks of one place page by page (scripts/tasks.list.lua). A cursor is `at:skip`: the tier of a pending
 * task, or a score, and how many entries of it were listed.
 */
import { MAX_RESPONSE_BYTES } from '../../protocol/index.ts'
import { listCursor } from '../index.ts'
import { taskScript } from './script.ts'
import { readDeadRecord } from './tasks-dead.ts'
import { READS, listOf, readTicket, run, type TaskCaller } from './tasks-layout.ts'
import type { ListedTask, TaskList, TaskPlace } from '../index.ts'
import type { Reply } from './caller.ts'

const LIST = taskScript('tasks.list')

export async function list(
  caller: TaskCaller,
  type: string,
  place: TaskPlace,
  after: string | null,
  limit: number,
  bytes = MAX_RESPONSE_BYTES,
): Promise<TaskList> {
  const [at, skip] = listCursor(after)
  const [nextAt = null, nextSkip, ...reply] = listOf(
    await run(caller, LIST, type, [place, limit, bytes, at, skip], READS),
  )
  const rows: ListedTask[] = []
  for (let i = 0; i < reply.length; i += 3) {
    const body = reply[i + 2]
    if (typeof body === 'string') rows.push({ ...readRow(place, String(reply[i]), reply[i + 1] ?? null), body })
  }
  return { rows, next: nextAt === null ? null : `${String(nextAt)}:${Number(nextSkip)}` }
}

function readRow(place: TaskPlace, record: string, score: Reply): Omit<ListedTask, 'body'> {
  switch (place) {
    case 'pending':
    case 'scheduled': {
      const { id, attempt } = readTicket(record)
      return { id, attempt, atMs: place === 'pending' ? null : Number(score), worker: null, error: null }
    }
    case 'in_flight': {
      const { worker, ticket } = readLease(record)
      const { id, attempt } = readTicket(ticket)
      return { id, attempt, atMs: Number(score), worker, error: null }
    }
    case 'dead': {
      const { id, attempt, diedAtMs, lastError } = readDeadRecord(record)
      return { id, attempt, atMs: diedAtMs, worker: null, error: lastError }
    }
  }
}

/** The length in a lease counts bytes. */
function readLease(lease: string): { readonly worker: string; readonly ticket: string } {
  const bytes = Buffer.from(lease)
  const [head = '', length] = /^\d+:\d+:(\d+):/.exec(lease) ?? []
  const end = head.length + Number(length)
  return { worker: bytes.toString('utf8', head.length, end), ticket: bytes.toString('utf8', end) }
}
