/**
 * @module cmd/muster
 * The one command. Reads the subcommand, loads only what it needs, and turns every way of failing into a sentence on
 * stderr and an exit code: 0 ok, 1 failed, 2 usage or settings. The admin verbs have further codes of their own (D42).
 */
import { nearest, SettingsError } from './settings.ts'
import { VERSION } from './version.ts'

/** How long the event loop may take to end by itself. */
const LAST_MS = 2_000

interface Subcommand {
  readonly summary: string
  readonly load: () => Promise<{ run: (argv: readonly string[]) => Promise<number>; help?: () => string }>
}

/** The admin verbs of one noun, which print their own help. */
function admin(noun: string): Subcommand['load'] {
  return async () => {
    const { processIo, runAdmin } = await import('./admin/index.ts')
    return { run: (argv) => runAdmin(noun, argv, processIo()) }
  }
}

const SUBCOMMANDS: Readonly<Record<string, Subcommand>> = {
  dev: { summary: 'a development fleet on this machine: master, workers, dashboard', load: () => import('./dev.ts') },
  master: { summary: 'the process that coordinates a fleet', load: () => import('./master.ts') },
  worker: { summary: 'a process that runs one automation', load: () => import('./worker.ts') },
  operator: {
    summary: 'the process that keeps workers as FleetWorkers of Kubernetes say',
    load: () => import('./operator.ts'),
  },
  workers: { summary: 'ls, get, drain, forget: who is there, and their end', load: admin('workers') },
  config: { summary: 'get, set, history: what a worker is told to do', load: admin('config') },
  tasks: { summary: 'submit, get: work for a queue', load: admin('tasks') },
  queue: { summary: 'ls: what waits', load: admin('queue') },
  dead: { summary: 'ls, replay, clear: what could not be done', load: admin('dead') },
  output: { summary: 'tail, peek, pop: what came out', load: admin('output') },
  pools: { summary: 'ls: items that workers share', load: admin('pools') },
  automations: { summary: 'ls: what is installed', load: admin('automations') },
}

function usage(): string {
  const width = Math.max(...Object.keys(SUBCOMMANDS).map((name) => name.length))
  const lines = Object.entries(SUBCOMMANDS).map(([name, { summary }]) => `  muster ${name.padEnd(width)}  ${summary}`)
  return `muster ${VERSION}: one place that knows a fleet of worker processes\n\n${lines.join('\n')}\n\nmuster SUBCOMMAND --help lists its settings with their defaults, or its verbs with examples.\n`
}

async function main(argv: readonly string[]): Promise<number> {
  const [name = '--help', ...rest] = argv
  if (name === '--help' || name === '-h' || name === 'help') return print(usage())
  if (name === '--version' || name === '-v') return print(`${VERSION}\n`)
  const subcommand = Object.hasOwn(SUBCOMMANDS, name) ? SUBCOMMANDS[name] : undefined
  if (subcommand === undefined) {
    process.stderr.write(
      `error: muster has no subcommand ${JSON.stringify(name)}${nearest(name, Object.keys(SUBCOMMANDS))}\nnext:  muster --help\n`,
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

/** A start that failed: all faults together, one line each, no stack and no secret. */
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

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error // `muster … | head` closed the pipe: not a failure of ours.
})
process.exitCode = await main(process.argv.slice(2))
// Everything is closed and the log has left: what still keeps the process is a plugin's run that ignored its deadline.
setTimeout(() => process.exit(), LAST_MS).unref()
