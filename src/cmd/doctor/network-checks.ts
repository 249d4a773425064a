/** @module cmd/doctor/network-checks  Checks the way to the master below HTTP: name, port and TLS. */
import { lookup } from 'node:dns/promises'
import { connect, isIP } from 'node:net'
import { connect as connectTls, type DetailedPeerCertificate, type TLSSocket } from 'node:tls'
import { isLoopbackHost, type Time } from '../../runtime/index.ts'
import { plainTextWarning } from '../plain-text.ts'
import { certificateFinding, tlsFinding } from './certificate.ts'
import { fail, ok, warn, type Check, type Finding } from './check.ts'
import { directivesFor } from './directives.ts'

export const dns: Check = {
  name: 'dns',
  what: 'whether the host name has addresses',
  needs: ['settings'],
  run: async ({ host, connection: { from }, limits, io: { time } }) => {
    if (isIP(host) !== 0) return ok(`${host} is an address`)
    const found = await outcomeOf(lookup(host, { all: true }), limits.stepMs, time)
    if (found.kind === 'done') return ok(`${host} is ${found.value.map(({ address }) => address).join(', ')}`)
    return fail(
      `${host} has no address`,
      found.kind === 'late' ? `the resolver did not respond within ${limits.stepMs / 1_000} s` : found.problem,
      `correct the host name of ${from.masterUrl}, or the DNS of this machine: getent hosts ${host}`,
    )
  },
}

export const tcp: Check = {
  name: 'tcp',
  what: 'whether each address accepts connections on the port',
  needs: ['dns'],
  run: async ({ host, port, connection: { from }, limits, io: { time } }) => {
    const addresses = isIP(host) === 0 ? (await lookup(host, { all: true })).map(({ address }) => address) : [host]
    const tried = await Promise.all(
      addresses.map(async (address) => ({
        address,
        problem: await connectProblem(address, port, limits.stepMs, time),
      })),
    )
    const failed = tried.filter(({ problem }) => problem !== null)
    if (failed.length === 0) return ok(`port ${port} is open`)
    const cause = failed.map(({ address, problem }) => `${address}: ${problem}`).join('; ')
    // A name such as localhost often has an address of each family, of which a server uses one.
    if (failed.length < tried.length && isLoopbackHost(host)) return ok(`port ${port} is open at one address`)
    if (failed.length < tried.length)
      return warn(
        `port ${port} is not open at each address of ${host}`,
        cause,
        `remove the address from the DNS of ${host}, or start what should listen there`,
      )
    return fail(
      `no connection to port ${port} of ${host}`,
      cause,
      `correct the port of ${from.masterUrl} (8080 is the default of SVC_LISTEN, 443 of https), ` +
        'or start the master or proxy, or open the port in the firewall',
    )
  },
}

export const tls: Check = {
  name: 'tls',
  what: 'chain, name and remaining days of the certificate; without TLS, whether the token can be read on the network',
  needs: ['tcp'],
  run: async (session) => {
    const { masterUrl, ca, from } = session.connection
    if (masterUrl.protocol === 'http:') return withoutTls(masterUrl)
    const { host, port, limits, io } = session
    const shaken = await handshake({ host, port, ca, timeoutMs: limits.stepMs, time: io.time })
    if (shaken.kind === 'failed') return tlsFinding(shaken.code, shaken.problem, session)
    return certificateFinding({ ...shaken, host, nowMs: io.time.wallMs(), caFrom: from.ca })
  },
}

function withoutTls(masterUrl: URL): Finding {
  const warning = plainTextWarning(masterUrl)
  if (warning === undefined) return ok('not used; the master is on this machine')
  return warn(
    'not used',
    warning,
    'set SVC_TLS_CERT_FILE and SVC_TLS_KEY_FILE of the master (in the chart master.tls.existingSecret), ' +
      `or put a proxy in front of it (${directivesFor('certificate')}), and use https in the URL`,
  )
}

type Outcome<T> =
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'failed'; readonly problem: string }
  | { readonly kind: 'late' }

function outcomeOf<T>(work: Promise<T>, timeoutMs: number, time: Time): Promise<Outcome<T>> {
  return new Promise((resolve) => {
    const cancel = time.after(timeoutMs, () => resolve({ kind: 'late' }))
    work.then(
      (value) => resolve({ kind: 'done', value }),
      (error: Error) => resolve({ kind: 'failed', problem: error.message }),
    )
    void work.finally(cancel).catch(() => undefined)
  })
}

/** Connects and disconnects. @returns null if that succeeded. */
function connectProblem(host: string, port: number, timeoutMs: number, time: Time): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connect({ host, port })
    const end = (problem: string | null): void => {
      cancel()
      socket.destroy()
      resolve(problem)
    }
    const cancel = time.after(timeoutMs, () => end(`no response within ${timeoutMs / 1_000} s`))
    socket.once('connect', () => end(null))
    socket.once('error', (error: NodeJS.ErrnoException) => end(error.code ?? error.message))
  })
}

interface HandshakeOptions {
  readonly host: string
  readonly port: number
  readonly ca: string | undefined
  readonly timeoutMs: number
  readonly time: Time
}

type Shaken =
  | {
      readonly kind: 'shaken'
      readonly certificate: DetailedPeerCertificate
      readonly protocol: string
      /** Why the certificate is not accepted; null if it is. */
      readonly refusal: string | null
    }
  | { readonly kind: 'failed'; readonly code: string; readonly problem: string }

/** Completes a handshake with any certificate, sends nothing, and disconnects. */
function handshake({ host, port, ca, timeoutMs, time }: HandshakeOptions): Promise<Shaken> {
  return new Promise((resolve) => {
    const socket: TLSSocket = connectTls({
      host,
      port,
      rejectUnauthorized: false,
      ...(isIP(host) === 0 && { servername: host }),
      ...(ca !== undefined && { ca }),
    })
    const end = (shaken: Shaken): void => {
      cancel()
      socket.destroy()
      resolve(shaken)
    }
    const cancel = time.after(timeoutMs, () =>
      end({ kind: 'failed', code: 'ETIMEDOUT', problem: `no handshake within ${timeoutMs / 1_000} s` }),
    )
    socket.once('secureConnect', () => {
      const refusal = socket.authorized ? null : refusalOf(socket.authorizationError)
      const certificate = socket.getPeerCertificate(true)
      end({ kind: 'shaken', certificate, protocol: socket.getProtocol() ?? 'TLS', refusal })
    })
    socket.once('error', (error: NodeJS.ErrnoException) =>
      end({ kind: 'failed', code: error.code ?? '', problem: error.message }),
    )
  })
}

/** The code of OpenSSL or Node, which is a text although the types say otherwise. */
const refusalOf = (error: unknown): string =>
  error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? error.message) : String(error)
