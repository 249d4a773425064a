/** A whole master in which people sign in with an identity provider at `issuer`. */
import { parseTokens } from '../../../src/master/auth/index.ts'
import { CLIENT_ID, CLIENT_SECRET, PERSON } from '../../kit/oidc-issuer.ts'
import { SETTINGS, startTestMaster, TOKENS, type TestMaster } from '../../kit/running-master.ts'

interface SignInMasterOptions {
  /** undefined: the client is public. */
  readonly secret?: string | undefined
  /** Receives the audit trail. */
  readonly lines?: string[]
  /** Further issuers of JWTs. */
  readonly others?: readonly object[]
  /** By default a free port, without a dashboard. */
  readonly port?: number
  readonly dashboardDir?: string
  readonly rules?: readonly object[]
}

export const RULES = [{ when: { '/email': PERSON }, role: 'responder', types: ['mailer'] }]

export async function startSignInMaster(issuer: string, options: SignInMasterOptions = {}): Promise<TestMaster> {
  const { lines = [], others = [], port = 0, dashboardDir = null, rules = RULES } = options
  const secret = 'secret' in options ? options.secret : CLIENT_SECRET
  const entry = { name: 'corp', issuer, audience: CLIENT_ID, actor_claim: '/email', rules }
  const reading = parseTokens({ SVC_JWT_ISSUERS: JSON.stringify([entry, ...others]) })
  if (reading.kind === 'invalid') throw new Error(JSON.stringify(reading.faults))
  return startTestMaster({
    listen: { host: '127.0.0.1', port },
    dashboardDir,
    tokens: { ...reading.tokens, admin: TOKENS.admin, worker: TOKENS.worker },
    settings: { ...SETTINGS, signIn: { issuer: 'corp', clientSecret: () => secret, scopes: 'openid email' } },
    audit: { classes: new Set(['control', 'auth']), write: (line) => lines.push(line) > 0 },
  })
}
