/** Runs the masters. */
import { startMaster } from '../../../src/master/index.ts'
import { TOKENS, type Environment, type StartActor } from '../environment.ts'
import { StoreClient } from '../store.ts'

const RESTART_MS = 1_000
const MAX_SOCKETS = 1_000

export const startMasters: StartActor = (environment) => {
  for (let at = 0; at < environment.plan.masters; at += 1) start(environment, `master-${at}`)
}

function start(environment: Environment, name: string): void {
  const { masters, managed, network, store, time } = environment
  const process = environment.createProcess(name)
  masters.delete(name)
  const restart = (): void => start(environment, name)
  managed.set(name, {
    process,
    restart,
    terminate: (restartMs) => {
      const serving = masters.get(name)
      if (serving === undefined) return
      process.run(() => {
        void serving.running.stop().then(() => {
          process.kill()
          time.after(restartMs, () => managed.get(name)?.process === process && restart())
        })
      })
    },
  })
  environment.note(name, 'starts')
  const starting = startMaster({
    listen: null,
    clock: process,
    timers: process,
    random: process.random,
    log: environment.logOf(process),
    backend: new StoreClient(process, store, network),
    backendScheme: 'memory',
    catalog: environment.catalog,
    tokens: { ...TOKENS, workerPeers: [], scopes: new Map() },
    settings: { ...environment.plan.settings, maxSockets: MAX_SOCKETS },
    dashboardDir: null,
    version: 'simulated',
  })
  starting.then(
    (running) => {
      masters.set(name, { process, running })
      environment.note(name, 'serves')
    },
    (error: Error) => {
      environment.note(name, 'failed to start', () => error.message)
      process.kill()
      time.after(RESTART_MS, () => managed.get(name)?.process === process && restart())
    },
  )
}
