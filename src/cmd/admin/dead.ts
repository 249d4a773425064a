/**
 * @module cmd/admin/dead
 * `muster dead` lists, replays, edits and removes dead-lettered tasks: all of them, by id, or by the group of their
 * errors.
 * @see D29, D50, D157, D158, D159
 */
import {
  MAX_TASKS_PER_BATCH,
  type DeadBody,
  type DeadGroupBody,
  type ReplayResult,
  type SelectedBody,
} from '../../protocol/index.ts'
import { atLeast, flag, text, time } from '../readers.ts'
import { SettingsError } from '../settings.ts'
import { isObject, jsonOperand } from './input.ts'
import { count, TASK_IDS, typeOperand } from './options.ts'
import { brief, when, type Column } from './printer.ts'
import { EXIT, Failure, verb, type Invocation, type Noun } from './verb.ts'

type DeadItem = DeadBody['items'][number]
type Call = Pick<Invocation, 'client' | 'printer' | 'confirm'>

/** Dead tasks of one page of the list with the newest first. */
const PAGE = 500

const GROUP = {
  name: 'group',
  value: 'GROUP',
  help: 'Only tasks of this group of errors; "muster dead groups" lists them.',
  read: text,
} as const
const BEFORE = {
  name: 'before',
  value: 'TIME',
  help: 'With --group: only tasks that died before this time, ISO 8601 or unix seconds (default: now).',
  read: time,
} as const

const DEAD_COLUMNS: readonly Column<DeadItem>[] = [
  { head: 'TASK', cell: (row) => row.id, isName: true },
  { head: 'ATTEMPTS', cell: (row) => `${row.attempt}/${row.max_attempts}` },
  { head: 'DIED', cell: (row) => when(row.died_at) },
  { head: 'SUBMITTED', cell: (row) => when(row.submitted_at), isWide: true },
  { head: 'PRIORITY', cell: (row) => row.priority, isWide: true },
  { head: 'GROUP', cell: (row) => row.group_key, isWide: true },
  { head: 'LABELS', cell: (row) => (row.labels === undefined ? null : brief(row.labels)), isWide: true },
  { head: 'LAST ERROR', cell: (row) => (row.last_error === null ? null : brief(row.last_error)) },
  { head: 'PAYLOAD', cell: (row) => brief(row.payload) },
]

const deadLs = verb({
  name: 'ls',
  aliases: ['list'],
  operands: 'TYPE',
  least: 1,
  most: 1,
  names: 'TASK',
  summary: 'Lists dead tasks, oldest first; newest first with --newest or --group.',
  examples: ['http-request', 'http-request -n 1000 -o json', 'http-request --newest'],
  options: {
    n: count('Maximum number of tasks (default 50).'),
    newest: { name: 'newest', help: 'List the newest death first.', read: flag },
    group: GROUP,
  },
  run: async ({ operands, options, client, printer }) => {
    if (options.newest || options.group !== undefined) {
      const items = await newest(client, typeOperand(operands[0]), options.n ?? 50, options.group)
      await printer.rows(items, DEAD_COLUMNS, { items })
      return EXIT.OK
    }
    const { body } = await client.tasks.dead(typeOperand(operands[0]), { n: options.n })
    await printer.rows(body.items, DEAD_COLUMNS, body)
    if (printer.isTable) printer.note(`${body.items.length} of ${body.length}`)
    return EXIT.OK
  },
})

/** Reads dead tasks page by page, newest death first. */
async function newest(
  client: Invocation['client'],
  type: string,
  n: number,
  group: string | undefined,
): Promise<readonly DeadItem[]> {
  const items: DeadItem[] = []
  for (let cursor: string | undefined; items.length < n;) {
    const { body } = await client.deadGroups.newest(type, { group, n: Math.min(PAGE, n - items.length), cursor })
    items.push(...body.items)
    if (body.cursor === null) break
    cursor = body.cursor
  }
  return items
}

const GROUP_COLUMNS: readonly Column<DeadGroupBody>[] = [
  { head: 'GROUP', cell: (row) => row.group, isName: true },
  { head: 'TASKS', cell: (row) => row.count },
  { head: 'FIRST DIED', cell: (row) => when(row.first_died_at) },
  { head: 'LAST DIED', cell: (row) => when(row.last_died_at) },
  { head: 'WORKERS', cell: (row) => row.workers.join(', ') },
  { head: 'ERROR', cell: (row) => brief(nameOf(row)) },
]

const nameOf = ({ pattern }: Pick<DeadGroupBody, 'pattern'>): string => pattern ?? 'other errors'

