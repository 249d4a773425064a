/**
 * A real identity provider on the loopback interface: the package oidc-provider, with one person and one client that
 * must use PKCE. `/interaction/…` is its page with one button, by which the person signs in; `auto` presses it.
 */
import { createHash, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'

export const PERSON = 'ana@example.com'
export const CLIENT_ID = 'muster'
export const CLIENT_SECRET = 'client-secret-of-the-test'

export interface OidcIssuerOptions {
  /** Where codes are sent. */
  readonly redirectUri: string
  /** Of a client that has no secret. */
  readonly isPublic?: boolean
  readonly idTokenSeconds?: number
  readonly codeSeconds?: number
  /** Its cookies are those of another host than those of a page at 127.0.0.1. */
  readonly host?: 'localhost'
}

export interface OidcIssuer {
  readonly url: string
  /** How many codes and refresh tokens were exchanged. */
  readonly exchanges: () => number
  /** While true, the issuer responds with 503 to every request. */
  isDown: boolean
  stop(): Promise<void>
}

export async function startOidcIssuer(options: OidcIssuerOptions): Promise<OidcIssuer> {
  const local = await listenLocally((request, response) => listener(request, response))
  const { server } = local
  const url = local.url.replace('127.0.0.1', options.host ?? '127.0.0.1')
  const provider = quietly(() => new Provider(url, configurationOf(options)))
  const callback = provider.callback()
  let exchanges = 0
  const issuer: OidcIssuer = { url, isDown: false, exchanges: () => exchanges, stop: () => closeServer(server) }
  const listener: RequestListener = (request, response) => {
    if (issuer.isDown) return void response.writeHead(503).end()
    if (request.url === '/token') exchanges += 1
    if (request.url?.startsWith('/interaction/') === true) return void interact(provider, request, response)
    callback(request, response)
  }
  return issuer
}

/** The package warns that keys and store are those of a quick start. */
function quietly<T>(create: () => T): T {
  const { warn } = console
  console.warn = () => {}
  try {
    return create()
  } finally {
    console.warn = warn
  }
}

const TTL_SECONDS = { AccessToken: 60, RefreshToken: 3_600, Session: 3_600, Grant: 3_600, Interaction: 600 }

function configurationOf({
  redirectUri,
  isPublic = false,
  idTokenSeconds = 3_600,
  codeSeconds = 60,
}: OidcIssuerOptions) {
  return {
    clients: [
      {
        client_id: CLIENT_ID,
        ...(isPublic ? {} : { client_secret: CLIENT_SECRET }),
        token_endpoint_auth_method: isPublic ? 'none' : 'client_secret_basic',
        redirect_uris: [redirectUri],
        post_logout_redirect_uris: [redirectUri],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
      },
    ],
    pkce: { required: () => true },
    scopes: ['openid', 'email', 'offline_access'],
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    conformIdTokenClaims: false,
    cookies: { keys: [randomBytes(16).toString('hex')] },
    features: { devInteractions: { enabled: false }, rpInitiatedLogout: { enabled: true, logoutSource } },
    findAccount: (_: unknown, accountId: string) => ({
      accountId,
      claims: () => ({ sub: accountId, email: accountId, email_verified: true }),
    }),
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    issueRefreshToken: () => true,
    loadExistingGrant: grantAll,
    rotateRefreshToken: true,
    ttl: { ...TTL_SECONDS, IdToken: idTokenSeconds, AuthorizationCode: codeSeconds },
  }
}

/** The page of the package loads fonts of another site. */
function logoutSource(context: { body: string }, form: string): void {
  const button = '<button form="op.logoutForm" name="logout" value="yes">Yes, sign me out</button>'
  context.body = `<!doctype html><html lang="en"><title>Issuer</title>${form}${button}`
}

interface GrantContext {
  readonly oidc: {
    readonly client: { readonly clientId: string }
    readonly session: { readonly accountId: string }
    readonly provider: Provider
  }
}

/** The person consents to everything. */
async function grantAll({ oidc: { client, session, provider } }: GrantContext) {
  const grant = new provider.Grant({ accountId: session.accountId, clientId: client.clientId })
  grant.addOIDCScope('openid email offline_access')
  await grant.save()
  return grant
}

async function interact(provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method === 'POST')
    return provider.interactionFinished(request, response, { login: { accountId: PERSON } })
  const form = `<form method="post"><button>I am ${PERSON}</button></form>`
  const page = `<!doctype html><html lang="en"><title>Issuer</title>${form}`
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page)
}

export async function listenLocally(listener: RequestListener): Promise<{ server: Server; url: string }> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

export async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections()
  await new Promise((resolve) => void server.close(resolve))
}

/** A sign-in of the person, without a browser: what a page draws, and the code that it gets. */
export interface Authorization {
  readonly code: string
  readonly code_verifier: string
  readonly redirect_uri: string
  readonly nonce: string
}

/** Goes from the authorization endpoint to the redirect URI as a browser would. */
export async function authorize(endpoint: string, redirectUri: string): Promise<Authorization> {
  const verifier = randomBytes(32).toString('base64url')
  const nonce = randomBytes(16).toString('base64url')
  const first = new URL(endpoint)
  first.search = new URLSearchParams({
    client_id: CLIENT_ID,
    response_type: 'code',
    scope: 'openid email',
    redirect_uri: redirectUri,
    state: 'state-of-the-test',
    nonce,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  }).toString()
  const cookies = new Map<string, string>()
  let url = first
  let method = 'GET'
  for (let step = 0; step < 10 && !url.href.startsWith(redirectUri); step += 1) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, { method, redirect: 'manual', headers: { cookie } })
    for (const each of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(each) ?? []
      cookies.set(name, value)
    }
    const next = response.headers.get('location')
    if (next !== null) url = new URL(next, url)
    method = next === null ? 'POST' : 'GET'
  }
  const code = url.searchParams.get('code')
  if (code === null) throw new Error(`the issuer sent no code: ${url.href}`)
  return { code, code_verifier: verifier, redirect_uri: redirectUri, nonce }
}
