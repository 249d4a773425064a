/** @module master/auth/principal  Defines the holder of a token. */
import type { Permission } from '../../protocol/index.ts'

/**
 * The holder of a token. `key` is the whole digest of the token, for counting per token. `id` is shown to people: the
 * name in SVC_TOKENS, otherwise the first 8 hex digits of the token's SHA-256.
 */
export type Principal =
  | { readonly role: 'admin'; readonly key: string; readonly id: string }
  | { readonly role: 'worker'; readonly key: string; readonly id: string }
  | { readonly role: 'scaler'; readonly key: string; readonly id: string }
  /** `types` may contain '*'. `name` is set for the tokens of SVC_TOKENS. */
  | {
      readonly role: 'scoped'
      readonly types: ReadonlySet<string>
      readonly permissions: ReadonlySet<Permission>
      readonly key: string
      readonly id: string
      readonly name?: string
    }
