/**
 * @module protocol/bound-secrets
 * Secrets that are bound to the fields which decide where they are sent. A secret field of a config schema lists those
 * fields in `x-muster-bound-to`; a PATCH that changes one of them has to send the secret again, or clear it:
 *
 *   authorization: {type: "string", writeOnly: true, "x-muster-bound-to": ["targets"]}
 *   stored {targets: [A], authorization: S}
 *     PATCH {targets: [B]}                       refused: S would be sent to B
 *     PATCH {targets: [B], authorization: S2}    the caller knows the secret that goes to B
 *     PATCH {targets: [B], authorization: null}  nothing is sent
 *
 * Without this, every token that may change a destination could read a secret that no read of the API shows.
 * @see D88
 */
import { propertiesOf, SECRET_MASK, secretValues, type SecretPaths } from './config.ts'
import type { JsonObject, JsonSchema } from './json.ts'

/** Keyword of a config schema that lists the fields to which a secret is bound. */
export const BOUND_TO = 'x-muster-bound-to'

/** A secret, and the fields that decide where it is sent. */
export interface BoundSecret {
  readonly path: readonly string[]
  /** Top-level fields. */
  readonly fields: readonly string[]
}

/**
 * Finds the bound secrets of a config schema.
 *
 * @param schema The whole config schema.
 * @param secrets Its secrets, from `secretPathsOf`.
 * @returns the secrets that have `x-muster-bound-to`; empty if none has.
 */
export function boundSecretsOf(schema: JsonSchema, secrets: SecretPaths): readonly BoundSecret[] {
  return secrets.flatMap((path) => {
    const node = path.reduce<JsonSchema | undefined>(
      (at, key) => (at === undefined ? undefined : propertiesOf(at)[key]),
      schema,
    )
    const fields = node?.[BOUND_TO]
    return Array.isArray(fields) ? [{ path, fields: fields as readonly string[] }] : []
  })
}

/**
 * Finds the bound secrets that a PATCH keeps while it changes a field that they are bound to.
 *
 * @param bound The bound secrets of the schema.
 * @param stored The config before the PATCH; with masked secrets the result is the same.
 * @param patch The body of the PATCH.
 * @param changed Top-level names that the PATCH changes.
 * @returns those secrets, each with the changed fields alone; empty if the PATCH is permitted.
 */
export function keptBoundSecrets(
  bound: readonly BoundSecret[],
  stored: JsonObject,
  patch: JsonObject,
  changed: readonly string[],
): readonly BoundSecret[] {
  return bound.flatMap(({ path, fields }) => {
    const [name = ''] = path
    const touched = fields.filter((field) => changed.includes(field))
    const isStored = secretValues(stored, [path]).length > 0
    const isKept = !Object.hasOwn(patch, name) || secretValues(patch, [path])[0] === SECRET_MASK
    return touched.length > 0 && isStored && isKept ? [{ path, fields: touched }] : []
  })
}
