/** @module cmd/doctor/settings-checks  Checks where settings come from, and the variables of a forward proxy. */
import { isLoopbackHost } from '../../runtime/index.ts'
import { Failure, findConnection, type Connection } from '../admin/index.ts'
import { SettingsError, type Environment } from '../settings.ts'
import { fail, ok, warn, type Check, type Finding } from './check.ts'
import type { Session } from './session.ts'

export const settings: Check = {
  name: 'settings',
  what: 'where the URL of the master, the token and the CA come from: flag, environment variable, context or default',
  needs: [],
  run: async (session) => {
    const { environment } = session.io
    try {
      session.connection = await findConnection(session.flags, session.io)
    } catch (error) {
      return settingsFault(error)
    }
    const text = sourcesOf(session.connection, environment)
    if (environment['NODE_TLS_REJECT_UNAUTHORIZED'] !== '0') return ok(text)
    return warn(
      text,
      'NODE_TLS_REJECT_UNAUTHORIZED=0 switches the verification of certificates off, so a stranger can read the token',
      'unset it, and give the CA: muster context set NAME --ca-file FILE, or NODE_EXTRA_CA_CERTS=FILE',
    )
  },
}

function sourcesOf({ masterUrl, from, context }: Connection, environment: Environment): string {
  const extraCa = environment['NODE_EXTRA_CA_CERTS'] ?? ''
  const defaultCa = extraCa === '' ? 'those of Node (default)' : `those of Node and NODE_EXTRA_CA_CERTS=${extraCa}`
  const sources = [
    `master ${masterUrl.href} (${from.masterUrl})`,
    `token (${from.token})`,
    ...(masterUrl.protocol === 'https:' ? [`CAs ${from.ca ?? defaultCa}`] : []),
    ...(context === null || context === '' ? [] : [`context ${context}`]),
  ]
  return sources.join(', ')
}

function settingsFault(error: unknown): Finding {
  if (error instanceof SettingsError) {
    const faults = error.faults.map(({ name, problem }) => `${name} ${problem}`).join('; ')
    return fail(
      'there is no master to check',
      faults,
      'set SVC_MASTER_URL and SVC_API_TOKEN_FILE, or a context: muster context set --help',
    )
  }
  if (error instanceof Failure) return fail(error.message, error.why.join('; '), error.next ?? 'muster context ls')
  throw error
}

export const proxyVariables: Check = {
  name: 'proxy-variables',
  what: 'whether `HTTP_PROXY` or `HTTPS_PROXY` would apply to the master: Muster does not use them',
  needs: ['settings'],
  run: ({ connection: { masterUrl }, host, io: { environment } }: Session) => {
    const names = masterUrl.protocol === 'https:' ? ['https_proxy', 'all_proxy'] : ['http_proxy', 'all_proxy']
    const name = names.flatMap((each) => [each, each.toUpperCase()]).find((each) => (environment[each] ?? '') !== '')
    if (name === undefined) return ok('none is set')
    const shown = `${name}=${withoutCredentials(environment[name] ?? '')}`
    if (isLoopbackHost(masterUrl.hostname)) return ok(`${shown} is set; ${host} is this machine`)
    const exceptions = environment['no_proxy'] ?? environment['NO_PROXY'] ?? ''
    if (isException(host, exceptions)) return ok(`${shown} is set, with an exception for ${host} in NO_PROXY`)
    return warn(
      `${shown} is set`,
      'muster commands, workers and the operator connect directly; curl and other programs use the proxy',
      `add ${host} to NO_PROXY; if only the proxy reaches the master, let it forward a port to it`,
    )
  },
}

function withoutCredentials(text: string): string {
  const url = URL.parse(text)
  return url === null ? text.replace(/^.*@/, '…@') : url.host
}

/** Whether a list such as `localhost,.example.com` contains the host. */
export function isException(host: string, list: string): boolean {
  const entries = list
    .split(',')
    .map((entry) => entry.trim().toLowerCase())
    .filter((entry) => entry !== '')
  return entries.some((entry) => {
    const name = entry.replace(/:\d+$/, '').replace(/^\*?\./, '')
    return entry === '*' || host.toLowerCase() === name || host.toLowerCase().endsWith(`.${name}`)
  })
}
