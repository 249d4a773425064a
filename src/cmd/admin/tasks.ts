/**
 * @module cmd/admin/tasks
 * `muster tasks`: submits (submit-tasks.ts), lists, finds and cancels tasks, and waits for their results.
 * @see D29, D38, D109, D116
 */
import {
  MAX_TASKS_PER_BATCH,
  type CancelSelectedBody,
  type FailedAttempt,
  type FoundTask,
  type TaskListBody,
} from '../../protocol/index.ts'
import { label, oneOf, text } from '../readers.ts'
import { SettingsError } from '../settings.ts'
import { readInput } from './input.ts'
import { count, typeOperand } from './options.ts'
import { brief, when, type Column } from './printer.ts'
import { submit } from './submit-tasks.ts'
import { printEnd } from './task-end.ts'
import { EXIT, verb, type Invocation, type Noun } from './verb.ts'

const get = verb({
  name: 'get',
  operands: 'TYPE TASK',
  least: 2,
  most: 2,
  names: 'TASK',
  summary:
    'Shows where a task is: pending, in_flight, scheduled or dead; done, expired or cancelled if its outcome is ' +
    'retained. Exits with 3 if it is unknown.',
  options: {},
  examples: ['http-request hello', 'http-request hello -o json'],
  run: async ({ operands, client, printer }) => {
    const { body } = await client.tasks.get(typeOperand(operands[0]), operands[1] ?? '')
    await printer.rows(
      [body],
      [
        { head: 'TASK', cell: (row) => row.task_id, isName: true },
        { head: 'PLACE', cell: (row) => row.place },
      ],
      body,
    )
    if (!printer.isTable) return EXIT.OK
    for (const each of body.attempts ?? []) printer.note(attemptLine(each))
    if (body.progress_at !== undefined) printer.note(`${when(body.progress_at)}  progress ${brief(body.progress)}`)
    return EXIT.OK
  },
})

/** A run that did not finish its task, as a line. */
function attemptLine({ at, kind, error, worker_id: worker }: FailedAttempt): string {
  const what = kind === 'failed' ? `failed: ${brief(error)}` : 'lost its lease'
  return `${when(at)}  the run on worker ${worker} ${what}`
}

const FOUND_COLUMNS: readonly Column<FoundTask>[] = [
  { head: 'TYPE', cell: (row) => row.automation_type, isName: true },
  { head: 'TASK', cell: (row) => row.task_id, isName: true },
  { head: 'PLACE', cell: (row) => row.place },
]

const find = verb({
  name: 'find',
  operands: 'TASK',
  least: 1,
  most: 1,
  names: 'TYPE TASK',
  summary: 'Finds a task by its ID in all types that the token covers. Exits with 3 if it is unknown.',
  options: {},
  examples: ['hello', 'hello -o json'],
  run: async ({ operands, client, printer }) => {
    const { body } = await client.tasks.find(operands[0] ?? '')
    await printer.rows(body, FOUND_COLUMNS, body)
    return body.length === 0 ? EXIT.NOT_FOUND : EXIT.OK
  },
})

type ListedTask = TaskListBody['items'][number]

const LIST_COLUMNS: readonly Column<ListedTask>[] = [
  { head: 'TASK', cell: (row) => row.task_id, isName: true },
  { head: 'PLACE', cell: (row) => row.place },
  { head: 'ATTEMPT', cell: (row) => row.attempt },
  { head: 'SUBMITTED', cell: (row) => when(row.submitted_at) },
  { head: 'WORKER', cell: (row) => row.worker_id },
  { head: 'LABELS', cell: (row) => (row.labels === undefined ? null : brief(row.labels)) },
  { head: 'PRIORITY', cell: (row) => row.priority, isWide: true },
  { head: 'GROUP', cell: (row) => row.group_key, isWide: true },
  { head: 'DUE', cell: (row) => when(row.due_at), isWide: true },
  { head: 'LEASE UNTIL', cell: (row) => when(row.lease_expires_at), isWide: true },
  { head: 'ERROR', cell: (row) => (row.error == null ? null : brief(row.error)), isWide: true },
  { head: 'PAYLOAD', cell: (row) => brief(row.payload) },
]

/** The number of tasks that `ls` prints without `-n`. */
const DEFAULT_LISTED = 100
/** The largest page of a list. */
const PAGE = 1_000

const LIST_OPTIONS = {
  place: {
    name: 'place',
    value: 'PLACE',
    help: 'Only tasks that are pending, in_flight, scheduled or dead (default: all of them).',
    read: oneOf('pending', 'in_flight', 'scheduled', 'dead'),
  },
  label: {
    name: 'label',
    value: 'KEY=VALUE',
    help: 'Only tasks with this label; may be repeated.',
    read: label,
    many: true,
  },
  text: {
    name: 'text',
    value: 'TEXT',
    help: 'Only tasks with this text in their ID or JSON, in any case.',
    read: text,
  },
  worker: {
    name: 'worker',
    value: 'ID',
    help: 'Only tasks that this worker has in flight.',
    read: text,
  },
  n: count(`Maximum number of tasks (default ${DEFAULT_LISTED}).`),
} as const

