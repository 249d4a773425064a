/**
 * @module operator/kube/identity
 * Finds the API server and the credentials, from a kubeconfig or the pod's service account. Of client-node it uses only
 * the reading of configuration, and authentication (tokens from files, exec plugins, OIDC).
 */
import type { RequestOptions } from 'node:https'
import { KubeConfig } from '@kubernetes/client-node'

interface TlsIdentity {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  readonly servername?: string
  readonly rejectUnauthorized?: boolean
}

export interface Credentials {
  readonly authorization: string | undefined
  readonly tls: TlsIdentity
}

export interface KubeIdentity {
  /** The API server's URL. Its path, if it has one, precedes the path of every request. */
  readonly server: URL
  /** The operator's own namespace, or that of the kubeconfig context. */
  readonly namespace: string | undefined
  /** Called for every request: service-account tokens rotate, and exec plugins and OIDC renew theirs. */
  credentials(): Promise<Credentials>
}

/** The name that client-node gives to its fallback context for localhost, when it finds no configuration. */
const MADE_UP_CONTEXT = 'loaded-context'

/**
 * Loads from `KUBECONFIG`, `~/.kube/config` or the service account, in this order. @throws {Error} if none exists or it
 * cannot be read.
 */
export function defaultIdentity(): KubeIdentity {
  const config = new KubeConfig()
  config.loadFromDefault()
  if (config.getCurrentContext() === MADE_UP_CONTEXT)
    throw new Error(
      'there is neither a kubeconfig nor the service account of a pod; set KUBECONFIG to the path of a kubeconfig',
    )
  return identityOf(config)
}

/** Loads from the text of a kubeconfig. */
export function identityFromText(text: string): KubeIdentity {
  const config = new KubeConfig()
  config.loadFromString(text)
  return identityOf(config)
}

function identityOf(config: KubeConfig): KubeIdentity {
  const cluster = config.getCurrentCluster()
  if (cluster === null) throw new Error('the kubeconfig names no cluster: set its current-context')
  if (cluster.proxyUrl !== undefined)
    throw new Error(
      'the kubeconfig names a proxy-url, which is not supported: give the address of the API server itself',
    )
  if (cluster.server.startsWith('http:') && !cluster.skipTLSVerify)
    throw new Error(
      'the kubeconfig names an API server with http, so the token can be read on the network: ' +
        'use https, or set insecure-skip-tls-verify',
    )
  return {
    server: new URL(cluster.server),
    namespace: config.getContextObject(config.getCurrentContext())?.namespace,
    credentials: async () => {
      const options: RequestOptions = {}
      await config.applyToHTTPSOptions(options)
      return { authorization: authorizationOf(options), tls: tlsOf(options) }
    },
  }
}

function authorizationOf({ headers, auth }: RequestOptions): string | undefined {
  const header = (headers as Readonly<Record<string, unknown>> | undefined)?.['Authorization']
  if (typeof header === 'string') return header.trim()
  return typeof auth === 'string' ? `Basic ${Buffer.from(auth).toString('base64')}` : undefined
}

function tlsOf({ ca, cert, key, servername, rejectUnauthorized }: RequestOptions): TlsIdentity {
  return {
    ...(ca === undefined ? {} : { ca: textOf(ca) }),
    ...(cert === undefined ? {} : { cert: textOf(cert) }),
    ...(key === undefined ? {} : { key: textOf(key) }),
    ...(servername === undefined ? {} : { servername }),
    ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
  }
}

function textOf(pem: unknown): string {
  if (typeof pem === 'string') return pem
  return Buffer.isBuffer(pem) ? pem.toString('utf8') : String(pem)
}
