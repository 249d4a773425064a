/** JWTs of configured issuers as bearer tokens. */
export { issuersOf, type IssuerSettings } from './issuer-settings.ts'
export type { KeyReader } from './key-set.ts'
export { readUrl } from './read-url.ts'
export { JwtVerifier } from './verifier.ts'
