/**
 * @module master/sign-in/provider
 * Reads where an identity provider authorizes people, issues tokens and ends sessions: its discovery document, again
 * after 10 minutes. While it cannot be read, the previous one is used.
 */
import { FleetError } from '../../protocol/index.ts'
import type { Clock, Log } from '../../runtime/index.ts'
import { discoveryOf, isAllowedUrl, type IssuerSettings, type KeyReader } from '../auth/index.ts'

const FRESH_MS = 600_000
/** So that a provider that does not respond is not called for each page that is opened. */
const COOLDOWN_MS = 2_000

export interface Provider {
  readonly authorizationEndpoint: string
  readonly tokenEndpoint: string
  readonly endSessionEndpoint: string | null
  /** How the client may send its secret. */
  readonly authMethods: readonly unknown[]
}

export interface ProviderDeps {
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly log: Log
  readonly reader: Pick<KeyReader, 'url'>
}

export class ProviderReader {
  readonly #deps: ProviderDeps
  #provider: Provider | null = null
  /** The issuer of `#provider`. */
  #issuer = ''
  #readAtMs = -Infinity
  #reading: Promise<void> | null = null

  constructor(deps: ProviderDeps) {
    this.#deps = deps
  }

  /** @throws {FleetError} ISSUER_UNAVAILABLE if the document was never read. */
  async read(issuer: IssuerSettings): Promise<Provider> {
    if (issuer.issuer !== this.#issuer) this.#forget(issuer.issuer)
    const ageMs = this.#deps.clock.monotonicMs() - this.#readAtMs
    if (ageMs >= (this.#provider === null ? COOLDOWN_MS : FRESH_MS)) void this.#refresh(issuer)
    if (this.#provider === null) await this.#reading
    if (this.#provider === null) throw unavailable(issuer)
    return this.#provider
  }

  #forget(issuer: string): void {
    this.#issuer = issuer
    this.#provider = null
    this.#readAtMs = -Infinity
    this.#reading = null
  }

  /** Callers during a read share it. Resolves also if the document cannot be read. */
  #refresh(issuer: IssuerSettings): Promise<void> {
    const { clock, log, reader } = this.#deps
    this.#readAtMs = clock.monotonicMs()
    const reading = discoveryOf(issuer, reader)
      .then((document) => {
        if (issuer.issuer === this.#issuer) this.#provider = providerOf(document)
      })
      .catch((error: unknown) => {
        log.warn('failed to read where the identity provider signs people in', { issuer: issuer.name, error })
      })
      .finally(() => {
        if (this.#reading === reading) this.#reading = null
      })
    this.#reading = reading
    return reading
  }
}

export const unavailable = ({ name }: IssuerSettings, cause?: unknown): FleetError =>
  new FleetError(
    'ISSUER_UNAVAILABLE',
    `the identity provider ${JSON.stringify(name)} does not respond as it should; try again in a few seconds`,
    { retryAfterSeconds: 2, cause },
  )

/** @throws {Error} if an endpoint is missing, or must not be called. */
function providerOf(document: Readonly<Record<string, unknown>>): Provider {
  const endpoint = (name: string): string => {
    const url = document[name]
    if (!isAllowedUrl(url)) throw new Error(`the discovery document has no https:// URL as ${name}`)
    return url
  }
  const methods = document['token_endpoint_auth_methods_supported']
  return {
    authorizationEndpoint: endpoint('authorization_endpoint'),
    tokenEndpoint: endpoint('token_endpoint'),
    endSessionEndpoint: document['end_session_endpoint'] === undefined ? null : endpoint('end_session_endpoint'),
    authMethods: Array.isArray(methods) ? methods : [],
  }
}
