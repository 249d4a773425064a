/** Tokens: read from settings, recognised in requests, replaced while running. */
export { actorOf } from './actor.ts'
export {
  bearerTokenOf,
  covers,
  createAuthenticator,
  permissionsOf,
  requirePermission,
  type Authentication,
  type Authenticator,
} from './authenticator.ts'
export type { Principal } from './principal.ts'
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
