/**
 * @module cmd/admin/why
 * `muster why`: explains why a queue or a worker makes no progress, with the sentences of the dashboard and the
 * commands that fix each cause.
 * @see D152, D153
 */
import { MasterError, type MasterClient } from '../../client/index.ts'
import {
  explainQueue,
  explainWorker,
  explainWorkers,
  type Cause,
  type Fix,
  type WorkerFacts,
  type WorkersFilter,
} from '../../diagnosis/index.ts'
import type { RunsBody } from '../../protocol/index.ts'
import { flag, workerId } from '../readers.ts'
import { SettingsError } from '../settings.ts'
import { typeOperand, workerOperand } from './options.ts'
import { plain, Printer } from './printer.ts'
import { EXIT, Failure, verb, type Noun } from './verb.ts'

const MARKS: Readonly<Record<Cause['tone'], string>> = { bad: '✗', warn: '!', calm: '•', good: '✓' }

const FILTER_OPTIONS: Readonly<Record<WorkersFilter, string>> = {
  all: '',
  offline: ' --connected no',
  not_enabled: ' --state IDLE',
  no_slots: ' --state IDLE',
  draining: ' --state DRAINING',
  failing: '',
}

interface FixCommand {
  readonly text: string
  readonly command: string
}

/** Quotes one argument for a POSIX shell if it has characters that are special in one. */
const shellQuote = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`

function commandOf(fix: Fix): FixCommand {
  const worker = 'worker' in fix ? shellQuote(`${fix.type}/${fix.worker}`) : ''
  switch (fix.kind) {
    case 'open_worker':
      return { text: 'show it', command: `muster workers get ${worker}` }
    case 'show_log':
      return { text: 'show its log', command: `muster workers logs ${worker}` }
    case 'edit_config':
      return { text: 'edit its config', command: `muster config set ${worker} FIELD=VALUE` }
    case 'show_config_change':
      return { text: 'show the change', command: `muster config history ${worker} --limit 2 -o yaml` }
    case 'drain_worker':
      return { text: 'drain it', command: `muster workers drain ${worker}` }
    case 'list_workers':
      return { text: 'list the workers', command: `muster workers ls ${fix.type}${FILTER_OPTIONS[fix.filter]}` }
    case 'replay_dead':
      return { text: 'replay the dead tasks', command: `muster dead replay ${fix.type}` }
    case 'list_dead':
      return { text: 'list the dead tasks', command: `muster dead ls ${fix.type}` }
  }
}

interface Explained {
  readonly type: string
  readonly worker_id: string | null
  readonly causes: readonly {
    readonly tone: Cause['tone']
    readonly text: string
    readonly fixes: readonly FixCommand[]
  }[]
  /** Of the worker; null if there is none, and for a queue. */
  readonly last_error: string | null
  readonly runs: RunsBody | null
}

const shown = (causes: readonly Cause[]): Explained['causes'] =>
  causes.map(({ tone, text, fixes }) => ({ tone, text, fixes: fixes.map(commandOf) }))

const why = verb({
  name: '',
  operands: 'TYPE [WORKER]',
  least: 1,
  most: 2,
  summary: 'Explains why the queue of a type, or a worker, makes no progress, and shows the commands that fix it.',
  examples: ['http-request', 'http-request r-1', 'http-request/r-1 --json'],
  options: { json: { name: 'json', help: 'The same as -o json.', read: flag } },
  run: async ({ operands, options, client, io, printer }) => {
    const { type, id } = subjectOf(operands)
    const nowSeconds = io.time.wallMs() / 1_000
    const explained =
      id === null ? await explainType(client, type, nowSeconds) : await explainOne(client, type, id, nowSeconds)
    await (options.json ? new Printer('json', io) : printer).value(explained, () => textOf(explained))
    return EXIT.OK
  },
})

/** `TYPE`, `TYPE WORKER` or `TYPE/WORKER`. */
function subjectOf([first = '', second]: readonly string[]): { readonly type: string; readonly id: string | null } {
  if (second !== undefined) return { type: typeOperand(first), id: workerOperandOf(second) }
  if (!first.includes('/')) return { type: typeOperand(first), id: null }
  const { type, id } = workerOperand(first)
  return { type, id }
}

function workerOperandOf(word: string): string {
  try {
    return workerId(word)
  } catch (error) {
    throw new SettingsError([{ name: 'WORKER', problem: (error as Error).message }])
  }
}

async function explainType(client: MasterClient, type: string, nowSeconds: number): Promise<Explained> {
  const [overview, workers, runs] = await Promise.all([
    client.overview(),
    workersOf(client, type),
    runsOf(client, type, {}),
  ])
  const of = overview.body.automations[type]
  if (of === undefined)
    throw new Failure(
      EXIT.NOT_FOUND,
      `muster why ${type} failed`,
      `"${type}" is not installed at the master, or the token does not cover it`,
    )
  const causes =
    of.queue === null
      ? explainWorkers(type, workers, runs, nowSeconds)
      : explainQueue({ type, queue: of.queue, workers, runs, nowSeconds })
  return { type, worker_id: null, causes: shown(causes), last_error: null, runs }
}

async function explainOne(client: MasterClient, type: string, id: string, nowSeconds: number): Promise<Explained> {
  const { body: worker } = await client.workers.get(type, id, { view: 'summary' })
  const runs = await runsOf(client, type, { workerId: id })
  const causes = explainWorker(worker, nowSeconds, runs?.workers[0] ?? null)
  return { type, worker_id: id, causes: shown(causes), last_error: worker.last_error, runs }
}

async function workersOf(client: MasterClient, type: string): Promise<readonly WorkerFacts[]> {
  const found: WorkerFacts[] = []
  for await (const { body } of client.workers.pages(type, { view: 'summary' })) found.push(...body)
  return found
}

/** @returns null with a master of an earlier release, which does not have the route. */
async function runsOf(
  client: MasterClient,
  type: string,
  options: { readonly workerId?: string },
): Promise<RunsBody | null> {
  try {
    return (await client.runs(type, options)).body
  } catch (error) {
    if (error instanceof MasterError && error.code === 'NOT_FOUND') return null
    throw error
  }
}

function textOf({ causes, last_error: error }: Explained): string {
  const lines = causes.flatMap(({ tone, text, fixes }) => {
    const width = Math.max(0, ...fixes.map((fix) => fix.text.length))
    return [`${MARKS[tone]} ${plain(text)}`, ...fixes.map((fix) => `    ${fix.text.padEnd(width)}  ${fix.command}`)]
  })
  return `${[...lines, ...(error === null ? [] : [`Last error: ${plain(error)}`])].join('\n')}\n`
}

export const whyNoun: Noun = { summary: 'explain why a queue or a worker makes no progress', verbs: [why] }
