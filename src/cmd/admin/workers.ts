/** @module cmd/admin/workers  `muster workers`: lists, shows, drains and forgets workers, and reads their logs. */
import type { MasterClient } from '../../client/index.ts'
import { MasterError } from '../../client/index.ts'
import { WORKER_STATES, type DepartureBody, type WorkerBody } from '../../protocol/index.ts'
import { flag, oneOf } from '../readers.ts'
import { typeOperand, waitOption, workerOperand, yesOrNo, type WorkerName } from './options.ts'
import { brief, when, type Column } from './printer.ts'
import { EXIT, verb, type Noun } from './verb.ts'
import { waitUntil } from './wait.ts'
import { WorkerWatch } from './watch-workers.ts'
import { logs } from './worker-logs.ts'

const COLUMNS: readonly Column<WorkerBody>[] = [
  { head: 'WORKER', cell: (row) => `${row.automation_type}/${row.worker_id}`, isName: true },
  { head: 'STATE', cell: (row) => row.state },
  { head: 'CONNECTED', cell: connectedText },
  {
    head: 'CONFIG',
    cell: (row) =>
      row.applied_config_gen === row.config_gen
        ? String(row.config_gen)
        : `${row.config_gen}, applied ${row.applied_config_gen ?? 'none'}`,
  },
  { head: 'SLOTS', cell: (row) => row.config['slots'] },
  { head: 'LAST SEEN', cell: (row) => when(row.last_seen) },
  { head: 'LABELS', cell: ({ labels }) => labelsText(labels) },
  { head: 'MANAGED BY', cell: (row) => row.managed_by },
  { head: 'HOST', cell: (row) => row.hardware.hostname, isWide: true },
  { head: 'TASKS', cell: (row) => row.tasks_held, isWide: true },
  { head: 'IN STATE SINCE', cell: (row) => when(row.state_since), isWide: true },
  { head: 'REGISTERED', cell: (row) => when(row.registered_at), isWide: true },
  { head: 'CONFIG CHANGED', cell: (row) => when(row.config_changed_at), isWide: true },
  { head: 'CHANGED BY', cell: (row) => row.config_changed_by, isWide: true },
  { head: 'REVISION', cell: (row) => row.config_revision, isWide: true },
  { head: 'LAST ERROR', cell: (row) => (row.last_error === null ? null : brief(row.last_error)) },
]

/** `yes`; `no`; `no, drained` if it is known how the last connection ended (D195). */
function connectedText({ connected, departure = null }: WorkerBody): string {
  if (connected) return 'yes'
  return departure === null ? 'no' : `no, ${departure.kind}`
}

/** `drained 2026-11-30 02:00:00, by admin, code 4100: the worker stopped`. */
function departureText({ kind, at, by, code, reason }: DepartureBody): string {
  const who = by === null ? '' : `, by ${by}`
  return `${kind} ${when(at)}${who}, code ${code}${reason === '' ? '' : `: ${reason}`}`
}

