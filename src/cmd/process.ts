/**
 * @module cmd/process
 * Runs the long-running subcommands: defines the settings of logs and traces, opens and closes both, and turns signals
 * into an AbortSignal. It never calls process.exit, which would lose buffered log lines when stdout is a pipe. The
 * event loop ends when nothing is left to do.
 */
import {
  AutomationError,
  buildCatalog,
  loadAutomations,
  type Catalog,
  type InstalledAutomation,
} from '../automation/index.ts'
import { createLog, startTracing, systemTime, type ClosableLog, type LogLevel } from '../runtime/index.ts'
import { flag, list, logLevel, oneOf } from './readers.ts'
import { setting, SettingsError, type SettingFault } from './settings.ts'

export const LOG_SETTINGS = {
  logFormat: setting(oneOf('text', 'json'), {
    name: 'SVC_LOG_FORMAT',
    help: 'Log format: text or json.',
    fallback: 'text',
  }),
  logLevel: setting(logLevel, {
    name: 'SVC_LOG_LEVEL',
    help: 'Minimum log level: debug, info, warn, error.',
    fallback: 'info',
  }),
  otelEnabled: setting(flag, {
    name: 'SVC_OTEL_ENABLED',
    help: 'Export OpenTelemetry traces (also on when an OTEL_EXPORTER_* variable is set).',
    fallback: '0',
  }),
} as const

export const AUTOMATIONS_SETTING = {
  automations: setting(list, {
    name: 'SVC_AUTOMATIONS',
    help:
      'Comma-separated modules that contain automations (npm packages or paths of .js files), and ' +
      'paths of .automation.yaml or .automation.json manifests. ' +
      'Not set: all dependencies of the nearest package.json that declare automations.',
  }),
} as const

export const HELP_TAIL =
  '\nA flag takes precedence over its variable. A secret can also be read from a file named by its _FILE variable, ' +
  'and is reloaded when the file changes.\n'

/** @throws {SettingsError} with all `faults`, unless there are none. */
export function refuse(faults: readonly SettingFault[]): void {
  if (faults.length > 0) throw new SettingsError(faults)
}

/**
 * Loads and validates the installed automations.
 * @throws {SettingsError} naming SVC_AUTOMATIONS when a module cannot be loaded or is invalid.
 */
export async function loadInstalled(
  specifiers: readonly string[] | undefined,
  directory: string,
): Promise<readonly InstalledAutomation[]> {
  try {
    return await loadAutomations({
      specifiers,
      directory,
      builtIn: { 'muster/automations': () => import('../automations/index.ts') },
    })
  } catch (error) {
    throw asSettingsError(error)
  }
}

/**
 * Builds the catalog of the installed automations.
 * @throws {SettingsError} naming SVC_AUTOMATIONS when a module cannot be loaded or is invalid.
 */
export async function loadCatalog(specifiers: readonly string[] | undefined, directory: string): Promise<Catalog> {
  const installed = await loadInstalled(specifiers, directory)
  try {
    return buildCatalog(installed)
  } catch (error) {
    throw asSettingsError(error)
  }
}

function asSettingsError(error: unknown): unknown {
  if (!(error instanceof AutomationError)) return error
  return new SettingsError(error.faults.map((problem) => ({ name: 'SVC_AUTOMATIONS', problem })))
}

export interface ProcessValues {
  readonly logFormat: 'text' | 'json'
  readonly logLevel: LogLevel
  readonly otelEnabled: boolean
}

/**
 * npm forwards a Ctrl-C that the terminal has already sent to the whole group, so a process receives it twice. Within
 * this time a second signal is the first one again.
 */
const SAME_SIGNAL_MS = 1_000

/**
 * Runs `inside` with a log and, if enabled, traces. Closes both afterwards, also after an error.
 * `stop` aborts at the first SIGINT or SIGTERM; a second one, a second or more later, ends the process immediately by
 * that signal's default action (D95). `stop` also aborts when the parent process, `muster dev`, ends and its IPC
 * channel closes. Otherwise the worker would keep running and compete with the worker of the next `muster dev` for its
 * name.
 */
export async function withProcess(
  values: ProcessValues,
  inside: (log: ClosableLog, stop: AbortSignal) => Promise<number>,
): Promise<number> {
  const log = createLog({ level: values.logLevel, format: values.logFormat, clock: systemTime })
  if (values.otelEnabled) process.env['SVC_OTEL_ENABLED'] = '1'
  const tracing = await startTracing(process.env, log)
  const stop = new AbortController()
  const end = (why: string): void => {
    if (!stop.signal.aborted) log.info('stopping', { why })
    stop.abort(why)
  }
  let firstSignalAtMs: number | undefined
  const onSignal = (signal: NodeJS.Signals): void => {
    const nowMs = systemTime.monotonicMs()
    firstSignalAtMs ??= nowMs
    if (nowMs - firstSignalAtMs < SAME_SIGNAL_MS) return end(signal)
    log.warn('stopping immediately after a second signal; running tasks are not released', { signal })
    process.off(signal, onSignal)
    process.kill(process.pid, signal)
  }
  const onOrphaned = (): void => end('the parent process ended')
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  process.on('disconnect', onOrphaned)
  process.channel?.unref()
  try {
    return await inside(log, stop.signal)
  } finally {
    process.off('SIGINT', onSignal)
    process.off('SIGTERM', onSignal)
    process.off('disconnect', onOrphaned)
    await tracing.stop()
    await log.close()
  }
}
