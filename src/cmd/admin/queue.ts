/**
 * @module cmd/admin/queue
 * `muster queue` lists pending tasks and their groups, and pauses and resumes queues. `muster dead` lists, replays and
 * clears dead-lettered tasks.
 * @see D29, D50, D106, D119
 */
import {
  MAX_TASKS_PER_BATCH,
  type DeadBody,
  type GroupBody,
  type PausedBody,
  type QueueBody,
  type SelectedBody,
} from '../../protocol/index.ts'
import { duration, text, time } from '../readers.ts'
import { SettingsError } from '../settings.ts'
import { count, TASK_IDS, typeOperand } from './options.ts'
import { brief, when, type Column } from './printer.ts'
import { EXIT, verb, type Invocation, type Noun } from './verb.ts'

type QueueItem = QueueBody['items'][number]
type Pause = NonNullable<PausedBody['paused']>
type DeadItem = DeadBody['items'][number]

const QUEUE_COLUMNS: readonly Column<QueueItem>[] = [
  { head: 'TASK', cell: (row) => row.id },
  { head: 'PRIORITY', cell: (row) => row.priority },
  { head: 'ATTEMPT', cell: (row) => row.attempt },
  { head: 'SUBMITTED', cell: (row) => when(row.submitted_at) },
  { head: 'PAYLOAD', cell: (row) => brief(row.payload) },
]

const queueLs = verb({
  name: 'ls',
  operands: 'TYPE',
  least: 1,
  most: 1,
  summary: 'Lists pending tasks in the order in which workers will reserve them.',
  examples: ['http-request', 'http-request -n 100 -o json'],
  options: { n: count('Maximum number of tasks (default 20).') },
  run: async ({ operands, options, client, printer }) => {
    const { body } = await client.tasks.queue(typeOperand(operands[0]), { n: options.n })
    await printer.rows(body.items, QUEUE_COLUMNS, body)
    if (printer.format === 'table') {
      printer.note(`${body.items.length} of ${body.length}`)
      if (body.paused !== undefined) printer.note(pauseText(body.paused))
    }
    return EXIT.OK
  },
})

function pauseText({ note, actor, since, until }: Pause): string {
  const end = until === null ? 'until it is resumed' : `until ${when(until)}`
  return `paused by ${actor} since ${when(since)} ${end}${note === null ? '' : `: ${note}`}`
}

const GROUP_COLUMNS: readonly Column<GroupBody>[] = [
  { head: 'GROUP', cell: (row) => row.group_key },
  { head: 'PENDING', cell: (row) => row.pending },
  { head: 'IN FLIGHT', cell: (row) => row.in_flight },
  { head: 'NEXT START', cell: (row) => (row.next_start_at === undefined ? null : when(row.next_start_at)) },
]

const groups = verb({
  name: 'groups',
  operands: 'TYPE',
  least: 1,
  most: 1,
  summary:
    'Lists up to 50 groups that have tasks, those with the most pending tasks first, and when a rate lets them start.',
  examples: ['http-request', 'http-request -o json'],
  options: {},
  run: async ({ operands, client, printer }) => {
    const type = typeOperand(operands[0])
    const { body } = await client.tasks.queue(type, { n: 1 })
    const rows = body.groups ?? []
    await printer.rows(rows, GROUP_COLUMNS, rows)
    if (body.groups === undefined) printer.note(`"${type}" has no groups; its automation does not declare any`)
    return EXIT.OK
  },
})

const PAUSE_COLUMNS: readonly Column<Pause>[] = [
  { head: 'PAUSED BY', cell: (row) => row.actor },
  { head: 'SINCE', cell: (row) => when(row.since) },
  { head: 'UNTIL', cell: (row) => when(row.until) },
  { head: 'NOTE', cell: (row) => row.note },
]

const pause = verb({
  name: 'pause',
  operands: 'TYPE',
  least: 1,
  most: 1,
  summary: 'Pauses a queue: no task is leased until it is resumed, or until the given time. Running tasks finish.',
  changes: true,
  examples: ['http-request --note "the API is down" --for 30m', 'http-request --until 2030-01-31T08:00:00Z'],
  options: {
    note: { name: 'note', value: 'TEXT', help: 'Why the queue is paused, shown with the pause.', read: text },
    for: { name: 'for', value: 'DURATION', help: 'Resume after this time, such as 90s, 30m or 2h.', read: duration },
    until: {
      name: 'until',
      value: 'TIME',
      help: 'Resume at this time: ISO 8601, such as 2030-01-31T08:00:00Z, or unix seconds.',
      read: time,
    },
  },
  run: async ({ operands, options, client, printer }) => {
    const { note, for: seconds, until } = options
    if (seconds !== undefined && until !== undefined)
      throw new SettingsError([{ name: '--for', problem: 'is combined with --until; pass only one of them' }])
    const given = Object.entries({ note, seconds, until }).filter(([, value]) => value !== undefined)
    const { body } = await client.tasks.pause(typeOperand(operands[0]), Object.fromEntries(given))
    await printer.rows(body.paused === null ? [] : [body.paused], PAUSE_COLUMNS, body)
    return EXIT.OK
  },
})

