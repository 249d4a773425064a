/** @module cmd/doctor/certificate  Judges the certificate of the master or of the proxy in front of it. */
import { checkServerIdentity, type DetailedPeerCertificate } from 'node:tls'
import { fail, ok, warn, type Finding } from './check.ts'
import { directivesFor } from './directives.ts'
import type { Session } from './session.ts'

const DAY_MS = 86_400_000
const SOON_DAYS = 14
const ISSUED_BY = 'or SVC_TLS_CERT_FILE, if the master serves TLS itself'

interface Presented {
  readonly certificate: DetailedPeerCertificate
  readonly protocol: string
  readonly refusal: string | null
  readonly host: string
  readonly nowMs: number
  /** The field of the context that names the CA; undefined: those of Node are used. */
  readonly caFrom: string | undefined
}

export function certificateFinding({ certificate, protocol, refusal, host, nowMs, caFrom }: Presented): Finding {
  const endsAtMs = Date.parse(certificate.valid_to)
  const date = new Date(endsAtMs).toISOString().slice(0, 10)
  const replace = `replace the certificate: ${directivesFor('certificate')}; ${ISSUED_BY}`
  if (endsAtMs <= nowMs) return fail('the certificate has expired', `it was valid until ${date}`, replace)
  if (Date.parse(certificate.valid_from) > nowMs)
    return fail(
      'the certificate is not valid yet',
      `it is valid from ${certificate.valid_from}; this machine has ${new Date(nowMs).toISOString()}`,
      `correct the clock of this machine, or ${replace}`,
    )
  if (checkServerIdentity(host, certificate) !== undefined)
    return fail(
      `the certificate is not for ${host}`,
      `it is for ${namesOf(certificate)}`,
      `use one of these names in the URL of the master, or ${replace}`,
    )
  if (refusal !== null) return fail('the certificate is not trusted', chainCause(certificate, refusal, caFrom), trust())
  const days = Math.floor((endsAtMs - nowMs) / DAY_MS)
  const left = days === 1 ? '1 day left' : `${days} days left`
  const text = `${protocol}, certificate of ${issuerOf(certificate)} for ${host}, ${left}`
  return days < SOON_DAYS ? warn(text, `it is valid until ${date}`, replace) : ok(text)
}

const namesOf = ({ subjectaltname, subject }: DetailedPeerCertificate): string =>
  subjectaltname?.replaceAll(/\b(?:DNS|IP Address):/g, '') ?? one(subject.CN)

const issuerOf = ({ issuer }: DetailedPeerCertificate): string => one(issuer.CN ?? issuer.O)
const one = (name: string | readonly string[] | undefined): string =>
  typeof name === 'string' ? name : (name?.[0] ?? '?')

function chainCause(certificate: DetailedPeerCertificate, refusal: string, caFrom: string | undefined): string {
  const trusted = caFrom === undefined ? 'the CAs of Node and NODE_EXTRA_CA_CERTS' : `the CAs of ${caFrom}`
  const issuer = issuerOf(certificate)
  return `its issuer ${issuer} is not among ${trusted}, or the server sends no intermediate (${refusal})`
}

const trust = (): string =>
  'for a CA of your own: muster context set NAME --ca-file FILE, or NODE_EXTRA_CA_CERTS=FILE; ' +
  `if an intermediate is missing: ${directivesFor('certificate')}`

/** A handshake that failed before a certificate was seen. */
export function tlsFinding(code: string, problem: string, { connection, port }: Session): Finding {
  if (/wrong version number|packet length too long|http request/i.test(problem))
    return fail(
      `port ${port} does not use TLS`,
      'the response to the handshake is not TLS',
      `use http in ${connection.from.masterUrl}, or the port with TLS ` +
        '(in nginx: listen 443 ssl; in haproxy: bind :443 ssl crt)',
    )
  return fail(
    'the TLS handshake failed',
    code === '' || problem.includes(code) ? problem : `${problem} (${code})`,
    'compare the TLS versions: ssl_protocols in nginx, ssl-min-ver in haproxy, SVC_TLS_MIN_VERSION of the master; ' +
      'a server that requires client certificates is not supported',
  )
}
