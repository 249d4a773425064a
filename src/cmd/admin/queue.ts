/**
 * @module cmd/admin/queue
 * `muster queue` lists pending tasks and their groups, shows the history of queues, and pauses and resumes them.
 * @see D29, D106, D119, D166
 */
import type { GroupBody, QueueHistoryStep, LatencyBody, PausedBody, QueueBody } from '../../protocol/index.ts'
import { duration, text, time } from '../readers.ts'
import { SettingsError } from '../settings.ts'
import { count, typeOperand } from './options.ts'
import { brief, when, type Column } from './printer.ts'
import { EXIT, verb, type Noun } from './verb.ts'

type QueueItem = QueueBody['items'][number]
type Pause = NonNullable<PausedBody['paused']>

const QUEUE_COLUMNS: readonly Column<QueueItem>[] = [
  { head: 'TASK', cell: (row) => row.id, isName: true },
  { head: 'PRIORITY', cell: (row) => row.priority },
  { head: 'ATTEMPT', cell: (row) => row.attempt },
  { head: 'SUBMITTED', cell: (row) => when(row.submitted_at) },
  { head: 'GROUP', cell: (row) => row.group_key, isWide: true },
  { head: 'LABELS', cell: (row) => (row.labels === undefined ? null : brief(row.labels)), isWide: true },
  { head: 'PAYLOAD', cell: (row) => brief(row.payload) },
]

const queueLs = verb({
  name: 'ls',
  aliases: ['list'],
  operands: 'TYPE',
  least: 1,
  most: 1,
  names: 'TASK',
  summary: 'Lists pending tasks in the order in which workers will reserve them.',
  examples: ['http-request', 'http-request -n 100 -o json'],
  options: { n: count('Maximum number of tasks (default 20).') },
  run: async ({ operands, options, client, printer }) => {
    const { body } = await client.tasks.queue(typeOperand(operands[0]), { n: options.n })
    await printer.rows(body.items, QUEUE_COLUMNS, body)
    if (printer.isTable) {
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
  { head: 'GROUP', cell: (row) => row.group_key, isName: true },
  { head: 'PENDING', cell: (row) => row.pending },
  { head: 'IN FLIGHT', cell: (row) => row.in_flight },
  { head: 'NEXT START', cell: (row) => (row.next_start_at === undefined ? null : when(row.next_start_at)) },
]

const groups = verb({
  name: 'groups',
  operands: 'TYPE',
  least: 1,
  most: 1,
  names: 'GROUP',
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

const perMinute = (tasks: number | null, seconds: number | null): string | null =>
  tasks === null || seconds === null ? null : `${Math.round((600 * tasks) / seconds) / 10}`
const times = (latency: LatencyBody | null): string | null =>
  latency === null ? null : `${latency.p50} / ${latency.p95} / ${latency.p99}`

const HISTORY_COLUMNS: readonly Column<QueueHistoryStep>[] = [
  { head: 'FROM', cell: (row) => when(row.ts) },
  { head: 'IN/MIN', cell: (row) => perMinute(row.submitted, row.seconds) },
  { head: 'DONE/MIN', cell: (row) => perMinute(row.done, row.seconds) },
  { head: 'FAILED/MIN', cell: (row) => perMinute(row.failed, row.seconds) },
  { head: 'DIED/MIN', cell: (row) => perMinute(row.died, row.seconds) },
  { head: 'WAITING', cell: (row) => row.waiting },
  { head: 'OLDEST S', cell: (row) => row.oldest_seconds },
  { head: 'WAIT S P50/P95/P99', cell: (row) => times(row.wait) },
  { head: 'RUN S P50/P95/P99', cell: (row) => times(row.run) },
]

const history = verb({
  name: 'history',
  operands: 'TYPE',
  least: 1,
  most: 1,
  summary: 'Shows rates, waiting tasks, and wait and run times of a queue, by steps of time. Kept for 30 days.',
  examples: ['http-request', 'http-request --last 7d --step 1h', 'http-request --from 2030-01-31T08:00:00Z --last 2h'],
  options: {
    last: {
      name: 'last',
      value: 'DURATION',
      help: 'Length of the range, such as 15m, 6h or 7d (default 1h).',
      read: duration,
    },
    from: {
      name: 'from',
      value: 'TIME',
      help: 'Start of the range: ISO 8601, such as 2030-01-31T08:00:00Z, or unix seconds (default: it ends now).',
      read: time,
    },
    step: {
      name: 'step',
      value: 'DURATION',
      help: 'Length of a step, a multiple of 15s (default: by the range).',
      read: duration,
    },
  },
  run: async ({ operands, options, client, printer }) => {
    const { last: seconds, from, step } = options
    const { body } = await client.tasks.history(typeOperand(operands[0]), { seconds, from, step })
    await printer.rows(body.steps, HISTORY_COLUMNS, body)
    if (printer.isTable) printer.note(`steps of ${body.step} s`)
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
  names: 'TYPE',
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
    const type = typeOperand(operands[0])
    const { body } = await client.tasks.pause(type, Object.fromEntries(given))
    const rows = body.paused === null ? [] : [body.paused]
    await printer.value(body, () => printer.table(rows, PAUSE_COLUMNS), [type])
    return EXIT.OK
  },
})

const resume = verb({
  name: 'resume',
  operands: 'TYPE',
  least: 1,
  most: 1,
  names: 'TYPE',
  summary: 'Resumes a paused queue. Does nothing if it is not paused.',
  changes: true,
  examples: ['http-request'],
  options: {},
  run: async ({ operands, client, printer }) => {
    const type = typeOperand(operands[0])
    const { body } = await client.tasks.resume(type)
    await printer.value(body, () => printer.table([body], [{ head: 'PAUSED', cell: () => 'no' }]), [type])
    return EXIT.OK
  },
})

export const queue: Noun = {
  summary: 'list pending tasks and their groups, show the history of a queue, pause or resume it',
  verbs: [queueLs, groups, history, pause, resume],
}
