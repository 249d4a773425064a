/** @module cmd/admin/tasks  `muster tasks`: work for a queue. @see D29, D38, D49 */
import { Buffer } from 'node:buffer'
import {
  MAX_BODY_BYTES,
  MAX_TASKS_PER_BATCH,
  type BatchResults,
  type JsonObject,
  type TaskBody,
} from '../../protocol/index.ts'
import { integer, text } from '../readers.ts'
import { SettingsError } from '../settings.ts'
import { isObject, jsonOperand, objectsInput } from './input.ts'
import { DRY_RUN, typeOperand } from './options.ts'
import { tableText, type Column } from './printer.ts'
import { EXIT, verb, type Invocation, type Noun, type OptionValues } from './verb.ts'

const SUBMIT_OPTIONS = {
  payload: { name: 'payload', value: 'JSON', help: 'What the task is about.', read: text },
  file: {
    name: 'file',
    short: 'f',
    value: 'FILE',
    help: 'Task bodies {"payload": …, "task_id": …}, one or one a line; - is stdin.',
    read: text,
  },
  priority: {
    name: 'priority',
    value: 'N',
    help: 'Above 0 is taken first, below 0 last (default 0).',
    read: integer(-(2 ** 31), 2 ** 31 - 1),
  },
  ttlSeconds: {
    name: 'ttl-seconds',
    value: 'N',
    help: 'Dropped when it is older as its turn comes.',
    read: integer(1, 31_536_000),
  },
  maxAttempts: { name: 'max-attempts', value: 'N', help: 'Attempts before it is dead.', read: integer(1, 1_000) },
  taskId: { name: 'task-id', value: 'ID', help: 'A name of its own (default: one is made).', read: text },
  idempotencyKey: {
    name: 'idempotency-key',
    value: 'KEY',
    help: 'Submitted once, however often it is sent.',
    read: text,
  },
  dryRun: DRY_RUN,
} as const
type SubmitValues = OptionValues<typeof SUBMIT_OPTIONS>
type Result = BatchResults['results'][number]

/** Some room for what stands around the tasks. */
const BATCH_BYTES = MAX_BODY_BYTES - 1_024

const RESULT_COLUMNS: readonly Column<Result>[] = [
  { head: 'TASK', cell: (row) => ('error' in row ? null : row.task_id) },
  { head: 'QUEUED', cell: (row) => ('error' in row ? 'no' : row.queued ? 'yes' : 'no, a duplicate') },
  { head: 'PROBLEM', cell: (row) => ('error' in row ? row.error.detail : null) },
]

const submit = verb({
  name: 'submit',
  operands: 'TYPE',
  least: 1,
  most: 1,
  summary: 'Queues a task, or one for each line of a file.',
  changes: true,
  examples: [
    `http-request --payload '{"url":"http://127.0.0.1:8080/healthz"}'`,
    'http-request -f tasks.ndjson',
    'http-request --payload @- --dry-run <payload.json',
  ],
  options: SUBMIT_OPTIONS,
  run: async (call) => {
    const type = typeOperand(call.operands[0])
    const { tasks, lines } = await tasksOf(call)
    if (call.options.dryRun) return dryRun(call, type, tasks)
    if (lines) return submitLines(call, type, tasks)
    const { body } = await call.client.tasks.submit(type, tasks[0] as TaskBody)
    await call.printer.rows([body], RESULT_COLUMNS, body)
    return EXIT.OK
  },
})

