/**
 * @module runtime/probes
 * The listener of a process that serves nothing else: `/healthz`, `/readyz` and `/metrics`, for a kubelet and a
 * Prometheus (D45). No token: it belongs on a private network, and what it says holds no config, no payload and no
 * secret.
 * @see D45
 */
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

const REQUEST_MS = 10_000
/** What a client may send ahead without reading, and how many clients there may be: a supervisor and a few scrapers. */
const MAX_REQUESTS_PER_SOCKET = 16
const MAX_CONNECTIONS = 200

export interface ProbeResult {
  readonly ok: boolean
  /** One sentence, without names or addresses. */
  readonly why: string
}

export interface Probes {
  readonly healthz: () => ProbeResult
  readonly readyz: () => ProbeResult
  /** As a prom-client Registry. */
  readonly metrics: { readonly contentType: string; metrics(): Promise<string | Uint8Array> }
}

export interface ProbeListener {
  readonly port: number
  close(): Promise<void>
}

/**
 * Starts listening.
 * @param setting the name of the setting that `listen` stands in.
 * @throws Error when the address cannot be used.
 */
export async function serveProbes(
  setting: string,
  listen: { readonly host: string; readonly port: number },
  probes: Probes,
): Promise<ProbeListener> {
  const server = createServer((request, response) => {
    void respond(request.method ?? '', request.url ?? '', response, probes)
  })
  server.headersTimeout = REQUEST_MS
  server.requestTimeout = REQUEST_MS
  server.maxRequestsPerSocket = MAX_REQUESTS_PER_SOCKET
  server.maxConnections = MAX_CONNECTIONS
  await listening(server, setting, listen)
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function listening(
  server: Server,
  setting: string,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) =>
      reject(
        new Error(`the health listener cannot listen on ${host}:${port}: ${cause.message}; choose another ${setting}`, {
          cause,
        }),
      ),
    )
    server.listen(port, host, resolve)
  })
}

async function respond(
  method: string,
  url: string,
  response: ServerResponse,
  { healthz, readyz, metrics }: Probes,
): Promise<void> {
  const json = (status: number, body: object, headers: Record<string, string> = {}): void => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
  }
  const [path] = url.split('?')
  if (path !== '/healthz' && path !== '/readyz' && path !== '/metrics')
    return json(404, { detail: 'not found; known: /healthz, /readyz, /metrics' })
  if (method !== 'GET' && method !== 'HEAD') return json(405, { detail: 'use GET' }, { allow: 'GET, HEAD' })
  if (path === '/metrics')
    return void response.writeHead(200, { 'content-type': metrics.contentType }).end(await metrics.metrics())
  const { ok, why } = path === '/readyz' ? readyz() : healthz()
  json(ok ? 200 : 503, { status: why })
}
