/**
 * @module master/sign-in/sign-in
 * Signs people in with an identity provider (authorization code with PKCE). The master keeps no state:
 *
 *   page ──GET sign-in──▶ master             page draws state, nonce and verifier
 *   page ──user──▶ provider ──code──▶ page   page compares state
 *   page ──POST sign-in/token: code, verifier, nonce──▶ master ──code, secret──▶ provider
 *   page ◀──ID token, which was verified──── master
 *
 * The ID token is then the bearer token of the page. So the page connects to the master alone, and no cookie exists.
 * @see D240, D241
 */
import {
  API_PREFIX,
  FleetError,
  MAX_SIGN_IN_BYTES,
  SignedInBody,
  SignInBody,
  SignInExchange,
} from '../../protocol/index.ts'
import { TokenBucket, type Clock, type Log } from '../../runtime/index.ts'
import { claimsOf, type Authenticator, type IssuerSettings, type KeyReader, type Principal } from '../auth/index.ts'
import type { MasterSettings, Part, SignInSettings } from '../deps.ts'
import { route, type Route } from '../http/index.ts'
import { ProviderReader } from './provider.ts'
import { requestTokens } from './token-endpoint.ts'

/** Exchanges need no token, and each costs a request to the provider. */
const EXCHANGES_PER_SECOND = 10

export interface SignInDeps {
  readonly authenticator: Pick<Authenticator, 'check' | 'issuer'>
  readonly clock: Clock
  readonly log: Log
  readonly reader: Pick<KeyReader, 'url'>
  readonly settings: Pick<MasterSettings, 'signIn'>
}

export function createSignIn(deps: SignInDeps): Part {
  const signIn = new SignIn(deps)
  return { routes: [providerRoute(signIn), exchangeRoute(signIn)] }
}

function providerRoute(signIn: SignIn): Route {
  return route({
    method: 'GET',
    path: `${API_PREFIX}/sign-in`,
    access: 'none',
    needs: null,
    summary: 'Where people sign in; `provider` is null if the master has no identity provider.',
    response: SignInBody,
    refuses: ['ISSUER_UNAVAILABLE'],
    handle: async () => ({ body: { provider: await signIn.describe() } }),
  })
}

function exchangeRoute(signIn: SignIn): Route {
  return route({
    method: 'POST',
    path: `${API_PREFIX}/sign-in/token`,
    access: 'none',
    needs: null,
    audit: 'sign.in',
    summary: 'Exchanges the code of a sign-in, or a refresh token, for an ID token that is a bearer token.',
    body: SignInExchange,
    maxBodyBytes: MAX_SIGN_IN_BYTES,
    example: {
      code: 'SplxlOBeZQQYbYS6WxSbIA',
      code_verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
      redirect_uri: 'https://muster.example.com/',
      nonce: 'n-0S6_WzA2Mj-9xT4hQ',
    },
    response: SignedInBody,
    refuses: ['FORBIDDEN', 'NOT_FOUND', 'OVERLOADED', 'ISSUER_UNAVAILABLE'],
    handle: async ({ body }) => {
      const { principal, ...signedIn } = await signIn.exchange(body)
      const action = 'refresh_token' in body ? 'sign.renew' : 'sign.in'
      return { audit: { action, actor: principal }, body: signedIn }
    },
  })
}

class SignIn {
  readonly #deps: SignInDeps
  readonly #providers: ProviderReader
  readonly #bucket: TokenBucket

  constructor(deps: SignInDeps) {
    this.#deps = deps
    this.#providers = new ProviderReader(deps)
    this.#bucket = new TokenBucket(deps.clock, { capacity: EXCHANGES_PER_SECOND, perSecond: EXCHANGES_PER_SECOND })
  }

  /** @throws {FleetError} ISSUER_UNAVAILABLE. */
  async describe(): Promise<SignInBody['provider']> {
    const known = this.#settings()
    if (known === null) return null
    const { issuer, settings } = known
    const { authorizationEndpoint, endSessionEndpoint } = await this.#providers.read(issuer)
    return {
      name: issuer.name,
      client_id: issuer.audience,
      scopes: settings.scopes,
      authorization_endpoint: authorizationEndpoint,
      end_session_endpoint: endSessionEndpoint,
    }
  }

  /** @throws {FleetError} NOT_FOUND, OVERLOADED, FORBIDDEN, ISSUER_UNAVAILABLE. */
  async exchange(exchange: SignInExchange): Promise<SignedInBody & { readonly principal: Principal }> {
    const known = this.#settings()
    if (known === null) throw new FleetError('NOT_FOUND', 'this master has no identity provider; sign in with a token')
    if (!this.#bucket.take())
      throw new FleetError('OVERLOADED', 'too many people sign in at the same time; try again in a second', {
        retryAfterSeconds: 1,
      })
    const { issuer, settings } = known
    const provider = await this.#providers.read(issuer)
    const { log, clock } = this.#deps
    const clientSecret = settings.clientSecret()
    const { idToken, refreshToken } = await requestTokens({ issuer, provider, clientSecret, exchange, log })
    const principal = await this.#verify(idToken, issuer)
    checkClaims(idToken, issuer, 'nonce' in exchange ? exchange.nonce : null)
    const expiresInMs = (principal.expiresAtMs ?? 0) - clock.wallMs()
    return { principal, id_token: idToken, refresh_token: refreshToken, expires_in: Math.max(0, expiresInMs / 1_000) }
  }

  /** The settings may have lost the issuer when they were read again. */
  #settings(): { readonly settings: SignInSettings; readonly issuer: IssuerSettings } | null {
    const { signIn: settings } = this.#deps.settings
    if (settings === undefined) return null
    const issuer = this.#deps.authenticator.issuer(settings.issuer)
    return issuer === undefined ? null : { settings, issuer }
  }

  /** @throws {FleetError} FORBIDDEN, OVERLOADED. */
  async #verify(idToken: string, issuer: IssuerSettings): Promise<Principal> {
    const checked = this.#deps.authenticator.check(idToken)
    const authentication = checked.kind === 'unverified' ? await checked.verify() : checked
    if (authentication.kind === 'authenticated' && authentication.principal.jwt?.issuer.name === issuer.name)
      return authentication.principal
    const why = 'detail' in authentication ? authentication.detail : 'it is not one of the identity provider'
    throw new FleetError('FORBIDDEN', `the identity provider issued a token that cannot be used: ${why}`)
  }
}

/**
 * Checks that an ID token was issued for this sign-in.
 *
 * @param nonce null for a renewal, whose token needs none.
 * @throws {FleetError} FORBIDDEN.
 */
function checkClaims(idToken: string, { audience }: IssuerSettings, nonce: string | null): void {
  const claims = claimsOf(idToken)
  if (nonce !== null && claims['nonce'] !== nonce)
    throw new FleetError('FORBIDDEN', 'the token is of another sign-in (its nonce differs); sign in again')
  const party = claims['azp']
  if (party !== undefined && party !== audience)
    throw new FleetError('FORBIDDEN', 'the token was issued to another client of the identity provider')
}
