/** An authenticator with one issuer of JWTs, on virtual time. */
import {
  createAuthenticator,
  JwtVerifier,
  parseTokens,
  type Authentication,
  type Authenticator,
  type KeyReader,
} from '../../../../src/master/auth/index.ts'
import { VirtualTime } from '../../../../src/runtime/index.ts'
import { createSigner, ISSUER, type Signer } from '../../../kit/jwt-signer.ts'
import { recordingLog } from '../../../kit/recording-log.ts'

export const NOW_MS = Date.parse('2026-11-30T12:00:00Z')
export const STATIC = 'admin-token-of-the-test'
export const RULES = [
  { when: { '/groups': 'sre' }, role: 'responder', types: ['*'] },
  { when: { '/groups': 'team-a', '/email_verified': true }, role: 'editor', types: ['mailer'], workers: ['team-a-*'] },
  {
    when: { '/sub': 'system:serviceaccount:team-a:*' },
    role: 'worker',
    types: ['mailer'],
    worker_claim: '/k8s.io/pod',
  },
]
const ISSUER_ENTRY = { name: 'corp', issuer: ISSUER, audience: 'muster', jwks_file: '/keys', rules: RULES }

interface State {
  readonly time: VirtualTime
  readonly signer: Signer
  /** The text of the key set; an error is thrown. */
  keys: string | Error
  reads: number
  changes: number
}

export interface Fixture extends State {
  readonly authenticator: Authenticator
  readonly check: (token: string) => Promise<Authentication>
  readonly detail: (token: string) => Promise<string>
}

export function settingsOf(entry: object = {}) {
  const issuers = JSON.stringify([{ ...ISSUER_ENTRY, ...entry }])
  const reading = parseTokens({
    SVC_ADMIN_TOKEN: STATIC,
    SVC_WORKER_TOKEN: 'worker-token-of-the-test',
    SVC_JWT_ISSUERS: issuers,
  })
  if (reading.kind === 'invalid') throw new Error(JSON.stringify(reading.faults))
  return reading.tokens
}

export async function start(entry: object = {}, reader?: Partial<KeyReader>): Promise<Fixture> {
  const time = new VirtualTime(NOW_MS)
  const signer = await createSigner(time.wallMs)
  const fixture: State = { time, signer, keys: keySet(signer), reads: 0, changes: 0 }
  const read = async (): Promise<string> => {
    fixture.reads += 1
    if (fixture.keys instanceof Error) throw fixture.keys
    return fixture.keys
  }
  const authenticator = createAuthenticator(settingsOf(entry), {
    clock: time,
    createVerifier: (onRevoked) =>
      new JwtVerifier({ clock: time, log: recordingLog(), reader: { file: read, url: read, ...reader }, onRevoked }),
  })
  const check = async (token: string): Promise<Authentication> => {
    const authentication = authenticator.check(token)
    return authentication.kind === 'unverified' ? authentication.verify() : authentication
  }
  const detail = async (token: string): Promise<string> => {
    const result = await check(token).catch((error: unknown) => error as Error)
    if (result instanceof Error) return result.message
    if (result.kind !== 'rejected') return result.kind
    return 'detail' in result ? result.detail : result.reason
  }
  authenticator.onChange(() => (fixture.changes += 1))
  authenticator.start(time)
  return Object.assign(fixture, { authenticator, check, detail })
}

export const keySet = (...signers: readonly Signer[]): string =>
  JSON.stringify({ keys: signers.map(({ publicJwk }) => publicJwk) })
