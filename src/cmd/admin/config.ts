/**
 * @module cmd/admin/config
 * `muster config`: shows and changes the config of a worker, and lists its history.
 * @see D15, D16, D17, D39, D49
 */
import { MasterError, type MasterResponse } from '../../client/index.ts'
import {
  mergeConfig,
  secretPathsOf,
  type FieldError,
  type HistoryBody,
  type JsonObject,
  type JsonSchema,
  type WorkerBody,
} from '../../protocol/index.ts'
import { text } from '../readers.ts'
import { SettingsError } from '../settings.ts'
import { readFields } from './fields.ts'
import { objectInput } from './input.ts'
import { count, DRY_RUN, waitOption, workerOperand, type WorkerName } from './options.ts'
import { when, type Column, type Printer } from './printer.ts'
import { EXIT, Failure, verb, type Invocation, type Noun } from './verb.ts'
import { waitUntil } from './wait.ts'

const FIELD_COLUMNS: readonly Column<[string, unknown]>[] = [
  { head: 'FIELD', cell: ([name]) => name },
  { head: 'VALUE', cell: ([, value]) => value },
]
const configTable = (printer: Printer, config: object): string => printer.table(Object.entries(config), FIELD_COLUMNS)

const get = verb({
  name: 'get',
  operands: 'TYPE/ID',
  least: 1,
  most: 1,
  names: 'TYPE/ID',
  summary: 'Shows the config of a worker with secrets masked. `config set -f` accepts this output.',
  options: {},
  examples: ['http-probe/probe-1', 'http-probe/probe-1 -o yaml >probe-1.yaml'],
  run: async ({ operands, client, printer }) => {
    const { type, id, shown } = workerOperand(operands[0])
    const { config, config_gen, applied_config_gen, config_changed_at, config_changed_by, managed_by } = (
      await client.workers.get(type, id)
    ).body
    await printer.value(config, () => configTable(printer, config), [shown])
    if (!printer.isTable) return EXIT.OK
    const saved =
      config_changed_at === null ? 'never changed' : `saved ${when(config_changed_at)} by ${config_changed_by}`
    printer.note(
      `generation ${config_gen}, applied ${applied_config_gen ?? 'none'}, ` +
        `${saved}${managed_by === null ? '' : `, managed by ${managed_by}`}`,
    )
    return EXIT.OK
  },
})

const HISTORY_COLUMNS: readonly Column<HistoryBody[number]>[] = [
  { head: 'GENERATION', cell: (row) => row.config_gen },
  { head: 'SAVED', cell: (row) => when(row.ts) },
  { head: 'BY', cell: (row) => row.actor },
  { head: 'CHANGED', cell: (row) => row.changed.join(', ') },
  { head: 'REVISION', cell: (row) => row.revision ?? '' },
]

const history = verb({
  name: 'history',
  operands: 'TYPE/ID',
  least: 1,
  most: 1,
  summary: 'Lists past configs, newest first.',
  examples: ['http-probe/probe-1', 'http-probe/probe-1 --limit 1 -o json'],
  options: { limit: { ...count('Maximum number of entries (default 20; the master keeps 50).'), name: 'limit' } },
  run: async ({ operands, options, client, printer }) => {
    const { type, id } = workerOperand(operands[0])
    await printer.rows((await client.workers.history(type, id, { limit: options.limit })).body, HISTORY_COLUMNS)
    return EXIT.OK
  },
})

const SET_OPTIONS = {
  unset: {
    name: 'unset',
    value: 'FIELD',
    help: 'Reset this field to its default; may be repeated.',
    read: text,
    many: true,
  },
  file: {
    name: 'file',
    short: 'f',
    value: 'FILE',
    help: 'Read fields from a JSON or YAML file; - is stdin.',
    read: text,
  },
  dryRun: DRY_RUN,
  wait: waitOption('Wait until the worker has applied the new config.'),
} as const
type Set = Invocation<typeof SET_OPTIONS>

