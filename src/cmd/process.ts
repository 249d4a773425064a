/**
 * @module cmd/process
 * What the long-running subcommands share: settings for logs and traces, and the life of the process from its first
 * log line to its last. Never process.exit: on a pipe that loses what was logged; the loop is left to end.
 */
import { AutomationError, buildCatalog, loadAutomations, type Catalog } from '../automation/index.ts'
import { createLog, startTracing, systemTime, type ClosableLog, type LogLevel } from '../runtime/index.ts'
import { flag, list, logLevel, oneOf } from './readers.ts'
import { setting, SettingsError, type SettingFault } from './settings.ts'

export const LOG_SETTINGS = {
  logFormat: setting(oneOf('text', 'json'), {
    name: 'SVC_LOG_FORMAT',
    help: 'Log lines for people or for programs: text, json.',
    fallback: 'text',
  }),
  logLevel: setting(logLevel, {
    name: 'SVC_LOG_LEVEL',
    help: 'The least that is logged: debug, info, warn, error.',
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
    help: 'Comma-separated modules that hold automations: npm packages or paths of .js files. Not set: every dependency of the nearest package.json that declares some.',
  }),
} as const

export const HELP_TAIL =
  '\nEvery flag beats its variable. A variable that holds a secret has a _FILE form, re-read when the file changes.\n'

/** Throws all faults at once. */
export function refuse(faults: readonly SettingFault[]): void {
  if (faults.length > 0) throw new SettingsError(faults)
}

/** The catalog of what is installed; a fault of a module is a fault of the setting. */
export async function loadCatalog(specifiers: readonly string[] | undefined, directory: string): Promise<Catalog> {
  try {
    return buildCatalog(
      await loadAutomations({
        specifiers,
        directory,
        builtIn: { 'muster/automations': () => import('../automations/index.ts') },
      }),
    )
  } catch (error) {
    if (error instanceof AutomationError)
      throw new SettingsError(error.message.split('\n').map((problem) => ({ name: 'SVC_AUTOMATIONS', problem })))
    throw error
  }
}

export interface ProcessValues {
  readonly logFormat: 'text' | 'json'
  readonly logLevel: LogLevel
  readonly otelEnabled: boolean
}

/**
 * Runs `inside` with a log and, when asked for, traces; ends both afterwards, whatever happened.
 * `stop` aborts at the first SIGINT or SIGTERM, and when a parent that holds an IPC channel to us (`muster dev`) ends
 * without a word: a worker that outlived its fleet would fight the next one's for its name.
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
  const onOrphaned = (): void => end('the parent process ended')
  process.on('SIGINT', end)
  process.on('SIGTERM', end)
  process.on('disconnect', onOrphaned)
  process.channel?.unref()
  try {
    return await inside(log, stop.signal)
  } finally {
    process.off('SIGINT', end)
    process.off('SIGTERM', end)
    process.off('disconnect', onOrphaned)
    await tracing.stop()
    await log.close()
  }
}

/** Resolves when `signal` aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
