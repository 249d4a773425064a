/** Tokens: read from settings, recognised in requests, replaced while running. */
export { actorOf } from './actor.ts'
export {
  claimsOf,
  discoveryOf,
  isAllowedUrl,
  JwtVerifier,
  KEY_READER,
  postForm,
  readUrl,
  type FormResponse,
  type IssuerSettings,
  type KeyReader,
} from './jwt/index.ts'
export {
  bearerTokenOf,
  createAuthenticator,
  requirePermission,
  type Authentication,
  type Authenticator,
} from './authenticator.ts'
export {
  covers,
  mayAccess,
  mayAccessPattern,
  permissionsOf,
  readsEveryWorker,
  typesOf,
  workerFilter,
  workersOf,
  workersShown,
  type Principal,
} from './principal.ts'
export {
  generateToken,
  parseTokens,
  readTokens,
  TOKEN_VARIABLES,
  tokenWarnings,
  type TokenReading,
  type TokenSettings,
} from './token-settings.ts'
export { watchTokens } from './token-watch.ts'