const resume = verb({
  name: 'resume',
  operands: 'TYPE',
  least: 1,
  most: 1,
  summary: 'Resumes a paused queue. Does nothing if it is not paused.',
  changes: true,
  examples: ['http-request'],
  options: {},
  run: async ({ operands, client, printer }) => {
    const type = typeOperand(operands[0])
    const { body } = await client.tasks.resume(type)
    await printer.rows([body], [{ head: 'PAUSED', cell: () => 'no' }], body)
    return EXIT.OK
  },
})

export const queue: Noun = {
  summary: 'list pending tasks and their groups, pause or resume a queue',
  verbs: [queueLs, groups, pause, resume],
}

const DEAD_COLUMNS: readonly Column<DeadItem>[] = [
  { head: 'TASK', cell: (row) => row.id },
  { head: 'ATTEMPTS', cell: (row) => `${row.attempt}/${row.max_attempts}` },
  { head: 'DIED', cell: (row) => when(row.died_at) },
  { head: 'LAST ERROR', cell: (row) => (row.last_error === null ? null : brief(row.last_error)) },
  { head: 'PAYLOAD', cell: (row) => brief(row.payload) },
]

const deadLs = verb({
  name: 'ls',
  operands: 'TYPE',
  least: 1,
  most: 1,
  summary: 'Lists dead tasks, oldest first.',
  examples: ['http-request', 'http-request -n 1000 -o json'],
  options: { n: count('Maximum number of tasks (default 50).') },
  run: async ({ operands, options, client, printer }) => {
    const { body } = await client.tasks.dead(typeOperand(operands[0]), { n: options.n })
    await printer.rows(body.items, DEAD_COLUMNS, body)
    if (printer.format === 'table') printer.note(`${body.items.length} of ${body.length}`)
    return EXIT.OK
  },
})

const replay = verb({
  name: 'replay',
  operands: 'TYPE',
  least: 1,
  most: 1,
  summary: 'Puts dead tasks back into the queue with their attempts reset; the oldest ones unless --task-id is given.',
  changes: true,
  examples: ['http-request -n 100', 'http-request --task-id hello'],
  options: { n: count('Maximum number of tasks (default 50).'), taskIds: TASK_IDS },
  run: async (call) => {
    const { operands, options, client, printer, confirm } = call
    const type = typeOperand(operands[0])
    if (options.taskIds.length > 0 && options.n !== undefined)
      throw new SettingsError([{ name: '-n', problem: 'cannot be combined with --task-id' }])
    if (options.taskIds.length > 0) return select(call, type, 'replay', options.taskIds)
    await confirm(`Replay the oldest ${options.n ?? 50} dead tasks of ${type}?`)
    const { body } = await client.tasks.replay(type, { n: options.n })
    await printer.rows([body], [{ head: 'REPLAYED', cell: (row) => row.replayed }], body)
    return EXIT.OK
  },
})

const clear = verb({
  name: 'clear',
  operands: 'TYPE',
  least: 1,
  most: 1,
  summary: 'Removes dead tasks permanently: those given by --task-id, or all.',
  changes: true,
  examples: ['http-request --yes', 'http-request --task-id hello'],
  options: { taskIds: TASK_IDS },
  run: async (call) => {
    const { operands, options, client, printer, confirm } = call
    const type = typeOperand(operands[0])
    const named = options.taskIds.length
    await confirm(
      named === 0
        ? `Permanently remove all dead tasks of ${type}?`
        : `Permanently remove ${named} dead ${named === 1 ? 'task' : 'tasks'} of ${type}?`,
    )
    if (named > 0) return select(call, type, 'remove', options.taskIds)
    const { body } = await client.tasks.clearDead(type)
    await printer.rows([body], [{ head: 'CLEARED', cell: (row) => row.cleared }], body)
    return EXIT.OK
  },
})

const SELECT_COLUMNS: readonly Column<SelectedBody['results'][number]>[] = [
  { head: 'TASK', cell: (row) => row.task_id },
  { head: 'OUTCOME', cell: (row) => row.outcome },
]

/** Replays or removes the given dead tasks. @returns exit code 3 if at least one of them was not dead. */
async function select(
  { client, printer }: Pick<Invocation, 'client' | 'printer'>,
  type: string,
  action: 'replay' | 'remove',
  taskIds: readonly string[],
): Promise<number> {
  const results: SelectedBody['results'] = []
  for (let at = 0; at < taskIds.length; at += MAX_TASKS_PER_BATCH) {
    results.push(
      ...(await client.tasks.selectDead(type, action, taskIds.slice(at, at + MAX_TASKS_PER_BATCH))).body.results,
    )
  }
  await printer.rows(results, SELECT_COLUMNS, { results })
  return results.some(({ outcome }) => outcome === 'not_dead') ? EXIT.NOT_FOUND : EXIT.OK
}

export const dead: Noun = { summary: 'list, replay or clear dead-lettered tasks', verbs: [deadLs, replay, clear] }
