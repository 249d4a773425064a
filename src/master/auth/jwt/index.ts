/** JWTs of configured issuers as bearer tokens. */
export { isAllowedUrl, issuersOf, type IssuerSettings } from './issuer-settings.ts'
export { claimsOf } from './jwt-text.ts'
export { discoveryOf, type KeyReader } from './key-set.ts'
export { KEY_READER, postForm, readUrl, type FormResponse } from './read-url.ts'
export { JwtVerifier } from './verifier.ts'
