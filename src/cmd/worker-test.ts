/**
 * @module cmd/worker-test
 * Implements `muster worker-test`, which checks a worker in any language against the worker protocol. Progress is
 * written to stderr, one line per row; the results to stdout. Exit codes: 0 every must row passed, 1 one failed,
 * 2 usage.
 */
import { manifestText, ROWS, runRows, type Row, type RowFault, type RowResult } from '../worker-test/index.ts'
import { parseWords, plain, tableText, type OptionValues, type Options } from './admin/index.ts'
import { oneOf, text } from './readers.ts'
import { SettingsError, type Read, type SettingFault } from './settings.ts'

const rowId: Read<Row> = (word) => {
  const row = ROWS.find(({ id }) => id === word)
  if (row === undefined) throw new Error(`${JSON.stringify(word)} is not a row; the rows are W01 to ${ROWS.at(-1)?.id}`)
  return row
}

const FORMATS = ['table', 'json'] as const

export const OPTIONS = {
  command: {
    name: 'command',
    value: 'COMMAND',
    help: 'Program and arguments of the worker. Each row runs `sh -c "exec …"` with the SVC_* variables of a worker.',
    read: text,
  },
  only: { name: 'only', value: 'ROW', help: 'Run only this row; may be repeated.', read: rowId, many: true },
  format: {
    name: 'output',
    short: 'o',
    value: FORMATS.join('|'),
    help: 'Output format (default table).',
    read: oneOf(...FORMATS),
  },
  manifest: { name: 'manifest', help: 'Print the manifest of the automation that the worker must run.', read: text },
} as const satisfies Options

export function help(): string {
  const options = Object.values(OPTIONS).map((each) => {
    const value = 'value' in each ? ` ${each.value}` : ''
    return { forms: `${'short' in each ? `-${each.short}, ` : ''}--${each.name}${value}`, help: each.help }
  })
  const width = Math.max(...options.map(({ forms }) => forms.length))
  return (
    'muster worker-test: check a worker in any language against the worker protocol\n\n' +
    '  muster worker-test --manifest\n' +
    '  muster worker-test --command "python3 my_worker.py"\n' +
    '  muster worker-test --command "python3 my_worker.py" --only W07 -o json\n\n' +
    `${options.map(({ forms, help: words }) => `  ${forms.padEnd(width)}  ${words}`).join('\n')}\n\n` +
    'The worker runs the automation of --manifest. Each row starts it anew, against a master that this ' +
    'command runs.\n' +
    'Exit codes: 0 every must row passed, 1 one of them failed, 2 usage error.\n'
  )
}

export async function run(argv: readonly string[]): Promise<number> {
  const { operands, values, faults } = parseWords(argv, OPTIONS)
  const { command, only, format = 'table', manifest } = values as OptionValues<typeof OPTIONS>
  const all: SettingFault[] = [...faults, ...operands.map((name) => ({ name, problem: 'is not expected' }))]
  if (!manifest && (command === undefined || command.trim() === ''))
    all.push({ name: '--command', problem: 'is required; for example --command "python3 my_worker.py"' })
  if (all.length > 0) throw new SettingsError(all)
  if (manifest) {
    process.stdout.write(manifestText())
    return 0
  }
  const rows = only.length === 0 ? ROWS : ROWS.filter((row) => only.includes(row))
  const results = await interruptible((signal) =>
    runRows({
      command: command ?? '',
      environment: process.env,
      rows,
      signal,
      onResult: (result) => void process.stderr.write(progressLine(result)),
    }),
  )
  process.stdout.write(format === 'json' ? jsonOf(results) : reportOf(results))
  return results.some(isViolation) ? 1 : 0
}

/** Runs `inside` with a signal that SIGINT and SIGTERM abort, so that the processes of the worker are ended. */
async function interruptible<T>(inside: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController()
  const onSignal = (name: NodeJS.Signals): void => stop.abort(new Error(`stopped by ${name}`))
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal)
  try {
    return await inside(stop.signal)
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
  }
}

const isViolation = ({ row, fault }: RowResult): boolean => fault !== null && row.level === 'must'
const outcomeOf = ({ fault }: RowResult): string => (fault === null ? 'passed' : 'failed')
const progressLine = (result: RowResult): string =>
  `${result.row.id}  ${outcomeOf(result)}  ${result.seconds.toFixed(1).padStart(4)} s  ${result.row.holds}\n`

function jsonOf(results: readonly RowResult[]): string {
  const rows = results.map(({ row: { id, area, level, holds }, seconds, fault }) => ({
    id,
    area,
    level,
    holds,
    passed: fault === null,
    seconds,
    ...fault,
  }))
  return `${JSON.stringify({ passed: !results.some(isViolation), rows }, null, 2)}\n`
}

function reportOf(results: readonly RowResult[]): string {
  const table = tableText(results, [
    { head: 'ROW', cell: ({ row }) => row.id },
    { head: 'AREA', cell: ({ row }) => row.area },
    { head: 'LEVEL', cell: ({ row }) => row.level },
    { head: 'RESULT', cell: outcomeOf },
    { head: 'SECONDS', cell: ({ seconds }) => seconds },
  ])
  const diagnoses = results.flatMap(({ row, fault }) => (fault === null ? [] : diagnosisOf(row, fault)))
  const passed = results.filter(({ fault }) => fault === null).length
  return `${table}\n${diagnoses.map((each) => `${each}\n`).join('')}${passed} of ${results.length} rows passed\n`
}

function diagnosisOf({ id, level, holds }: Row, { expected, seen, events, output }: RowFault): string {
  const indented = (lines: readonly string[]): string => lines.map((line) => `    ${plain(line)}\n`).join('')
  return (
    `${id} failed (${level}): ${holds}\n` +
    `  expected  ${plain(expected)}\n` +
    `  seen      ${plain(seen)}\n` +
    `  the last calls and frames:\n${indented(events)}` +
    `  the last lines of the worker's output:\n${indented(output)}`
  )
}
