/**
 * @module cmd/admin/worker-logs
 * `muster workers logs` prints the log entries that a worker keeps in memory, and follows new ones.
 * @see D181
 */
import {
  MAX_LOG_ENTRIES_PER_READ,
  WORKER_LOG_LEVELS,
  type WorkerLogEntry,
  type WorkerLogsBody,
  type WorkerLogsQuery,
} from '../../protocol/index.ts'
import { duration, flag, integer, logLevel, text } from '../readers.ts'
import { follow } from './follow.ts'
import { workerOperand } from './options.ts'
import { brief, type Column, type Printer } from './printer.ts'
import { EXIT, verb, type Invocation } from './verb.ts'

const LOOK_EVERY_MS = 1_000

const COLUMNS: readonly Column<WorkerLogEntry>[] = [
  { head: 'TIME', cell: (row) => new Date(row.ts * 1_000).toISOString() },
  { head: 'LEVEL', cell: (row) => row.level },
  { head: 'SLOT', cell: (row) => row.slot_id },
  { head: 'TASK', cell: (row) => row.task_id },
  { head: 'MESSAGE', cell: (row) => [row.message, ...Object.entries(row.fields).map(fieldText)].join(' ') },
]

const fieldText = ([name, value]: readonly [string, unknown]): string => `${name}=${brief(value)}`

export const logs = verb({
  name: 'logs',
  operands: 'TYPE/ID',
  least: 1,
  most: 1,
  summary: 'Prints the newest log entries that a connected worker keeps, oldest first.',
  examples: ['http-request/r-1', 'http-request/r-1 --level warn --since 10m', 'http-request/r-1 --task t-7 --follow'],
  options: {
    n: {
      name: 'n',
      short: 'n',
      value: 'N',
      help: 'Number of entries to start with (default 200).',
      read: integer(1, MAX_LOG_ENTRIES_PER_READ),
    },
    task: { name: 'task', value: 'ID', help: 'Only entries of the runs of this task.', read: text },
    level: {
      name: 'level',
      value: WORKER_LOG_LEVELS.join('|'),
      help: 'Only entries of this level and of more severe ones.',
      read: logLevel,
    },
    since: {
      name: 'since',
      value: 'DURATION',
      help: 'All entries of this time that the worker still has, such as 90s, 10m or 2h. -n is ignored.',
      read: duration,
    },
    follow: { name: 'follow', short: 'f', help: 'Follow new entries until Ctrl-C.', read: flag },
  },
  run: async ({ operands, options, client, io, printer }) => {
    const { n, task, level, since, follow: isFollowed } = options
    const { type, id } = workerOperand(operands[0])
    const filter: WorkerLogsQuery = {
      ...(task !== undefined && { task_id: task }),
      ...(level !== undefined && { level }),
    }
    const read = async (query: WorkerLogsQuery): Promise<WorkerLogsBody> =>
      (await client.workers.logs(type, id, { ...filter, ...query })).body
    const next =
      since === undefined ? await printNewest(printer, read, n) : await printSince({ io, printer }, read, since)
    if (isFollowed) await followFrom({ io, printer }, read, next)
    return EXIT.OK
  },
})

type Read = (query: WorkerLogsQuery) => Promise<WorkerLogsBody>

/** @returns the `after` of the next read. */
async function printNewest(printer: Printer, read: Read, n: number | undefined): Promise<number> {
  const { entries, next } = await read(n === undefined ? {} : { limit: n })
  await printer.stream(entries, COLUMNS)
  return next
}

async function printSince({ io, printer }: Pick<Invocation, 'io' | 'printer'>, read: Read, seconds: number) {
  const from = io.time.wallMs() / 1_000 - seconds
  return printBehind(printer, read, 0, ({ ts }) => ts >= from)
}

/** Prints all entries behind a sequence number. @returns the `after` of the next read. */
async function printBehind(
  printer: Printer,
  read: Read,
  after: number,
  isShown: (entry: WorkerLogEntry) => boolean = () => true,
): Promise<number> {
  for (let from = after; ;) {
    const { entries, next, has_more, missed } = await read({ after: from, limit: MAX_LOG_ENTRIES_PER_READ })
    if (from !== 0) noteMissed(printer, missed)
    await printer.stream(entries.filter(isShown), COLUMNS)
    if (!has_more) return next
    from = next
  }
}

function noteMissed(printer: Printer, missed: number | null): void {
  if (missed === null) printer.note('the worker has restarted; what follows is the log of its new process')
  else if (missed > 0) printer.note(`${missed} entries were overwritten before they could be read`)
}

/** A worker that is offline for a while is waited for. */
function followFrom(to: Pick<Invocation, 'io' | 'printer'>, read: Read, after: number): Promise<void> {
  let next = after
  return follow(to, {
    everyMs: LOOK_EVERY_MS,
    what: 'the log',
    look: async () => void (next = await printBehind(to.printer, read, next)),
    mayPass: ({ code }) => code === 'NOT_FOUND',
  })
}
