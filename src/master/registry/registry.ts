/**
 * @module master/registry/registry
 * The registry of workers. Records are read from the store every time; nothing is cached. Sockets are handled by
 * master/control.
 *
 *   unknown ──register──▶ registered ──DELETE──▶ forgotten (its generation is kept, D46) ──register──▶ registered
 *
 * Every change takes the same steps: store it, signal the socket, publish the event, send the response.
 */
import type { MasterDeps, Part } from '../deps.ts'
import { regressionsIn } from '../regressions.ts'
import { EventPublisher, type Announce } from './events.ts'
import { registryRoutes } from './routes.ts'
import type { CancelledLease, Ref } from '../../storage/index.ts'
import { drainWorkers } from './drain.ts'
import { Signals, type SignalListener, type SocketSignal } from './signals.ts'
import type { RegistryRouteDeps } from './worker-path.ts'

export interface Registry {
  /** Sends a signal to the socket of a worker, on whichever master it is. */
  signal(signal: SocketSignal): void
  /** Sends the leases that a cancel ended to their workers (D117). */
  cancelled(type: string, leases: readonly CancelledLease[]): void
  /** Calls `listener` with every signal for a socket of this master. @returns a function that unsubscribes. */
  onSignal(listener: SignalListener): () => void
  /**
   * Drains workers: they finish their tasks and exit. Repeating it changes nothing.
   *
   * @param actor Who requests it.
   * @returns false for a worker without a record, in the order of the refs.
   */
  drain(refs: readonly Ref[], actor: string): Promise<readonly boolean[]>
  /** Publishes an event about a worker. */
  readonly announce: Announce
}

interface RegistryOptions extends Pick<RegistryRouteDeps, 'onDrain' | 'worstWorkers'> {
  /** Whether every live master reads several events in one entry, and several signals in one message (D135). */
  readonly mayBatch: () => boolean
}

export function createRegistry(
  deps: MasterDeps,
  { onDrain, mayBatch, worstWorkers }: RegistryOptions,
): Part & Registry {
  const signals = new Signals(deps, mayBatch)
  const events = new EventPublisher(deps, mayBatch)
  const { announce } = events
  const regressions = regressionsIn(deps.metrics)
  let stopListening = (): void => {}
  return {
    routes: registryRoutes({ master: deps, signals, announce, regressions, onDrain, worstWorkers }),
    start: () => {
      stopListening = deps.backend.bus.onSignal((signal) => {
        if (signal.kind === 'wake' || signal.kind === 'finished') return
        if (signal.kind === 'drain') onDrain(signal.ref) // Polls of the worker may wait at any master (D78).
        if (signals.isLocal(signal.conn)) signals.deliver(signal)
      })
    },
    stop: () => {
      stopListening()
      events.flush()
    },
    signal: (signal) => signals.send(signal),
    drain: (refs, actor) => drainWorkers(refs, actor, { master: deps, signals, announce, onDrain }),
    cancelled: (type, leases) => void signals.cancelled(type, leases),
    onSignal: (listener) => signals.on(listener),
    announce,
  }
}
