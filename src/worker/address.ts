/**
 * @module worker/address
 * Builds the URLs of one worker's routes at the master: one WebSocket and three HTTP paths. Keeps a path prefix of the
 * master's URL, as a reverse proxy may add one.
 */
import { API_PREFIX } from '../protocol/index.ts'

export interface WorkerAddress {
  /** Scheme, host and port, as an HTTP client takes them. */
  readonly origin: string
  readonly configPath: string
  readonly rpcPath: string
  readonly busPath: string
  /** URL of the control channel, with the scheme ws: or wss:. */
  readonly controlUrl: string
}

/**
 * Builds the URLs for one worker.
 * @param masterUrl http or https, without credentials, query and fragment.
 * @throws {TypeError} for a URL of another form.
 */
export function workerAddress(masterUrl: string, type: string, workerId: string): WorkerAddress {
  if (!URL.canParse(masterUrl)) throw new TypeError('the master URL is not valid; for example http://master:8080')
  const url = new URL(masterUrl)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new TypeError(`the master URL has the scheme ${url.protocol}; use http: or https:`)
  if (url.username !== '' || url.password !== '')
    throw new TypeError('the master URL must not contain credentials; the token is a separate setting')
  if (url.search !== '' || url.hash !== '') throw new TypeError('the master URL must not have a query or a fragment')
  const prefix = url.pathname.replace(/\/+$/, '')
  const automation = `${prefix}${API_PREFIX}/automations/${encodeURIComponent(type)}`
  const worker = `${automation}/workers/${encodeURIComponent(workerId)}`
  return {
    origin: url.origin,
    configPath: `${worker}/config`,
    rpcPath: `${worker}/rpc`,
    busPath: `${worker}/bus`,
    controlUrl: `${url.protocol === 'https:' ? 'wss:' : 'ws:'}//${url.host}${worker}/control`,
  }
}