const set = verb({
  name: 'set',
  operands: 'TYPE/ID [FIELD=VALUE]…',
  least: 1,
  most: Infinity,
  names: 'TYPE/ID',
  summary: 'Changes fields of a config. Pass a secret as FIELD=@FILE.',
  changes: true,
  examples: [
    'http-probe/probe-1 enabled=true slots=2 --wait',
    'http-probe/probe-1 --unset interval_seconds --dry-run',
    'http-probe/probe-1 -f probe-1.yaml',
  ],
  options: SET_OPTIONS,
  run: async (call) => {
    const worker = workerOperand(call.operands[0])
    const { operands, options, client, printer, io } = call
    if (operands.length === 1 && options.unset.length === 0 && options.file === undefined)
      throw new SettingsError([
        { name: 'FIELD=VALUE', problem: 'is missing; pass at least one FIELD=VALUE, --unset FIELD or -f FILE' },
      ])
    const [record, { body: entry }] = await Promise.all([
      client.workers.get(worker.type, worker.id),
      client.catalogEntry(worker.type),
    ])
    const schema = entry.config as JsonSchema
    const fromFile = options.file === undefined ? {} : await objectInput('-f', options.file, io)
    const patch = {
      ...fromFile,
      ...(await readFields({ assignments: operands.slice(1), unset: options.unset }, schema, io)),
    }
    if (options.dryRun) return dryRun(call, worker, patch)
    const { changed } = mergeConfig(schema, secretPathsOf(schema), record.body.config as JsonObject, patch)
    if (changed.length === 0) {
      printer.note(`no changes: the config of ${worker.shown} stays at generation ${record.body.config_gen}`)
      const { config: unchanged, config_gen } = record.body
      await printer.value({ config: unchanged, config_gen }, () => configTable(printer, unchanged), [worker.shown])
      return EXIT.OK
    }
    return change(call, worker, record, patch)
  },
})

async function change(
  { client, io, options, printer, timeoutMs }: Set,
  worker: WorkerName,
  record: MasterResponse<WorkerBody>,
  patch: JsonObject,
): Promise<number> {
  const { managed_by, config_gen: configGen } = record.body
  if (managed_by !== null)
    printer.note(`warning: this config is managed by ${managed_by}, which may revert your change`)
  const { body, epoch } = await client.workers
    .patchConfig(worker.type, worker.id, patch, { ifMatch: { epoch: record.epoch, configGen } })
    .catch(async (error: unknown) => {
      throw error instanceof MasterError && error.code === 'STALE_GENERATION'
        ? await overtaken(client, worker, configGen, error, io.time.wallMs())
        : error
    })
  if (options.wait) {
    await waitUntil(`${worker.shown} to apply generation ${body.config_gen}`, timeoutMs, io.time, async () => {
      const now = await client.workers.get(worker.type, worker.id, { view: 'summary' })
      return now.epoch === epoch && (now.body.applied_config_gen ?? -1) >= body.config_gen
    })
  }
  await printer.value(body, () => configTable(printer, body.config), [worker.shown])
  printer.note(`the config of ${worker.shown} is now at generation ${body.config_gen}`)
  return EXIT.OK
}

/** Explains a 412: another client changed the config first. Reads the record again to name that client and the time. */
async function overtaken(
  client: Set['client'],
  { type, id, shown }: WorkerName,
  basedOn: number,
  error: MasterError,
  nowMs: number,
): Promise<Failure> {
  const { config_gen, config_changed_at, config_changed_by } = (await client.workers.get(type, id, { view: 'summary' }))
    .body
  const ago = config_changed_at === null ? '' : ` ${Math.max(0, Math.round(nowMs / 1_000 - config_changed_at))} s ago`
  const why =
    `generation ${config_gen} was saved${ago} by ${config_changed_by ?? 'an unknown client'}; ` +
    `your change was based on ${basedOn}`
  return new Failure(
    EXIT.CONFLICT,
    `the config of ${shown} was not changed (412, request ${error.requestId})`,
    why,
    `run muster config get ${shown}, then set it again`,
  )
}

const PROBLEM_COLUMNS: readonly Column<FieldError>[] = [
  { head: 'FIELD', cell: ({ path }) => path },
  { head: 'PROBLEM', cell: ({ message }) => message },
]

async function dryRun({ client, printer }: Set, worker: WorkerName, patch: JsonObject): Promise<number> {
  const { body } = await client.workers.validateConfig(worker.type, worker.id, patch)
  await printer.value(body, () => (body.valid ? '' : printer.table(body.errors, PROBLEM_COLUMNS)), [worker.shown])
  const { changed = [] } = body
  printer.note(
    body.valid
      ? `valid; would change ${changed.length === 0 ? 'nothing' : changed.join(', ')}`
      : 'invalid: the master would reject this change',
  )
  return body.valid ? EXIT.OK : EXIT.FAILED
}

export const config: Noun = {
  summary: 'show or change the config of a worker, or list its history',
  verbs: [get, set, history],
}