const groups = verb({
  name: 'groups',
  operands: 'TYPE',
  least: 1,
  most: 1,
  names: 'GROUP',
  summary: 'Groups all dead tasks by the pattern of their errors, newest death first.',
  examples: ['http-request', 'http-request -o json'],
  options: {},
  run: async ({ operands, client, printer }) => {
    const { body } = await client.deadGroups.list(typeOperand(operands[0]))
    await printer.rows(body.groups, GROUP_COLUMNS, body)
    if (printer.isTable && !body.complete)
      printer.note('Tasks that died before the upgrade are still being grouped; run the command again.')
    return EXIT.OK
  },
})

const REPLAY_COLUMNS: readonly Column<ReplayResult>[] = [
  { head: 'STARTED', cell: (row) => when(row.started_at) },
  { head: 'REPLAYED', cell: (row) => row.replayed },
  { head: 'DONE', cell: (row) => row.done },
  { head: 'DEAD AGAIN', cell: (row) => row.died },
  { head: 'NOT FINISHED', cell: (row) => Math.max(0, row.replayed - row.done - row.died) },
  { head: 'ERROR', cell: (row) => (row.pattern === null ? null : brief(row.pattern)) },
]

const replays = verb({
  name: 'replays',
  operands: 'TYPE',
  least: 1,
  most: 1,
  summary: 'Lists the newest replays of dead tasks, with how many tasks are done and how many are dead again.',
  examples: ['http-request', 'http-request -o json'],
  options: {},
  run: async ({ operands, client, printer }) => {
    const { body } = await client.deadGroups.replays(typeOperand(operands[0]))
    await printer.rows(body.replays, REPLAY_COLUMNS, body)
    return EXIT.OK
  },
})

/** Finds a group. @throws {Failure} NOT_FOUND if it has no task. */
async function groupOf(client: Invocation['client'], type: string, name: string) {
  const { body } = await client.deadGroups.list(type)
  const group = body.groups.find((each) => each.group === name)
  if (group !== undefined) return { group, before: body.as_of ?? 0 }
  const sentence = `no dead task of ${type} is in the group ${name}`
  throw new Failure(EXIT.NOT_FOUND, sentence, 'its tasks were replayed or removed', `muster dead groups ${type}`)
}

const replay = verb({
  name: 'replay',
  operands: 'TYPE',
  least: 1,
  most: 1,
  summary:
    'Puts dead tasks back into the queue with their attempts reset: the oldest ones, those given by --task-id, or ' +
    'all of a --group.',
  changes: true,
  examples: ['http-request -n 100', 'http-request --task-id hello', 'http-request --group 0123456789abcdef'],
  options: {
    n: count('Maximum number of tasks (default 50).'),
    taskIds: TASK_IDS,
    group: GROUP,
    before: BEFORE,
    perSecond: {
      name: 'per-second',
      value: 'N',
      help: 'With --group: let this many tasks become due a second.',
      read: atLeast(0.01),
    },
  },
  run: async (call) => {
    const { operands, options, client, printer, confirm } = call
    const type = typeOperand(operands[0])
    if (options.taskIds.length > 0 && options.n !== undefined)
      throw new SettingsError([{ name: '-n', problem: 'cannot be combined with --task-id' }])
    checkGroupOptions(options)
    if (options.group !== undefined) return replayGroup(call, type, options.group, options)
    if (options.taskIds.length > 0) return select(call, type, 'replay', options.taskIds)
    await confirm(`Replay the oldest ${options.n ?? 50} dead tasks of ${type}?`)
    const { body } = await client.tasks.replay(type, { n: options.n })
    await printer.rows([body], [{ head: 'REPLAYED', cell: (row) => row.replayed }], body)
    return EXIT.OK
  },
})

interface GroupOptions {
  readonly taskIds: readonly string[]
  readonly group: string | undefined
  readonly before: number | undefined
  readonly n?: number | undefined
  readonly perSecond?: number | undefined
}

/** @throws {SettingsError} for options that exclude each other. */
function checkGroupOptions({ taskIds, group, before, n, perSecond }: GroupOptions): void {
  if (group !== undefined && (taskIds.length > 0 || n !== undefined))
    throw new SettingsError([{ name: '--group', problem: 'cannot be combined with --task-id or -n' }])
  if (group !== undefined) return
  const given = Object.entries({ '--before': before, '--per-second': perSecond }).find(([, value]) => value)
  if (given !== undefined) throw new SettingsError([{ name: given[0], problem: 'needs --group' }])
}

