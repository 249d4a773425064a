/**
 * @module master/registry/registry
 * The workers the master knows. Records live in the store and are read from it every time: nothing here remembers one.
 * What happens on their sockets is master/control.
 *
 *   unknown ──register──▶ registered ──DELETE──▶ forgotten (its generation is kept, D46) ──register──▶ registered
 *
 * Every change ends the same way: stored, told to the socket and to the event log, answered.
 */
import type { MasterDeps, Part } from '../deps.ts'
import { regressionsIn } from '../regressions.ts'
import { createAnnounce, type Announce } from './events.ts'
import { registryRoutes, type RegistryHooks } from './routes.ts'
import { Signals, type SignalListener, type SocketSignal } from './signals.ts'

export interface Registry {
  /** Reaches the socket of a worker, whichever master holds it. */
  tell(signal: SocketSignal): void
  /** Calls `listener` with every signal for a socket of this master; answers how to stop. */
  onSignal(listener: SignalListener): () => void
  /** Tells the event log what happened to a worker. */
  readonly announce: Announce
}

export function createRegistry(deps: MasterDeps, hooks: RegistryHooks): Part & Registry {
  const signals = new Signals(deps)
  const announce = createAnnounce(deps)
  const regressions = regressionsIn(deps.metrics)
  let stopListening = (): void => {}
  return {
    routes: registryRoutes({ deps, signals, announce, regressions, hooks }),
    start: () => {
      stopListening = deps.backend.bus.onSignal((signal) => {
        if (signal.kind === 'wake') return
        if (signal.kind === 'drain') hooks.onDrain(signal.ref) // Its polls may wait at any master (D78).
        if (signals.isOurs(signal.conn)) signals.hear(signal)
      })
    },
    stop: () => stopListening(),
    tell: (signal) => signals.tell(signal),
    onSignal: (listener) => signals.on(listener),
    announce,
  }
}
