/**
 * @module protocol/sign-in
 * Defines the sign-in of people by an identity provider (OpenID Connect): what a page needs to send its user there, and
 * how it exchanges the code that the user brings back.
 * @see D240, D241
 */
import { Type, type Static } from 'typebox'
import { Nullable, PRINTABLE_PATTERN, Strict } from './names.ts'

/** The most bytes of a body that is exchanged. It has no token yet, so it must not cost much. */
export const MAX_SIGN_IN_BYTES = 16_384

const printable = (minLength: number, maxLength: number) =>
  Type.String({ minLength, maxLength, pattern: PRINTABLE_PATTERN })

/** Where and how people sign in; `provider` is null if the master has no identity provider. */
export const SignInBody = Type.Object({
  provider: Nullable(
    Type.Object({
      /** The name of the issuer in SVC_JWT_ISSUERS. */
      name: Type.String(),
      client_id: Type.String(),
      scopes: Type.String(),
      authorization_endpoint: Type.String(),
      /** null if the provider has none: signing out then ends the session of the page alone. */
      end_session_endpoint: Nullable(Type.String()),
    }),
  ),
})
export type SignInBody = Static<typeof SignInBody>

/** The code of the authorization response, with what the page drew before it sent its user to the provider. */
const CodeExchange = Strict({
  code: printable(1, 4_096),
  code_verifier: printable(43, 128),
  redirect_uri: printable(1, 2_048),
  nonce: printable(16, 128),
})
/** The renewal of a token. */
const TokenRenewal = Strict({ refresh_token: printable(1, 8_192) })
/** The body of an exchange. */
export const SignInExchange = Type.Union([CodeExchange, TokenRenewal])
export type SignInExchange = Static<typeof SignInExchange>

/** The result of an exchange. */
export const SignedInBody = Type.Object({
  /** The bearer token of further requests. */
  id_token: Type.String(),
  /** null if the provider issued none. After a renewal, the previous one then stays valid. */
  refresh_token: Nullable(Type.String()),
  /** Seconds until the bearer token expires. */
  expires_in: Type.Number({ minimum: 0 }),
})
export type SignedInBody = Static<typeof SignedInBody>
