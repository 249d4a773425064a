/**
 * @module cmd/worker
 * Implements `muster worker`, which runs one automation under one worker ID. SIGTERM and SIGINT drain it within a
 * deadline. Exit codes: 0 drained, 1 permanently rejected by the master or ended by an uncaught exception, 2 settings.
 */
import { hostname } from 'node:os'
import { isRunnable, type Catalog } from '../automation/index.ts'
import { systemRandom, systemTime } from '../runtime/index.ts'
import { startWorker, systemHost } from '../worker/index.ts'
import { warnOfPlainText } from './plain-text.ts'
import { AUTOMATIONS_SETTING, HELP_TAIL, loadCatalog, LOG_SETTINGS, refuse, withProcess } from './process.ts'
import { atLeast, automationType, cidrs, hostPort, httpUrl, text, workerId, workerLabels } from './readers.ts'
import { describeSettings, readSettings, setting } from './settings.ts'
import { watchedSecret } from './secret-file.ts'
import { VERSION } from './version.ts'

const SETTINGS = {
  masterUrl: setting(httpUrl, {
    name: 'SVC_MASTER_URL',
    help: 'URL of the master, or of the TLS proxy in front of it.',
    required: true,
  }),
  token: setting(text, { name: 'SVC_WORKER_TOKEN', help: 'Token of the workers.', secret: true, required: true }),
  type: setting(automationType, {
    name: 'SVC_AUTOMATION_TYPE',
    help: 'Type of the automation that this worker runs.',
    required: true,
  }),
  id: setting(workerId, {
    name: 'SVC_WORKER_ID',
    help: 'ID of this worker, unique within its automation type.',
    fallback: hostname(),
  }),
  labels: setting(workerLabels, {
    name: 'SVC_WORKER_LABELS',
    help: 'Labels of this worker as comma-separated KEY=VALUE pairs, for example zone=eu-1,tier=spot.',
  }),
  ...AUTOMATIONS_SETTING,
  drainTimeoutSeconds: setting(atLeast(0), {
    name: 'SVC_DRAIN_TIMEOUT_SECONDS',
    help: 'How long running tasks may take to finish after SIGTERM.',
    fallback: '30',
  }),
  healthListen: setting(hostPort, { name: 'SVC_HEALTH_LISTEN', help: 'host:port for /healthz, /readyz and /metrics.' }),
  allowCidrs: setting(cidrs, {
    name: 'SVC_ALLOW_CIDRS',
    help:
      'For http-probe and http-request: comma-separated CIDR ranges, for example 10.1.0.0/16. ' +
      'Ranges outside of them have no effect in allow_cidrs of a config. "none" allows no range.',
  }),
  allowHosts: setting(text, {
    name: 'SVC_ALLOW_HOSTS',
    help:
      'For http-probe and http-request: comma-separated hosts to which requests are limited, ' +
      'for example *.example.com,https://api.example.org.',
  }),
  ...LOG_SETTINGS,
} as const

export function help(): string {
  return (
    'muster worker: run a worker, which runs one automation for a master\n\n' +
    '  SVC_WORKER_TOKEN_FILE=worker-token muster worker ' +
    '--master-url http://127.0.0.1:8080 --automation-type http-probe --automations muster/automations\n\n' +
    `${describeSettings(SETTINGS)}\n${HELP_TAIL}`
  )
}

/** Sets the environment variable of each flag, because automations read their settings from the environment. */
function handToAutomations(settings: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value] of Object.entries(settings)) if (value !== undefined) process.env[name] = value
}

function whyNotRunnable(type: string, catalog: Catalog): string {
  if (catalog.has(type))
    return `"${type}" is declared by a manifest and has no code here; start its own program, not muster worker`
  const runnable = [...catalog.values()].filter(isRunnable).map((entry) => entry.type)
  return `"${type}" is not installed; installed: ${runnable.join(', ') || 'no automation with code'}`
}

export async function run(argv: readonly string[]): Promise<number> {
  const { values, faults } = readSettings(SETTINGS, process.env, argv)
  refuse(faults)
  handToAutomations({ SVC_ALLOW_CIDRS: values.allowCidrs, SVC_ALLOW_HOSTS: values.allowHosts })
  const catalog = await loadCatalog(values.automations, process.cwd())
  const entry = catalog.get(values.type)
  if (!isRunnable(entry)) refuse([{ name: 'SVC_AUTOMATION_TYPE', problem: whyNotRunnable(values.type, catalog) }])
  else
    return withProcess(values, async (log, stop) => {
      const token = watchedSecret('SVC_WORKER_TOKEN', values.token, process.env, systemTime, log)
      warnOfPlainText(values.masterUrl, log)
      const worker = startWorker({
        masterUrl: values.masterUrl.href,
        token: token.current,
        entry,
        workerId: values.id,
        drainTimeoutSeconds: values.drainTimeoutSeconds,
        labels: values.labels ?? {},
        version: VERSION,
        healthListen: values.healthListen ?? null,
        clock: systemTime,
        timers: systemTime,
        random: systemRandom,
        log,
        host: systemHost,
      })
      // An unhandled rejection has unwound its own stack, so the worker continues. An uncaught exception has
      // interrupted a stack of unknown depth, which leaves the process in an unknown state, so the worker exits.
      process.on('unhandledRejection', (error) => worker.reportUnhandledError(error))
      process.on('uncaughtException', (error) => worker.crash(error))
      stop.addEventListener('abort', () => worker.drain(String(stop.reason)), { once: true })
      const code = await worker.done
      token.stop()
      return code
    })
  return 2
}
