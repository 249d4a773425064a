/**
 * @module cmd/dev
 * Implements `muster dev`, which runs a complete fleet on this machine in one process tree. The master runs in this
 * process on a SQLite file, with one child process as worker for each installed automation: `muster worker`, or the
 * program that a manifest names. Ctrl-C drains the workers, then stops the master and exits with 0. The next start
 * continues with the same state.
 */
import { isRunnable, type Catalog, type CatalogEntry } from '../automation/index.ts'
import { MasterClient } from '../client/index.ts'
import { aborted, systemRandom, systemTime, type Log } from '../runtime/index.ts'
import { Child } from './dev/children.ts'
import { enable, firstOutput, sampleConfig } from './dev/samples.ts'
import { openState, type DevState } from './dev/state.ts'
import { tokenBlock, tryBlock } from './dev/greeting.ts'
import { runMaster } from './master.ts'
import { HELP_TAIL, loadCatalog, LOG_SETTINGS, refuse, withProcess } from './process.ts'
import { hostPort, list, text } from './readers.ts'
import { describeSettings, readSettings, setting, type Values } from './settings.ts'
import { VERSION } from './version.ts'

const SETTINGS = {
  listen: setting(hostPort, { name: 'SVC_LISTEN', help: 'host:port of the master.', fallback: '127.0.0.1:8080' }),
  stateDir: setting(text, {
    name: 'SVC_STATE_DIR',
    help: 'Directory for state and tokens; delete it to start over.',
    fallback: '.muster',
  }),
  automations: setting(list, {
    name: 'SVC_AUTOMATIONS',
    help: 'Comma-separated modules and manifests of automations.',
    fallback: 'muster/automations',
  }),
  ...LOG_SETTINGS,
  logLevel: { ...LOG_SETTINGS.logLevel, fallback: 'warn' },
} as const

/**
 * How often the parent process is checked. The fleet ends with its parent, so that a killed `make` or `npx` does not
 * leave it on its port.
 */
const PARENT_LOOK_MS = 1_000

/** How long to wait for the first output before "no output yet" is printed. */
const FIRST_OUTPUT_WITHIN_MS = 30_000

export function help(): string {
  return (
    'muster dev: run a development fleet on this machine: master, workers and dashboard\n\n' +
    '  muster dev\n' +
    '  SVC_AUTOMATIONS=./my-automation.js muster dev --listen 127.0.0.1:9000\n\n' +
    `${describeSettings(SETTINGS)}\n${HELP_TAIL}`
  )
}

export async function run(argv: readonly string[]): Promise<number> {
  const { values, faults } = readSettings(SETTINGS, process.env, argv)
  refuse(faults)
  const catalog = await loadCatalog(values.automations, process.cwd())
  return withProcess(values, async (log, stop) => {
    const orphaned = new AbortController()
    const parent = process.ppid
    const cancel = systemTime.every(
      PARENT_LOOK_MS,
      () => void (process.ppid !== parent && orphaned.abort('the parent process ended')),
    )
    const code = await fleet(values, catalog, log, AbortSignal.any([stop, orphaned.signal]))
    cancel()
    return code
  })
}

const print = (line: string): void => void process.stdout.write(`${line}\n`)

async function fleet(values: Values<typeof SETTINGS>, catalog: Catalog, log: Log, stop: AbortSignal): Promise<number> {
  print(
    `muster ${VERSION}: a development fleet on this machine. ` +
      `State is kept in ${values.stateDir}; delete it to start over.`,
  )
  const state = openState(values.stateDir, systemRandom)
  const running = await runMaster({
    listen: values.listen,
    backendUrl: { scheme: 'filedb', path: state.storePath },
    catalog,
    log,
    tokens: { admin: state.adminToken, worker: state.workerToken },
    audit: { classes: new Set(['control']), write: () => true }, // In the store only.
  })
  state.keep()
  const { url } = running
  const client = new MasterClient({
    masterUrl: url,
    token: () => state.adminToken,
    clock: systemTime,
    timers: systemTime,
    random: systemRandom,
    actor: 'muster dev',
  })
  print(`  master   ready   ${url}   backend filedb://${state.storePath}`)
  const started = [...catalog.values()].filter((entry) => isRunnable(entry) || entry.devCommand !== undefined)
  const children = started.map((entry) => startWorker(entry, values, state, url))
  try {
    for (const { type } of [...catalog.values()].filter((entry) => !started.includes(entry)))
      print(`  worker   none    ${type} (its manifest names no dev.command; start its program yourself)`)
    await greet({ catalog, started, client, state, url, port: running.port, stop })
    await aborted(stop)
  } catch (error) {
    if (!stop.aborted) throw error
  } finally {
    print('  stopping: the workers finish their running tasks, then the master stops')
    await Promise.all(children.map((child) => child.stop()))
    await client.close()
    await running.stop()
    print('  stopped; the state was kept')
  }
  return 0
}

/** @param entry An automation with code, or with the command of its manifest; both read the same variables. */
function startWorker(entry: CatalogEntry, values: Values<typeof SETTINGS>, state: DevState, url: string): Child {
  const { type, devCommand = [process.execPath, process.argv[1] ?? '', 'worker'] } = entry
  const [command = '', ...args] = devCommand
  const child = new Child({
    name: `dev-${type}`,
    command,
    args,
    print,
    environment: {
      ...process.env,
      SVC_MASTER_URL: url,
      SVC_WORKER_TOKEN_FILE: state.workerTokenFile,
      SVC_AUTOMATION_TYPE: type,
      SVC_WORKER_ID: `dev-${type}`,
      SVC_AUTOMATIONS: values.automations.join(','),
      SVC_LOG_LEVEL: values.logLevel,
      SVC_LOG_FORMAT: values.logFormat,
    },
  })
  child.start()
  return child
}

interface Greeting {
  readonly catalog: Catalog
  readonly started: readonly CatalogEntry[]
  readonly client: MasterClient
  readonly state: DevState
  readonly url: string
  readonly port: number
  readonly stop: AbortSignal
}

async function greet({ catalog, started, client, state, url, port, stop }: Greeting): Promise<void> {
  await Promise.all(
    started.map(async ({ type }) => {
      const outcome = await enable(client, type, `dev-${type}`, sampleConfig(type, port), systemTime, stop)
      const refused = typeof outcome === 'string' ? outcome : `not enabled, it needs a config: ${outcome.refused}`
      print(`  worker   ready   dev-${type} (${refused})`)
    }),
  )
  print(tokenBlock(state))
  print(tryBlock(catalog, url, state.adminTokenFile))
  const type = await firstOutput(client, [...catalog.keys()], systemTime, FIRST_OUTPUT_WITHIN_MS, stop)
  print(type === null ? '  no output yet' : `  first output of ${type} is in its stream. Ctrl-C stops everything.`)
}
