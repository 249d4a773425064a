/**
 * @module storage/redis/url
 * Where the store is, as SVC_BACKEND_URL says it (D2):
 *
 *   kvstore://[user[:password]@]host[:6379][/database][?prefix=name]
 *   kvstore+sentinel://[user[:password]@]host[:26379],host…/master-name[?prefix=name]
 *   kvstore+cluster://[user[:password]@]host[:6379],host…[?prefix=name]
 *
 * `kvstores…` is the same over TLS; `redis`, `rediss` stand for `kvstore`, `kvstores`.
 */
import { isLoopbackHost } from '../../runtime/index.ts'

export interface HostPort {
  readonly host: string
  readonly port: number
}

export interface StoreUrl {
  readonly form: 'single' | 'sentinel' | 'cluster'
  readonly hosts: readonly HostPort[]
  /** What the sentinels call the primary; '' elsewhere. */
  readonly masterName: string
  readonly tls: boolean
  readonly user: string | null
  readonly password: string | null
  readonly database: number
  /** First part of every key and channel. */
  readonly prefix: string
}

export const REDIS_SCHEMES: readonly string[] = [
  'kvstore',
  'kvstores',
  'kvstore+sentinel',
  'kvstores+sentinel',
  'kvstore+cluster',
  'kvstores+cluster',
  'redis',
  'rediss',
]
export const DEFAULT_PREFIX = 'muster'

const DEFAULT_PORTS: Readonly<Record<StoreUrl['form'], number>> = { single: 6_379, sentinel: 26_379, cluster: 6_379 }

const URL_PARTS =
  /^(?<scheme>[a-z+]+):\/\/(?:(?<credentials>[^@/?]*)@)?(?<hosts>[^/?@]*)(?:\/(?<path>[^?]*))?(?:\?(?<query>.*))?$/s
const HOST_PORT = /^(?:\[(?<v6>[0-9a-fA-F:.]+)\]|(?<host>[^:[\]\s]+))(?::(?<port>\d{1,5}))?$/
const PREFIX = /^[\w.-]{1,64}$/

function formOf(scheme: string): StoreUrl['form'] {
  if (scheme.endsWith('+sentinel')) return 'sentinel'
  return scheme.endsWith('+cluster') ? 'cluster' : 'single'
}

/** @throws Error whose message is the problem and the way out; it never shows the password. */
export function parseStoreUrl(text: string): StoreUrl {
  const groups = URL_PARTS.exec(text)?.groups
  const scheme = groups?.['scheme'] ?? ''
  if (groups === undefined || !REDIS_SCHEMES.includes(scheme))
    throw new Error('is not the URL of a Redis; for example kvstore://127.0.0.1:6379')
  const form = formOf(scheme)
  const hosts = hostsOf(groups['hosts'] ?? '', form, text.includes('@'))
  if (form === 'single' && hosts.length > 1)
    throw new Error(
      `${scheme}:// takes one host; ` +
        `several are ${scheme.endsWith('s') ? 'kvstores' : 'kvstore'}+cluster:// or +sentinel://`,
    )
  return {
    form,
    hosts,
    tls: scheme.startsWith('kvstores') || scheme === 'rediss',
    ...pathOf(form, decoded(groups['path'] ?? '')),
    ...credentialsOf(groups['credentials'] ?? ''),
    prefix: prefixOf(groups['query'] ?? ''),
  }
}

/** For people: without user and password. */
export function describeUrl({ form, hosts, tls, masterName, database }: StoreUrl): string {
  const suffix = form === 'single' ? '' : `+${form}`
  return `kvstore${tls ? 's' : ''}${suffix}://${hosts.map(nameOf).join(',')}${pathText({ form, masterName, database })}`
}

function pathText({ form, masterName, database }: Pick<StoreUrl, 'form' | 'masterName' | 'database'>): string {
  if (form === 'sentinel') return `/${masterName}`
  return database === 0 ? '' : `/${database}`
}

export const nameOf = ({ host, port }: HostPort): string => `${host.includes(':') ? `[${host}]` : host}:${port}`

export const isLoopback = ({ host }: HostPort): boolean => isLoopbackHost(host)

const hostsOf = (text: string, form: StoreUrl['form'], isSecret: boolean): readonly HostPort[] =>
  text.split(',').map((each) => hostPort(each, DEFAULT_PORTS[form], isSecret))

/** @param isSecret a password stands in the URL, perhaps not where it should: nothing of it is shown. */
function hostPort(text: string, fallback: number, isSecret: boolean): HostPort {
  const groups = HOST_PORT.exec(text)?.groups
  const port = Number(groups?.['port'] ?? fallback)
  if (groups === undefined || port === 0 || port > 65_535)
    throw new Error(
      `${isSecret ? 'the part after the user' : JSON.stringify(text)} is not host:port; ` +
        'for example kvstore://127.0.0.1:6379',
    )
  return { host: groups['v6'] ?? groups['host'] ?? '', port }
}

function pathOf(form: StoreUrl['form'], path: string): { readonly masterName: string; readonly database: number } {
  if (form === 'sentinel') {
    if (path === '' || path.includes('/'))
      throw new Error(
        'needs the name under which the sentinels monitor the primary; ' +
          'for example kvstore+sentinel://h1:26379,h2:26379/mymaster',
      )
    return { masterName: path, database: 0 }
  }
  if (path !== '' && (form === 'cluster' || !/^\d{1,5}$/.test(path)))
    throw new Error(
      form === 'cluster'
        ? 'a cluster has only one database; remove the path after the hosts'
        : `${JSON.stringify(path)} is not the number of a database; for example kvstore://127.0.0.1:6379/1`,
    )
  return { masterName: '', database: Number(path) }
}

function credentialsOf(text: string): { readonly user: string | null; readonly password: string | null } {
  const colon = text.indexOf(':')
  const [user, password] = colon < 0 ? [text, ''] : [text.slice(0, colon), text.slice(colon + 1)]
  return { user: decoded(user) || null, password: decoded(password) || null }
}

function prefixOf(query: string): string {
  const parameters = new URLSearchParams(query)
  for (const name of parameters.keys())
    if (name !== 'prefix') throw new Error(`${JSON.stringify(name)} is not a known parameter of the URL; known: prefix`)
  const prefix = parameters.get('prefix') ?? DEFAULT_PREFIX
  if (!PREFIX.test(prefix))
    throw new Error('prefix must be 1 to 64 letters, digits, dots, dashes and underscores; for example ?prefix=team-a')
  return prefix
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // The text may hold a password: it is not shown.
    throw new Error('contains a % that is not an escape; write %25 for a percent sign')
  }
}
