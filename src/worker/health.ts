/**
 * @module worker/health
 * The worker's own listener, when one is asked for: `/healthz` answers as long as the process does, `/readyz` says
 * whether it is registered and not draining (D59), `/metrics` shows its own condition. No token: it belongs on a private
 * network, and tells no config and no payload.
 */
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Gauge, Registry } from 'prom-client'

export interface HealthListen { readonly host: string; readonly port: number }

export interface HealthDeps {
  readonly isReady: () => { readonly ready: boolean; readonly why: string }
  readonly labels: Readonly<Record<'automation_type' | 'worker_id', string>>
  /** Read at each scrape; names without the prefix. */
  readonly gauges: Readonly<Record<string, { readonly help: string; readonly read: () => number }>>
}

export interface HealthListener {
  readonly port: number
  close(): Promise<void>
}

/** Starts listening. @throws Error when the address cannot be used. */
export async function startHealth(listen: HealthListen, deps: HealthDeps): Promise<HealthListener> {
  const registry = registryOf(deps)
  const server = createServer((request, response) => {
    void answer(request.method ?? '', request.url ?? '', response, deps, registry)
  })
  server.headersTimeout = 10_000
  server.requestTimeout = 10_000
  await listening(server, listen)
  return {
    port: (server.address() as AddressInfo).port,
    close: () => new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    }),
  }
}

function listening(server: Server, { host, port }: HealthListen): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) => reject(new Error(`the health listener cannot use ${host}:${port}: ${cause.message}; choose another SVC_HEALTH_LISTEN`, { cause })))
    server.listen(port, host, resolve)
  })
}

function registryOf({ gauges, labels }: HealthDeps): Registry {
  const registry = new Registry()
  registry.setDefaultLabels(labels)
  for (const [name, { help, read }] of Object.entries(gauges)) {
    const gauge: Gauge = new Gauge({ name: `svc_worker_process_${name}`, help, registers: [registry], collect: () => gauge.set(read()) })
  }
  return registry
}

async function answer(method: string, url: string, response: ServerResponse, { isReady }: HealthDeps, registry: Registry): Promise<void> {
  const json = (status: number, body: object, headers: Record<string, string> = {}): void => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
  }
  const [path] = url.split('?')
  if (path !== '/healthz' && path !== '/readyz' && path !== '/metrics') return json(404, { detail: 'not found; known: /healthz, /readyz, /metrics' })
  if (method !== 'GET' && method !== 'HEAD') return json(405, { detail: 'use GET' }, { allow: 'GET, HEAD' })
  if (path === '/metrics') return void response.writeHead(200, { 'content-type': registry.contentType }).end(await registry.metrics())
  const { ready, why } = path === '/readyz' ? isReady() : { ready: true, why: 'ok' }
  json(ready ? 200 : 503, { status: why })
}
