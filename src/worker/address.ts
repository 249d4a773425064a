/**
 * @module worker/address
 * Where one worker's routes stand below its master: one WebSocket, three HTTP paths. A path prefix in the master's URL
 * (a reverse proxy's) is kept; query, fragment and credentials have no place there.
 */
import { API_PREFIX } from '../protocol/index.ts'

export interface WorkerAddress {
  /** Scheme, host and port, as an HTTP client wants them. */
  readonly origin: string
  readonly configPath: string
  readonly rpcPath: string
  readonly busPath: string
  /** The whole URL of the control channel, ws: or wss:. */
  readonly controlUrl: string
}

/** @throws TypeError when `masterUrl` is no http(s) URL, or carries credentials, a query or a fragment. */
export function workerAddress(masterUrl: string, type: string, workerId: string): WorkerAddress {
  if (!URL.canParse(masterUrl)) throw new TypeError('the master URL is not valid; for example http://master:8080')
  const url = new URL(masterUrl)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new TypeError(`the master URL has the scheme ${url.protocol}; use http: or https:`)
  if (url.username !== '' || url.password !== '')
    throw new TypeError('the master URL must not contain credentials; the token is a separate setting')
  if (url.search !== '' || url.hash !== '') throw new TypeError('the master URL must not have a query or a fragment')
  const prefix = url.pathname.replace(/\/+$/, '')
  const worker = `${prefix}${API_PREFIX}/automations/${encodeURIComponent(type)}/workers/${encodeURIComponent(workerId)}`
  return {
    origin: url.origin,
    configPath: `${worker}/config`,
    rpcPath: `${worker}/rpc`,
    busPath: `${worker}/bus`,
    controlUrl: `${url.protocol === 'https:' ? 'wss:' : 'ws:'}//${url.host}${worker}/control`,
  }
}
