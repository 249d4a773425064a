/**
 * @module operator/kube/identity
 * Where the API server is and who we are, from a kubeconfig or the pod's service account. All that is used of
 * client-node: reading configuration, and authentication (tokens from files, exec plugins, OIDC).
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
  /** The API server's URL; a path in it stands in front of every request's. */
  readonly server: URL
  /** Our own namespace, or the kubeconfig context's. */
  readonly namespace: string | undefined
  /** Asked for every request: service-account tokens rotate, exec plugins and OIDC renew. */
  credentials(): Promise<Credentials>
}

/** What client-node calls the context it makes up, for localhost, when it has found nothing. */
const MADE_UP_CONTEXT = 'loaded-context'

/** From `KUBECONFIG`, `~/.kube/config` or the service account, in this order. @throws Error when there is none, or it cannot be read. */
export function defaultIdentity(): KubeIdentity {
  const config = new KubeConfig()
  config.loadFromDefault()
  if (config.getCurrentContext() === MADE_UP_CONTEXT)
    throw new Error(
      'there is neither a kubeconfig nor the service account of a pod; set KUBECONFIG to the path of a kubeconfig',
    )
  return identityOf(config)
}

/** From the text of a kubeconfig. */
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
      'the kubeconfig names an API server with http, so the token can be read on the network: use https, or set insecure-skip-tls-verify',
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

const textOf = (pem: unknown): string =>
  typeof pem === 'string' ? pem : Buffer.isBuffer(pem) ? pem.toString('utf8') : String(pem)
