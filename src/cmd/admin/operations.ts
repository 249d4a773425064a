/**
 * @module cmd/admin/operations
 * `muster operations` creates, lists, cancels and undoes operations, and exports what became of their workers (D189).
 */
import { OPERATION_RESULTS, type OperationResultBody, type OperationShown } from '../../protocol/index.ts'
import { csvLine } from '../../runtime/index.ts'
import { flag, oneOf } from '../readers.ts'
import { create } from './operation-create.ts'
import { nameOf, operationOf, printEnded, printOperation } from './operation-text.ts'
import { typeOperand, waitOption } from './options.ts'
import { when, type Column } from './printer.ts'
import { EXIT, Failure, verb, type Noun } from './verb.ts'

const COLUMNS: readonly Column<OperationShown>[] = [
  { head: 'OPERATION', cell: nameOf, isName: true },
  { head: 'KIND', cell: ({ kind, undo_of: undoOf }) => (undoOf === null ? kind : `undo of ${undoOf}`) },
  { head: 'STATE', cell: ({ state }) => state },
  { head: 'TOTAL', cell: ({ total }) => total },
  { head: 'DONE', cell: ({ counts }) => counts.done + counts.offline + counts.unchanged },
  { head: 'ACTIVE', cell: ({ counts }) => counts.active },
  { head: 'PENDING', cell: ({ counts }) => counts.pending },
  { head: 'FAILED', cell: ({ counts }) => counts.failed + counts.refused },
  { head: 'BY', cell: ({ created_by: by }) => by },
  { head: 'CREATED', cell: ({ created_at: at }) => when(at) },
  { head: 'ENDED', cell: ({ ended_at: at }) => when(at), isWide: true },
  { head: 'FIELDS', cell: ({ fields }) => fields.join(', '), isWide: true },
  { head: 'PER SECOND', cell: ({ per_second: rate }) => rate, isWide: true },
  { head: 'PARALLEL', cell: ({ parallel }) => parallel, isWide: true },
  { head: 'REASON', cell: ({ reason }) => reason, isWide: true },
  { head: 'NOTE', cell: ({ note }) => note, isWide: true },
]

const operationsLs = verb({
  name: 'ls',
  aliases: ['list'],
  operands: '[TYPE]',
  least: 0,
  most: 1,
  names: 'TYPE/OPERATION',
  summary: 'Lists operations, newest first: those that run, and the newest that have ended.',
  examples: ['', 'http-request -o json'],
  options: {},
  run: async ({ operands: [word], client, printer }) => {
    const type = word === undefined ? undefined : typeOperand(word)
    const { operations: all } = (await client.operations.list()).body
    const shown = all.filter((each) => type === undefined || each.type === type)
    await printer.rows(shown, COLUMNS)
    return EXIT.OK
  },
})

const get = verb({
  name: 'get',
  operands: 'TYPE/OPERATION',
  least: 1,
  most: 1,
  names: 'TYPE/OPERATION',
  summary: 'Shows one operation: what it changes, its pace, its progress, and the first failures.',
  examples: ['http-request/3f2a91bc', 'http-request/3f2a91bc --wait --timeout 600'],
  options: { wait: waitOption('Wait until the operation has ended. Exit code 1 unless all workers are done.') },
  run: async (call) => {
    const { client, options, printer } = call
    const { type, id } = operationOf(call.operands[0])
    if (options.wait) return printEnded(call, { type, operation: id })
    await printOperation({ printer }, (await client.operations.get(type, id)).body)
    return EXIT.OK
  },
})

const cancel = verb({
  name: 'cancel',
  operands: 'TYPE/OPERATION',
  least: 1,
  most: 1,
  names: 'TYPE/OPERATION',
  summary: 'Ends an operation: no further worker is changed. Those that were changed stay so.',
  changes: true,
  examples: ['http-request/3f2a91bc --yes'],
  options: {},
  run: async ({ operands, client, printer, confirm }) => {
    const { type, id } = operationOf(operands[0])
    const { counts, state } = (await client.operations.get(type, id)).body
    if (state !== 'running') throw new Failure(EXIT.CONFLICT, 'not running', `the operation is ${state}`)
    await confirm(`Cancel operation ${type}/${id}, of which ${counts.pending} are pending?`)
    await printOperation({ printer }, (await client.operations.cancel(type, id)).body)
    return EXIT.OK
  },
})

const undo = verb({
  name: 'undo',
  operands: 'TYPE/OPERATION',
  least: 1,
  most: 1,
  names: 'TYPE/OPERATION',
  summary: 'Creates an operation that restores the previous values, on workers that still have the config it wrote.',
  changes: true,
  examples: ['http-request/3f2a91bc --yes'],
  options: {},
  run: async ({ operands, client, printer, confirm }) => {
    const { type, id } = operationOf(operands[0])
    const { counts, fields } = (await client.operations.get(type, id)).body
    const written = counts.done + counts.offline + counts.failed + counts.active
    await confirm(`Restore the previous values of ${fields.join(', ')} on up to ${written} workers?`)
    await printOperation({ printer }, (await client.operations.undo(type, id)).body)
    return EXIT.OK
  },
})

const RESULT_COLUMNS: readonly Column<OperationResultBody>[] = [
  { head: 'WORKER', cell: ({ worker_id: id }) => id },
  { head: 'RESULT', cell: ({ result }) => result },
  { head: 'GEN BEFORE', cell: ({ config_gen_before: gen }) => gen },
  { head: 'GEN', cell: ({ config_gen: gen }) => gen },
  { head: 'MESSAGE', cell: ({ message }) => message },
]
const CSV_FIELDS = ['worker_id', 'result', 'config_gen_before', 'config_gen', 'message'] as const

const RESULT_OPTION = {
  name: 'result',
  value: 'RESULT',
  help: `Only workers with this result: ${OPERATION_RESULTS.join(', ')}.`,
  read: oneOf(...OPERATION_RESULTS),
} as const

const exportVerb = verb({
  name: 'export',
  operands: 'TYPE/OPERATION',
  least: 1,
  most: 1,
  names: 'TYPE/ID',
  summary: 'Prints what became of each worker of an operation; json is one line per worker.',
  format: 'json',
  examples: [
    'http-request/3f2a91bc >results.ndjson',
    'http-request/3f2a91bc --csv',
    'http-request/3f2a91bc --result failed',
  ],
  options: {
    csv: { name: 'csv', help: 'Print CSV.', read: flag },
    result: RESULT_OPTION,
  },
  run: async ({ operands, options, client, printer, io }) => {
    const { type, id } = operationOf(operands[0])
    const { results } = (await client.operations.results(type, id)).body
    const shown = results.filter(({ result }) => options.result === undefined || result === options.result)
    const name: Column<OperationResultBody> = {
      head: 'NAME',
      cell: ({ worker_id: worker }) => `${type}/${worker}`,
      isName: true,
      isWide: true,
    }
    if (options.csv) io.out(csvOf(shown))
    else await printer.stream(shown, [...RESULT_COLUMNS, name])
    return EXIT.OK
  },
})

function csvOf(results: readonly OperationResultBody[]): string {
  const lines = [csvLine(CSV_FIELDS), ...results.map((result) => csvLine(CSV_FIELDS.map((name) => result[name])))]
  return `${lines.join('\r\n')}\r\n`
}

export const operations: Noun = {
  summary: 'create, list, cancel, undo or export operations on many workers',
  verbs: [operationsLs, get, create, cancel, undo, exportVerb],
}