/** The labels as `zone=eu-1,tier=spot`; null for a worker without labels, and for a master that does not know them. */
function labelsText(labels: WorkerBody['labels'] = {}): string | null {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`)
  return pairs.length === 0 ? null : pairs.join(',')
}

const LS_OPTIONS = {
  state: {
    name: 'state',
    value: WORKER_STATES.join('|'),
    help: 'Only workers in this state.',
    read: oneOf(...WORKER_STATES),
  },
  connected: {
    name: 'connected',
    value: 'yes|no',
    help: 'Only workers that are connected, or only those that are not.',
    read: yesOrNo,
  },
  watch: {
    name: 'watch',
    short: 'w',
    help: 'Then print a row for each worker that changes, until Ctrl-C; a line with -o json.',
    read: flag,
  },
} as const

const ls = verb({
  name: 'ls',
  aliases: ['list'],
  operands: '[TYPE]',
  least: 0,
  most: 1,
  names: 'TYPE/ID',
  summary: 'Lists the workers of one automation, or of all.',
  examples: ['http-probe --state ERROR', '--connected no -o json', 'http-probe --watch'],
  options: LS_OPTIONS,
  run: async ({ operands, options, client, io, printer }) => {
    const type = operands[0] === undefined ? null : typeOperand(operands[0])
    const view = printer.isTable || printer.format === 'name' ? 'summary' : undefined
    const { state, connected } = options
    if (!options.watch) {
      await printer.rows(await listed(client, type, { state, connected, view }), COLUMNS)
      return EXIT.OK
    }
    await new WorkerWatch({
      client,
      io,
      printer,
      columns: COLUMNS,
      type,
      list: (changed) => listed(client, changed ?? type, { view }),
      read: (ofType, id) => client.workers.get(ofType, id, { view }).then(({ body }) => body, ifKnown),
      isShown: (worker) =>
        (state === undefined || worker.state === state) && (connected === undefined || worker.connected === connected),
    }).run()
    return EXIT.OK
  },
})

/** The workers of a type, or of all types that the token covers. */
async function listed(
  client: MasterClient,
  type: string | null,
  filter: Parameters<MasterClient['workers']['pages']>[1],
): Promise<readonly WorkerBody[]> {
  const rows: WorkerBody[] = []
  for (const each of type === null ? await typesOf(client) : [type])
    for await (const { body } of client.workers.pages(each, filter)) rows.push(...body)
  return rows
}

/** @returns undefined for a worker that was forgotten. */
function ifKnown(error: unknown): undefined {
  if (error instanceof MasterError && error.code === 'NOT_FOUND') return undefined
  throw error
}

/** The automations that the token covers. */
async function typesOf(client: MasterClient): Promise<readonly string[]> {
  const { automations } = (await client.me()).body
  return automations.includes('*') ? (await client.automations()).body.map(({ type }) => type) : automations
}

const get = verb({
  name: 'get',
  operands: 'TYPE/ID',
  least: 1,
  most: 1,
  names: 'TYPE/ID',
  summary: 'Shows the state, config and statistics of a worker.',
  options: {},
  examples: ['http-probe/probe-1', 'http-probe/probe-1 -o yaml'],
  run: async ({ operands, client, printer }) => {
    const { type, id, shown: workerName } = workerOperand(operands[0])
    const { body } = await client.workers.get(type, id)
    const columns: readonly Column<[string, unknown]>[] = [
      { head: 'FIELD', cell: ([name]) => name },
      {
        head: 'VALUE',
        cell: ([name, value]) =>
          name === 'departure' && body.departure != null ? departureText(body.departure) : shown(name, value),
      },
    ]
    await printer.value(body, () => printer.table(Object.entries(body), columns), [workerName])
    return EXIT.OK
  },
})

function shown(name: string, value: unknown): unknown {
  return typeof value === 'number' && /(?:_at|_since|last_seen)$/.test(name) ? when(value) : value
}

const drain = verb({
  name: 'drain',
  operands: 'TYPE/ID',
  least: 1,
  most: 1,
  names: 'TYPE/ID',
  summary: 'Drains a worker: it finishes its running tasks, then exits.',
  changes: true,
  examples: ['http-request/r-1', 'http-request/r-1 --wait --timeout 600'],
  options: { wait: waitOption('Wait until the worker has disconnected.') },
  run: async ({ operands, options, client, io, printer, timeoutMs }) => {
    const worker = workerOperand(operands[0])
    const { body } = await client.workers.drain(worker.type, worker.id)
    if (options.wait) await waitUntil(`${worker.shown} to disconnect`, timeoutMs, io.time, () => isGone(client, worker))
    await printer.rows(
      [body],
      [
        { head: 'WORKER', cell: () => worker.shown, isName: true },
        { head: 'DRAIN', cell: (row) => row.drain },
      ],
      body,
    )
    return EXIT.OK
  },
})

/** Whether the worker disconnected, was forgotten, or was replaced by another process, which ends a drain (D6). */
async function isGone(client: MasterClient, { type, id }: WorkerName): Promise<boolean> {
  try {
    const { body } = await client.workers.get(type, id, { view: 'summary' })
    return !body.connected || !body.draining
  } catch (error) {
    if (error instanceof MasterError && error.code === 'NOT_FOUND') return true
    throw error
  }
}

const forget = verb({
  name: 'forget',
  aliases: ['delete', 'rm'],
  operands: 'TYPE/ID',
  least: 1,
  most: 1,
  names: 'TYPE/ID',
  summary: "Deletes the master's record of a worker, including its config. A running worker registers again.",
  changes: true,
  examples: ['http-probe/probe-1', 'http-probe/probe-1 --yes'],
  options: {},
  run: async ({ operands, client, printer, confirm }) => {
    const { type, id, shown: name } = workerOperand(operands[0])
    await confirm(`Delete the record and the config of ${name}?`)
    const { body } = await client.workers.forget(type, id)
    await printer.rows(
      [body],
      [
        { head: 'WORKER', cell: () => name, isName: true },
        { head: 'REMOVED', cell: (row) => (row.removed ? 'yes' : 'no') },
      ],
      body,
    )
    return EXIT.OK
  },
})

export const workers: Noun = {
  summary: 'list, inspect, drain or forget workers, read their logs',
  verbs: [ls, get, logs, drain, forget],
}
