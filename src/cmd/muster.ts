/**
 * @module cmd/muster
 * The entry point of the command line. Parses the subcommand, loads only the modules it needs, and reports every
 * failure as a message on stderr and an exit code: 0 success, 1 failure, 2 usage or settings. Admin verbs have more
 * codes (D42).
 */
import { nearest, SettingsError } from './settings.ts'
import { SUBCOMMANDS } from './subcommands.ts'
import { VERSION } from './version.ts'

/** How long the event loop may take to become empty before the process exits anyway. */
const LAST_MS = 2_000

function usage(): string {
  const width = Math.max(...Object.keys(SUBCOMMANDS).map((name) => name.length))
  const lines = Object.entries(SUBCOMMANDS).map(([name, { summary }]) => `  muster ${name.padEnd(width)}  ${summary}`)
  return (
    `muster ${VERSION}: a control plane for fleets of long-running workers\n\n` +
    `${lines.join('\n')}\n\n` +
    'muster SUBCOMMAND --help prints its settings with their defaults, or its verbs with examples.\n'
  )
}

async function main(argv: readonly string[]): Promise<number> {
  const [name = '--help', ...rest] = argv
  if (name === '--help' || name === '-h' || name === 'help') return print(usage())
  if (name === '--version' || name === '-v') return print(`${VERSION}\n`)
  const subcommand = Object.hasOwn(SUBCOMMANDS, name) ? SUBCOMMANDS[name] : undefined
  if (subcommand === undefined) {
    process.stderr.write(
      `error: muster has no subcommand ${JSON.stringify(name)}${nearest(name, Object.keys(SUBCOMMANDS))}\n` +
        'next:  muster --help\n',
    )
    return 2
  }
  const { run, help } = await subcommand.load()
  if (help !== undefined && (rest.includes('--help') || rest.includes('-h'))) return print(help())
  return run(rest).catch((error: unknown) => explain(name, error))
}

function print(text: string): number {
  process.stdout.write(text)
  return 0
}

/** Prints why a subcommand failed: all faults together, one per line, without a stack trace or a secret. */
function explain(name: string, error: unknown): number {
  if (error instanceof SettingsError) {
    const width = Math.max(...error.faults.map((fault) => fault.name.length))
    const lines = error.faults.map((fault) => `  ${fault.name.padEnd(width)}  ${fault.problem}`)
    process.stderr.write(
      `error: muster ${name} cannot start: ${error.message}\n${lines.join('\n')}\nnext:  muster ${name} --help\n`,
    )
    return 2
  }
  const { message, cause } = error instanceof Error ? error : new Error(String(error))
  process.stderr.write(
    `error: muster ${name} failed: ${message}\n${cause instanceof Error ? `cause: ${cause.message}\n` : ''}`,
  )
  return 1
}

// A diagnostic report of Node, written after a crash where the user asked for it, contains no environment variables:
// tokens and passwords are settings.
process.report.excludeEnv = true
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error // The reader closed the pipe, as in `muster … | head`: not a failure.
})
// Not `await`: the executable for clients is CommonJS.
void main(process.argv.slice(2)).then((code) => {
  process.exitCode = code
  // Everything is closed and the log is flushed. Only a plugin's run that ignored its deadline can still keep the
  // process alive.
  setTimeout(() => process.exit(), LAST_MS).unref()
})
