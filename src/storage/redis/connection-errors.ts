/**
 * @module storage/redis/connection-errors
 * Explains errors of a connection to users: what is wrong, and what to do. The sentences never contain a password.
 */

/** `isHopeless`: waiting does not mend it, so a start need not wait. */
export interface Explanation {
  readonly sentence: string
  readonly isPermanent: boolean
}

type Row = readonly [pattern: RegExp, sentence: (of: string, match: RegExpExecArray) => string, isHopeless: boolean]

/** The source of the error: the store, or the sentinels in front of it. */
const SENTINELS = 'the sentinels'
const passwordOf = (of: string): string => (of === SENTINELS ? 'SVC_BACKEND_SENTINEL_PASSWORD' : 'SVC_BACKEND_PASSWORD')
const verb = (of: string, singular: string, plural: string): string => `${of} ${of === SENTINELS ? plural : singular}`

/**
 * The first matching row applies. TLS alerts, which concern the client certificate, come before errors of the server's.
 */
const ROWS: readonly Row[] = [
  [/^NOAUTH/, (of) => `${verb(of, 'asks', 'ask')} for a password; set ${passwordOf(of)}`, true],
  [
    /^WRONGPASS|invalid password|invalid username/i,
    (of) =>
      of === SENTINELS
        ? `the sentinels refuse the password; check ${passwordOf(of)}`
        : 'the store refuses the user or the password; check the user in SVC_BACKEND_URL and SVC_BACKEND_PASSWORD',
    true,
  ],
  [
    /^NOPERM .*\b(?:key|keys|channel|channels)\b/i,
    () =>
      "the store's user may not use the keys and channels of the store; " +
      'it needs the rights ~muster:* and &muster:* (the prefix in place of muster, where there is one)',
    true,
  ],
  [
    /^NOPERM .*'(?<command>[^']+)' command/,
    (_, match) =>
      `the store's user may not call ${(match.groups?.['command'] ?? '').toUpperCase().replace('|', ' ')}; ` +
      'grant it that right',
    true,
  ],
  [/^NOPERM (?<what>.*)/, (_, match) => `the store's user lacks a right: ${match.groups?.['what'] ?? ''}`, true],
  [/cluster support disabled/, () => 'the server is not a node of a cluster; use kvstore://host:port', true],
  [/No such master/i, () => 'the sentinels know no primary of that name; check the hosts in SVC_BACKEND_URL', true],
  [
    /alert certificate required|alert handshake failure/,
    (of) => `${verb(of, 'asks', 'ask')} for a client certificate; set SVC_BACKEND_CERT_FILE and SVC_BACKEND_KEY_FILE`,
    true,
  ],
  [
    /alert (?<why>unknown ca|bad certificate|certificate \w+|unsupported certificate)/,
    (of, match) =>
      `${verb(of, 'does', 'do')} not accept the client certificate (${match.groups?.['why'] ?? ''}); ` +
      'check SVC_BACKEND_CERT_FILE',
    true,
  ],
  [/certificate has expired/, (of) => `the certificate of ${of} has expired; renew it`, true],
  [/certificate is not yet valid/, (of) => `the certificate of ${of} is not valid yet; check the clocks`, true],
  [
    /does not match certificate's altnames: (?<why>[^;]*?):?\s*$/,
    (of, match) => `the certificate of ${of} is for another host: ${match.groups?.['why'] ?? ''}`,
    true,
  ],
  [
    /self-signed certificate|unable to (?:verify|get)|certificate/,
    (of) =>
      `the certificate of ${of} is not signed by a trusted authority; ` +
      'set SVC_BACKEND_CA_FILE to the one that signed it',
    true,
  ],
  [
    /wrong version number|packet length too long/,
    () => 'the server does not speak TLS at this port; use kvstore://',
    true,
  ],
  [/ECONNREFUSED (?<where>\S+)/, (_, match) => `nothing listens at ${match.groups?.['where'] ?? ''}`, false],
  [
    /ENOTFOUND (?<host>\S+)|EAI_AGAIN (?<again>\S+)/,
    (_, match) => `the host name ${match.groups?.['host'] ?? match.groups?.['again'] ?? ''} is not known`,
    false,
  ],
  [/^Socket timeout/, () => 'the store did not respond in time', false],
  [
    /ETIMEDOUT/,
    () => 'the connection timed out; check that the server is reachable and speaks TLS if the URL is kvstores://',
    false,
  ],
  [/ECONNRESET/, () => 'the server closed the connection; if it accepts only TLS, use kvstores://', false],
]

const SENTINEL = /^All sentinels are unreachable.*?(?:Last error: (?<last>.*))?$/s

export function explain(error: unknown): Explanation {
  const message = messageOf(error)
  const sentinel = SENTINEL.exec(message)
  if (sentinel === null) return explanationOf('the store', message) ?? { sentence: message, isPermanent: false }
  return (
    explanationOf(SENTINELS, sentinel.groups?.['last'] ?? '') ?? {
      sentence: 'no sentinel responds at any of the hosts in SVC_BACKEND_URL',
      isPermanent: false,
    }
  )
}

function explanationOf(of: string, message: string): Explanation | null {
  for (const [pattern, sentence, isHopeless] of ROWS) {
    const match = pattern.exec(message)
    if (match !== null) return { sentence: sentence(of, match), isPermanent: isHopeless }
  }
  return null
}

const messageOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : String(error)
