/**
 * @module cmd/doctor/doctor
 * Implements `muster doctor`, which checks the way from this machine to the master, and the fleet behind it. It changes
 * nothing. Exit codes: 0 no check failed, 1 one failed, 2 usage.
 * @see D218
 */
import { COMMON_OPTIONS, parseWords, processIo, type Io, type OptionValues, type Options } from '../admin/index.ts'
import { kubeName, oneOf } from '../readers.ts'
import { SettingsError, type SettingFault } from '../settings.ts'
import { CHECKS } from './checks.ts'
import { hasFailed, jsonOf, lineOf } from './report.ts'
import { runChecks } from './run-checks.ts'
import { LIMITS, Session, type Limits } from './session.ts'

const FORMATS = ['table', 'json'] as const

export const OPTIONS = {
  context: COMMON_OPTIONS.context,
  masterUrl: COMMON_OPTIONS.masterUrl,
  namespace: {
    name: 'namespace',
    short: 'n',
    value: 'NAMESPACE',
    help: "Namespace of the operator's Lease (default: that of the kubeconfig context).",
    read: kubeName,
  },
  format: {
    name: 'output',
    short: 'o',
    value: FORMATS.join('|'),
    help: 'Output format (default table).',
    read: oneOf(...FORMATS),
  },
} as const satisfies Options

export function help(): string {
  const options = Object.values(OPTIONS).map((each) => ({
    forms: `${'short' in each ? `-${each.short}, ` : ''}--${each.name} ${each.value}`,
    text: each.help,
  }))
  const width = Math.max(...options.map(({ forms }) => forms.length))
  const checkWidth = Math.max(...CHECKS.map(({ name }) => name.length))
  return (
    'muster doctor: check the connection to the master, proxies on the way, the token and the fleet\n\n' +
    '  muster doctor\n' +
    '  muster doctor --context prod\n' +
    '  muster doctor --master-url https://muster.example.com -o json\n\n' +
    `${options.map(({ forms, text }) => `  ${forms.padEnd(width)}  ${text}`).join('\n')}\n\n` +
    `Checks:\n${CHECKS.map(({ name, what }) => `  ${name.padEnd(checkWidth)}  ${what}`).join('\n')}\n\n` +
    'It changes nothing, and ends after about 20 s. Master and token are found as by the other commands: ' +
    'muster context --help\n' +
    'Exit codes: 0 no check failed, 1 at least one failed, 2 usage error.\n'
  )
}

export const run = (argv: readonly string[]): Promise<number> => runDoctor(argv, processIo())

/**
 * Runs all checks and prints each finding as soon as it and those before it are known.
 * @param limits Other time limits than {@link LIMITS}.
 * @returns the exit code.
 * @throws {SettingsError} for wrong options.
 */
export async function runDoctor(argv: readonly string[], io: Io, limits: Partial<Limits> = {}): Promise<number> {
  const { operands, values, faults } = parseWords(argv, OPTIONS)
  const all: SettingFault[] = [...faults, ...operands.map((name) => ({ name, problem: 'is not expected' }))]
  const { context, masterUrl, namespace, format = 'table' } = values as OptionValues<typeof OPTIONS>
  if (context !== undefined && masterUrl !== undefined)
    all.push({ name: '--context', problem: 'cannot be combined with --master-url' })
  if (all.length > 0) throw new SettingsError(all)
  const session = new Session({ io, flags: { context, masterUrl }, namespace, limits: { ...LIMITS, ...limits } })
  try {
    const results = await runChecks(CHECKS, session, (result) => {
      if (format === 'table') io.out(lineOf(result))
    })
    if (format === 'json') io.out(jsonOf(results))
    return hasFailed(results) ? 1 : 0
  } finally {
    await session.close()
  }
}
