/**
 * @module cmd/admin/operation-create
 * `muster operations create` shows the preview of an operation, asks, and creates it. The request is refused if another
 * number of workers would change than the preview showed (D189).
 */
import {
  OPERATION_KINDS,
  type JsonSchema,
  type OperationBody,
  type OperationPreview,
  type OperationPreviewBody,
} from '../../protocol/index.ts'
import { integer, label, oneOf, text, time } from '../readers.ts'
import { readFields } from './fields.ts'
import { nameOf, printEnded, printOperation } from './operation-text.ts'
import { DRY_RUN, typeOperand, waitOption } from './options.ts'
import { EXIT, Failure, verb, type Invocation } from './verb.ts'

const OPTIONS = {
  worker: { name: 'worker', value: 'ID', help: 'This worker; may be repeated.', read: text, many: true },
  match: {
    name: 'match',
    value: 'PATTERN',
    help: "Workers whose ID matches, such as 'img-*'; may be repeated.",
    read: text,
    many: true,
  },
  label: {
    name: 'label',
    value: 'KEY=VALUE',
    help: 'Workers with this label; may be repeated.',
    read: label,
    many: true,
  },
  group: { name: 'group', value: 'GROUP', help: 'Replay only dead tasks of this group (see dead groups).', read: text },
  before: {
    name: 'before',
    value: 'TIME',
    help: 'Replay only tasks that died before this time, ISO 8601 or unix seconds (default: now).',
    read: time,
  },
  perSecond: {
    name: 'per-second',
    value: 'N',
    help: 'Workers or tasks that begin in a second (default 20).',
    read: integer(1, 1_000),
  },
  parallel: {
    name: 'parallel',
    value: 'N',
    help: 'Workers that may be active at a time (default 20).',
    read: integer(1, 500),
  },
  stopAfter: {
    name: 'stop-after',
    value: 'N',
    help: 'Stop when this many workers have failed (default: never).',
    read: integer(1, 10_000),
  },
  note: { name: 'note', value: 'TEXT', help: 'Why, for other people: shown with the operation.', read: text },
  dryRun: { ...DRY_RUN, help: 'Show the preview only; change nothing.' },
  wait: waitOption('Wait until the operation has ended. Exit code 1 unless all workers are done.'),
} as const

type Create = Invocation<typeof OPTIONS>

export const create = verb({
  name: 'create',
  operands: 'TYPE patch|drain|replay [FIELD=VALUE]…',
  least: 2,
  most: Infinity,
  names: 'TYPE/OPERATION',
  summary: 'Creates an operation, after a preview: a change of many workers that the master carries out.',
  changes: true,
  examples: [
    "http-request patch slots=4 --match 'img-*' --dry-run",
    'http-request patch enabled=false --label zone=eu-1 --stop-after 3 --note "bad disk" --yes',
    'http-request drain --worker img-1 --worker img-2 --parallel 1',
    'http-request replay --per-second 50 --wait --timeout 600',
  ],
  options: OPTIONS,
  run: async (call) => {
    const { client, confirm, options, printer } = call
    const type = typeOperand(call.operands[0])
    const what = await previewBody(call, type)
    const preview = (await client.operations.preview(type, what)).body
    if (options.dryRun) {
      await printer.value(preview, () => previewText(preview))
      return EXIT.OK
    }
    printer.note(previewText(preview).trimEnd())
    if (preview.change === 0) throw new Failure(EXIT.CONFLICT, 'nothing to do', `no ${noun(preview, 1)} would change`)
    const { kind, change } = preview
    await confirm(`${VERBS[kind]} ${change} ${noun(preview, change)} of ${type}?`)
    const { body } = await client.operations.create(type, { ...what, ...settings(call), ...expectation(preview) })
    if (!options.wait) {
      await printOperation(call, body)
      return EXIT.OK
    }
    printer.note(`waiting for operation ${nameOf(body)}`)
    return printEnded(call, body)
  },
})

const VERBS = { patch: 'Change', drain: 'Drain', replay: 'Replay' } as const

function noun({ kind }: OperationPreview, count: number): string {
  return `${kind === 'replay' ? 'dead task' : 'worker'}${count === 1 ? '' : 's'}`
}

/** Further tasks may die at any time, so their number is not compared. */
const expectation = ({ kind, change }: OperationPreview): Pick<OperationBody, 'expected'> =>
  kind === 'replay' ? {} : { expected: change }

async function previewBody({ operands, options, client, io }: Create, type: string): Promise<OperationPreviewBody> {
  const kind = kindOf(operands[1])
  const assignments = operands.slice(2)
  if (kind !== 'patch' && assignments.length > 0)
    throw new Failure(EXIT.USAGE, 'unexpected fields', `an operation of kind ${kind} changes no fields`)
  const { before, group, label: labels, match, worker } = options
  const schema = kind === 'patch' ? ((await client.catalogEntry(type)).body.config as JsonSchema) : {}
  return {
    kind,
    ...(kind === 'patch' && { patch: await readFields({ assignments, unset: [] }, schema, io) }),
    ...(worker.length > 0 && { workers: [...worker] }),
    ...(match.length > 0 && { id_patterns: [...match] }),
    ...(labels.length > 0 && { match_labels: Object.fromEntries(labels) }),
    ...(group !== undefined && { group }),
    ...(before !== undefined && { before }),
  }
}

function kindOf(word = ''): OperationBody['kind'] {
  try {
    return oneOf(...OPERATION_KINDS)(word)
  } catch (error) {
    throw new Failure(EXIT.USAGE, 'not a kind of operation', `"${word}" ${(error as Error).message}`)
  }
}

function settings({ options: { note, parallel, perSecond, stopAfter } }: Create): Partial<OperationBody> {
  return {
    ...(note !== undefined && { note }),
    ...(perSecond !== undefined && { per_second: perSecond }),
    ...(parallel !== undefined && { parallel }),
    ...(stopAfter !== undefined && { stop_after: stopAfter }),
  }
}

function previewText(preview: OperationPreview): string {
  const { change, managed, offline, refused, refused_because: reasons, total, unchanged, unknown, values } = preview
  const rows: readonly (readonly [string, string | null])[] = [
    ['change', `${change} of ${total} ${noun(preview, total)}`],
    ['unchanged', unchanged === 0 ? null : String(unchanged)],
    ['refused', refused === 0 ? null : String(refused)],
    ['unknown', unknown === 0 ? null : String(unknown)],
    ['offline', offline === 0 ? null : `${offline} of those that change`],
    ...values.map(({ values: before, workers }) => ['now', `${JSON.stringify(before)} on ${workers}`] as const),
    ...managed.map(({ managed_by: by, workers }) => ['managed by', `${by}: ${workers}`] as const),
    ...reasons.map(({ detail, workers }) => ['refused', `${workers}: ${reasonText(detail)}`] as const),
  ]
  return rows.flatMap(([name, value]) => (value === null ? [] : [`${name.padEnd(10)} ${value}\n`])).join('')
}

type Reason = OperationPreview['refused_because'][number]['detail']

const reasonText = (detail: Reason): string =>
  typeof detail === 'string' ? detail : detail.map(({ path, message }) => `${path} ${message}`.trim()).join('; ')
