/**
 * @module worker/health
 * Serves the optional health listener of a worker: `/healthz` (the process runs), `/readyz` (registered and not
 * draining, D59) and `/metrics` (gauges of this process).
 */
import { Gauge, Registry } from 'prom-client'
import { serveProbes, type ProbeListener, type ProbeResult } from '../runtime/index.ts'

export interface HealthListen {
  readonly host: string
  readonly port: number
}

export interface HealthDeps {
  readonly isReady: () => ProbeResult
  readonly labels: Readonly<Record<'automation_type' | 'worker_id', string>>
  /** Read at each scrape. Names are without the prefix `svc_worker_process_`. */
  readonly gauges: Readonly<Record<string, { readonly help: string; readonly read: () => number }>>
}

/** Starts listening. @throws {Error} when the address cannot be used. */
export function startHealth(listen: HealthListen, deps: HealthDeps): Promise<ProbeListener> {
  return serveProbes('SVC_HEALTH_LISTEN', listen, {
    healthz: () => ({ ok: true, why: 'ok' }),
    readyz: deps.isReady,
    metrics: registryOf(deps),
  })
}

function registryOf({ gauges, labels }: HealthDeps): Registry {
  const registry = new Registry()
  registry.setDefaultLabels(labels)
  for (const [name, { help, read }] of Object.entries(gauges)) {
    const gauge: Gauge = new Gauge({
      name: `svc_worker_process_${name}`,
      help,
      registers: [registry],
      collect: () => gauge.set(read()),
    })
  }
  return registry
}