async function replayGroup(
  { client, printer, confirm }: Call,
  type: string,
  name: string,
  { before, perSecond }: Pick<GroupOptions, 'before' | 'perSecond'>,
): Promise<number> {
  const { group, before: now } = await groupOf(client, type, name)
  const pace = perSecond === undefined ? '' : `, ${perSecond} a second`
  await confirm(`Replay ${shownCount(group, before)} of ${type} with the error "${nameOf(group)}"${pace}?`)
  let [replayed, delaySeconds, more] = [0, 0, true]
  while (more) {
    const { body } = await client.deadGroups.replay(type, name, { before: before ?? now, perSecond, delaySeconds })
    replayed += body.replayed
    delaySeconds = body.delay_seconds
    more = body.more
  }
  await printer.rows([{ replayed }], [{ head: 'REPLAYED', cell: (row) => row.replayed }], { replayed })
  return EXIT.OK
}

async function removeGroup(
  { client, printer, confirm }: Call,
  type: string,
  name: string,
  before: number | undefined,
): Promise<number> {
  const { group, before: now } = await groupOf(client, type, name)
  await confirm(`Permanently remove ${shownCount(group, before)} of ${type} with the error "${nameOf(group)}"?`)
  let [removed, more] = [0, true]
  while (more) {
    const { body } = await client.deadGroups.remove(type, name, before ?? now)
    removed += body.removed
    more = body.more
  }
  await printer.rows([{ removed }], [{ head: 'REMOVED', cell: (row) => row.removed }], { cleared: removed })
  return EXIT.OK
}

const shownCount = ({ count: tasks }: DeadGroupBody, before: number | undefined): string =>
  before === undefined ? `${tasks} dead ${tasks === 1 ? 'task' : 'tasks'}` : `dead tasks until ${when(before)}`

const edit = verb({
  name: 'edit',
  operands: 'TYPE TASK',
  least: 2,
  most: 2,
  names: 'TASK',
  summary: 'Replays one dead task with another payload. Exits with 3 if it is not dead.',
  changes: true,
  examples: [`http-request hello --payload '{"url":"https://example.com/"}'`],
  options: { payload: { name: 'payload', value: 'JSON', help: 'The new payload.', read: text } },
  run: async ({ operands: [typeWord, taskId = ''], options, client, printer }) => {
    const type = typeOperand(typeWord)
    const payload = jsonOperand('--payload', options.payload ?? '')
    if (!isObject(payload)) throw new SettingsError([{ name: '--payload', problem: 'is not an object' }])
    const { body: task } = await client.tasks.get(type, taskId)
    const isDead = task.place === 'dead' && task.finished_at !== undefined
    const outcome = isDead
      ? (await client.deadGroups.replayEdited(type, taskId, { diedAt: task.finished_at ?? 0, payload })).body.outcome
      : 'not_dead'
    const results: SelectedBody['results'] = [{ task_id: taskId, outcome }]
    await printer.rows(results, SELECT_COLUMNS, { results })
    return outcome === 'not_dead' ? EXIT.NOT_FOUND : EXIT.OK
  },
})

const remove = verb({
  name: 'remove',
  formerName: 'clear',
  aliases: ['delete', 'rm'],
  operands: 'TYPE',
  least: 1,
  most: 1,
  summary: 'Removes dead tasks permanently: those given by --task-id, those of a --group, or all.',
  changes: true,
  examples: ['http-request --yes', 'http-request --task-id hello', 'http-request --group 0123456789abcdef'],
  options: { taskIds: TASK_IDS, group: GROUP, before: BEFORE },
  run: async (call) => {
    const { operands, options, client, printer, confirm } = call
    const type = typeOperand(operands[0])
    checkGroupOptions(options)
    if (options.group !== undefined) return removeGroup(call, type, options.group, options.before)
    const named = options.taskIds.length
    await confirm(
      named === 0
        ? `Permanently remove all dead tasks of ${type}?`
        : `Permanently remove ${named} dead ${named === 1 ? 'task' : 'tasks'} of ${type}?`,
    )
    if (named > 0) return select(call, type, 'remove', options.taskIds)
    const { body } = await client.tasks.clearDead(type)
    await printer.rows([body], [{ head: 'REMOVED', cell: (row) => row.cleared }], body)
    return EXIT.OK
  },
})

const SELECT_COLUMNS: readonly Column<SelectedBody['results'][number]>[] = [
  { head: 'TASK', cell: (row) => row.task_id, isName: true },
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

export const dead: Noun = {
  summary: 'list, replay, edit or remove dead-lettered tasks',
  verbs: [deadLs, groups, replay, replays, edit, remove],
}