async function tasksOf({
  options,
  io,
}: Invocation<typeof SUBMIT_OPTIONS>): Promise<{ tasks: readonly TaskBody[]; lines: boolean }> {
  if ((options.payload === undefined) === (options.file === undefined))
    throw new SettingsError([{ name: '--payload', problem: 'give either --payload JSON or -f FILE' }])
  if (options.payload !== undefined) {
    const payload = jsonOperand('--payload', options.payload === '@-' ? await io.stdin() : options.payload)
    if (!isObject(payload))
      throw new SettingsError([{ name: '--payload', problem: 'is no JSON object; for example {"to": "ada"}' }])
    return { tasks: [{ ...shared(options), payload }], lines: false }
  }
  const { objects, lines } = await objectsInput('-f', options.file ?? '', io)
  const bare = objects.findIndex((each) => !Object.hasOwn(each, 'payload'))
  if (bare !== -1)
    throw new SettingsError([{ name: '-f', problem: `task ${bare + 1} has no payload; a line is {"payload": {…}}` }])
  if (objects.length > 1 && (options.taskId ?? options.idempotencyKey) !== undefined)
    throw new SettingsError([
      {
        name: '--task-id',
        problem: `would name ${objects.length} tasks; write task_id or idempotency_key into the lines`,
      },
    ])
  return { tasks: objects.map((each) => ({ ...shared(options), ...(each as JsonObject & TaskBody) })), lines }
}

/** What the options say of every task that does not say it itself. */
function shared({
  priority,
  ttlSeconds,
  maxAttempts,
  taskId,
  idempotencyKey,
}: SubmitValues): Omit<TaskBody, 'payload'> {
  const given = {
    priority,
    ttl_seconds: ttlSeconds,
    max_attempts: maxAttempts,
    task_id: taskId,
    idempotency_key: idempotencyKey,
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

async function submitLines(
  { client, printer }: Pick<Invocation, 'client' | 'printer'>,
  type: string,
  tasks: readonly TaskBody[],
): Promise<number> {
  let done = 0
  let refused = 0
  try {
    for (const batch of batchesOf(tasks)) {
      const { results } = (await client.tasks.submitBatch(type, batch)).body
      await printer.stream(results, RESULT_COLUMNS)
      done += results.length
      refused += results.filter((each) => 'error' in each).length
    }
  } finally {
    printer.note(
      `${done - refused} of ${tasks.length} tasks were accepted${refused === 0 ? '' : `, ${refused} refused`}`,
    )
  }
  return refused === 0 ? EXIT.OK : EXIT.FAILED
}

/** As many as a call takes, by number and by size. */
function* batchesOf(tasks: readonly TaskBody[]): Generator<readonly TaskBody[]> {
  let batch: TaskBody[] = []
  let bytes = 0
  for (const task of tasks) {
    const size = Buffer.byteLength(JSON.stringify(task)) + 1
    if (batch.length === MAX_TASKS_PER_BATCH || (batch.length > 0 && bytes + size > BATCH_BYTES)) {
      yield batch
      batch = []
      bytes = 0
    }
    batch.push(task)
    bytes += size
  }
  yield batch
}

async function dryRun(
  { client, printer }: Pick<Invocation, 'client' | 'printer'>,
  type: string,
  tasks: readonly TaskBody[],
): Promise<number> {
  let valid = true
  for (const task of tasks) {
    const { body } = await client.tasks.validate(type, task)
    valid &&= body.valid
    await printer.value(body, () =>
      body.valid
        ? ''
        : tableText(body.errors, [
            { head: 'FIELD', cell: ({ path }) => path },
            { head: 'PROBLEM', cell: ({ message }) => message },
          ]),
    )
  }
  printer.note(valid ? 'it would be accepted' : 'it would be refused')
  return valid ? EXIT.OK : EXIT.FAILED
}

const get = verb({
  name: 'get',
  operands: 'TYPE TASK',
  least: 2,
  most: 2,
  summary: 'Where a task is: pending, in_flight, scheduled or dead; exit 3 when it is gone.',
  options: {},
  examples: ['http-request hello', 'http-request hello -o json'],
  run: async ({ operands, client, printer }) => {
    const { body } = await client.tasks.get(typeOperand(operands[0]), operands[1] ?? '')
    await printer.rows(
      [body],
      [
        { head: 'TASK', cell: (row) => row.task_id },
        { head: 'PLACE', cell: (row) => row.place },
      ],
      body,
    )
    return EXIT.OK
  },
})

export const tasks: Noun = { summary: 'work for a queue', verbs: [submit, get] }
