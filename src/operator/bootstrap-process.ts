/**
 * @module operator/bootstrap-process
 * Runs {@link Bootstrap} as a process: with a client of the API server, Kubernetes Events, and a listener for probes.
 * `/readyz` returns 200 once every Secret exists.
 * @see D63
 */
import { Registry } from 'prom-client'
import { serveProbes, type Log, type Random, type Time } from '../runtime/index.ts'
import { Bootstrap, type BootstrapOptions } from './bootstrap.ts'
import { FoldingEventRecorder, PooledTransport, type EventTarget, type KubeIdentity } from './kube/index.ts'

export interface BootstrapProcessOptions extends BootstrapOptions {
  readonly identity: KubeIdentity
  readonly metricsListen: { readonly host: string; readonly port: number }
  /** Unique among all processes, past and present. */
  readonly instance: string
  readonly time: Time
  readonly random: Random
  readonly log: Log
}

export interface RunningBootstrap {
  readonly port: number
  /** Never rejects. */
  stop(): Promise<void>
}

/**
 * Starts the process. The API server may still be unreachable. @throws {Error} if the listener's address cannot be
 * used.
 */
export async function startBootstrap(options: BootstrapProcessOptions): Promise<RunningBootstrap> {
  const { identity, instance, log, metricsListen, namespace, random, redis, scaler, time, tokens } = options
  const parts = { clock: time, timers: time, random, log }
  const transport = new PooledTransport({ identity, clock: time, timers: time })
  const events = new FoldingEventRecorder({ ...parts, transport, controller: 'muster.dev/bootstrap', instance })
  const onMade = (secret: EventTarget): void =>
    events.record(secret, 'Normal', 'SecretGenerated', 'it was missing; its values are new')
  const bootstrap = new Bootstrap({ namespace, tokens, redis, scaler, transport, time, random, log, onMade })
  const listener = await serveProbes('SVC_METRICS_LISTEN', metricsListen, {
    healthz: () => ({ ok: true, why: 'ok' }),
    readyz: () => ({ ok: bootstrap.isComplete, why: bootstrap.isComplete ? 'ok' : 'a Secret is missing' }),
    metrics: new Registry(), // Empty: this process exports no metrics.
  })
  const abort = new AbortController()
  const running = Promise.all([events.run(abort.signal), bootstrap.run(abort.signal)])
  log.info('bootstrap started', { port: listener.port, namespace, tokens, redis, scaler })
  return {
    port: listener.port,
    stop: async () => {
      abort.abort(new Error('bootstrap stops'))
      await running
      await Promise.all([transport.close(), listener.close()])
    },
  }
}
