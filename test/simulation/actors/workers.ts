/** Runs the workers. */
import { startWorker } from '../../../src/worker/index.ts'
import { entryOf } from '../automations.ts'
import { MASTER_URL, TOKENS, type Environment, type StartActor } from '../environment.ts'

const RESTART_MS = 1_000
const DRAIN_TIMEOUT_SECONDS = 5
const HOST = {
  hardware: () => ({ cores: 1, ram_gb: 1, hostname: 'simulated', kernel: 'simulated' }),
  cpuMs: () => 0,
  rssBytes: () => 0,
}

export const startWorkers: StartActor = (environment) => {
  for (const [at, type] of environment.plan.workers.entries()) start(environment, `worker-${at}`, type)
}

function start(environment: Environment, name: string, type: string): void {
  const { managed, time } = environment
  const process = environment.createProcess(name)
  const entry = entryOf(environment.catalog, type, {
    worker: name,
    life: environment.startsOf(name),
    takeFlood: () => environment.takeFlood(name),
    onEvent: (event) => environment.ran(process, event),
  })
  environment.note(name, 'starts')
  const running = startWorker({
    masterUrl: MASTER_URL,
    token: TOKENS.worker,
    entry,
    workerId: name,
    drainTimeoutSeconds: DRAIN_TIMEOUT_SECONDS,
    clock: process,
    timers: process,
    random: process.random,
    log: environment.logOf(process),
    host: HOST,
    createPool: environment.poolsOf(process),
    dial: environment.dialOf(process),
  })
  const restart = (): void => start(environment, name, type)
  managed.set(name, {
    process,
    restart,
    terminate: () => process.run(() => running.drain('SIGTERM')),
  })
  void running.done.then((code) => {
    environment.note(name, `exits with ${code}`)
    process.kill()
    time.after(RESTART_MS, () => managed.get(name)?.process === process && restart())
  })
}