const ls = verb({
  name: 'ls',
  aliases: ['list'],
  operands: 'TYPE',
  least: 1,
  most: 1,
  names: 'TASK',
  summary: 'Lists tasks that are stored, by place, label and text; prints each page when it has been read.',
  examples: ['http-request --place in_flight', 'http-request --label tenant=acme --text example.com -o json'],
  options: LIST_OPTIONS,
  run: async ({ operands, options, client, printer }) => {
    const type = typeOperand(operands[0])
    const { place, text: wanted, worker: workerId, n = DEFAULT_LISTED } = options
    const labels = options.label.map(([key, value]) => `${key}:${value}`)
    let [listed, examined, cursor]: [number, number, string | undefined] = [0, 0, undefined]
    do {
      const limit = Math.min(n - listed, PAGE)
      const { body } = await client.tasks.list(type, { place, labels, text: wanted, workerId, limit, cursor })
      await printer.stream(body.items, LIST_COLUMNS)
      listed += body.items.length
      examined += body.examined
      cursor = body.cursor ?? undefined
    } while (cursor !== undefined && listed < n)
    printer.note(`${listed} listed, ${examined} examined${cursor === undefined ? '' : '; there may be more, see -n'}`)
    return EXIT.OK
  },
})

const awaitVerb = verb({
  name: 'await',
  operands: 'TYPE TASK',
  least: 2,
  most: 2,
  names: 'TASK',
  summary:
    'Waits for the end of a task that was submitted with --retain, and prints its result. Exits with 0 if it is ' +
    'done, 1 if it is dead, expired or cancelled, 3 if it is unknown, 6 if the time is over.',
  options: {},
  examples: ['greeter order-7', 'greeter order-7 --timeout 300'],
  run: (call) => printEnd(call, typeOperand(call.operands[0]), call.operands[1] ?? ''),
})

const CANCEL_COLUMNS: readonly Column<CancelSelectedBody['results'][number]>[] = [
  { head: 'TASK', cell: (row) => row.task_id, isName: true },
  { head: 'OUTCOME', cell: (row) => row.outcome },
]

const cancel = verb({
  name: 'cancel',
  operands: 'TYPE [TASK…]',
  least: 1,
  most: Infinity,
  names: 'TASK',
  summary: 'Cancels tasks that are pending, scheduled or in flight. Exits with 3 if at least one was not.',
  changes: true,
  examples: ['http-request hello', 'http-request -f ids.txt --yes'],
  options: {
    file: {
      name: 'file',
      short: 'f',
      value: 'FILE',
      help: 'Read task IDs from a file, one per line; - is stdin.',
      read: text,
    },
  },
  run: async (call) => {
    const { client, printer, confirm } = call
    const type = typeOperand(call.operands[0])
    const ids = await idsOf(call)
    if (ids.length > 1) await confirm(`Cancel ${ids.length} tasks of ${type}?`)
    const results: CancelSelectedBody['results'] = []
    for (let at = 0; at < ids.length; at += MAX_TASKS_PER_BATCH)
      results.push(...(await client.tasks.cancel(type, ids.slice(at, at + MAX_TASKS_PER_BATCH))).body.results)
    await printer.rows(results, CANCEL_COLUMNS, { results })
    return results.some(({ outcome }) => outcome !== 'cancelled') ? EXIT.NOT_FOUND : EXIT.OK
  },
})

/** The IDs of the operands, or of the lines of a file. */
async function idsOf({
  operands: [, ...named],
  options: { file },
  io,
}: {
  readonly operands: readonly string[]
  readonly options: { readonly file: string | undefined }
  readonly io: Invocation['io']
}): Promise<readonly string[]> {
  if (named.length > 0 === (file !== undefined))
    throw new SettingsError([
      { name: 'TASK', problem: 'is missing or combined with -f; pass either task IDs or -f FILE' },
    ])
  if (file === undefined) return named
  const lines = (await readInput('-f', file, io)).split('\n').map((line) => line.replace(/\r$/, ''))
  const ids = lines.filter((line) => line !== '')
  if (ids.length === 0) throw new SettingsError([{ name: '-f', problem: `${file} contains no task ID` }])
  return ids
}

export const tasks: Noun = {
  summary: 'submit, list, find or cancel tasks, or wait for their results',
  verbs: [submit, ls, get, find, awaitVerb, cancel],
}
