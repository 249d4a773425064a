/**
 * @module cmd/worker
 * `muster worker`: one process that runs one automation under one worker id. SIGTERM and SIGINT drain it, with a
 * deadline. Exit codes: 0 drained, 1 refused by the master for good, 2 settings.
 */
import { hostname } from 'node:os'
import { systemRandom, systemTime } from '../runtime/index.ts'
import { startWorker, systemHost } from '../worker/index.ts'
import { AUTOMATIONS_SETTING, HELP_TAIL, loadCatalog, LOG_SETTINGS, refuse, withProcess } from './process.ts'
import { atLeast, automationType, hostPort, httpUrl, text, workerId } from './readers.ts'
import { describeSettings, readSettings, setting } from './settings.ts'
import { watchedSecret } from './secret-file.ts'

const SETTINGS = {
  masterUrl: setting(httpUrl, {
    name: 'SVC_MASTER_URL',
    help: 'Address of the master, or of the TLS proxy before it.',
    required: true,
  }),
  token: setting(text, { name: 'SVC_WORKER_TOKEN', help: 'Token of the workers.', secret: true, required: true }),
  type: setting(automationType, {
    name: 'SVC_AUTOMATION_TYPE',
    help: 'The automation this worker runs.',
    required: true,
  }),
  id: setting(workerId, {
    name: 'SVC_WORKER_ID',
    help: 'Name of this worker, unique within its type.',
    fallback: hostname(),
  }),
  ...AUTOMATIONS_SETTING,
  drainTimeoutSeconds: setting(atLeast(0), {
    name: 'SVC_DRAIN_TIMEOUT_SECONDS',
    help: 'How long running work may take to end after SIGTERM.',
    fallback: '30',
  }),
  healthListen: setting(hostPort, { name: 'SVC_HEALTH_LISTEN', help: 'host:port for /healthz, /readyz and /metrics.' }),
  ...LOG_SETTINGS,
} as const

export function help(): string {
  return `muster worker: runs one automation for a master\n\n  SVC_WORKER_TOKEN_FILE=worker-token muster worker --master-url http://127.0.0.1:8080 --automation-type http-probe --automations muster/automations\n\n${describeSettings(SETTINGS)}\n${HELP_TAIL}`
}

export async function run(argv: readonly string[]): Promise<number> {
  const { values, faults } = readSettings(SETTINGS, process.env, argv)
  refuse(faults)
  const catalog = await loadCatalog(values.automations, process.cwd())
  const entry = catalog.get(values.type)
  if (entry === undefined)
    refuse([
      {
        name: 'SVC_AUTOMATION_TYPE',
        problem: `"${values.type}" is not installed; installed: ${[...catalog.keys()].join(', ')}`,
      },
    ])
  else
    return withProcess(values, async (log, stop) => {
      const token = watchedSecret('SVC_WORKER_TOKEN', values.token, process.env, systemTime, log)
      const worker = startWorker({
        masterUrl: values.masterUrl.href,
        token: token.current,
        entry,
        workerId: values.id,
        drainTimeoutSeconds: values.drainTimeoutSeconds,
        healthListen: values.healthListen ?? null,
        clock: systemTime,
        timers: systemTime,
        random: systemRandom,
        log,
        host: systemHost,
      })
      // A plugin's stray rejection or throw belongs to its slot: said, counted, survived.
      const onStray = (error: unknown): void => worker.reportStrayError(error)
      process.on('unhandledRejection', onStray)
      process.on('uncaughtException', onStray)
      stop.addEventListener('abort', () => worker.drain(String(stop.reason)), { once: true })
      const code = await worker.done
      token.stop()
      return code
    })
  return 2
}
