/**
 * @module master/registry/config-faults
 * Finds the faults of whole configs before they are stored. A fault inside a secret shows nothing of it.
 */
import { Buffer } from 'node:buffer'
import {
  forbiddenKeys,
  MAX_CONFIG_BYTES,
  MAX_FIELD_ERRORS,
  pointerStep,
  type FieldError,
  type JsonObject,
  type JsonText,
  type SecretPaths,
} from '../../protocol/index.ts'
import type { CatalogEntry } from '../../automation/index.ts'

/** Faults of fields that do not depend on the stored config. */
export function forbiddenFaults(fields: JsonObject, { secrets }: CatalogEntry): readonly FieldError[] {
  return forbiddenKeys(fields)
    .slice(0, MAX_FIELD_ERRORS)
    .map((fault) => withoutSecret(fault, secrets))
}

/** The config as stored text, or every fault of it. */
export function textOrFaults(config: JsonObject, entry: CatalogEntry): JsonText | readonly FieldError[] {
  const faults = entry.validateConfig(config)
  if (faults.length > 0) return faults.map((fault) => withoutSecret(fault, entry.secrets))
  const text = JSON.stringify(config)
  const bytes = Buffer.byteLength(text)
  if (bytes <= MAX_CONFIG_BYTES) return text
  return [
    {
      path: '',
      message: `the merged config takes ${bytes} bytes, at most ${MAX_CONFIG_BYTES} are allowed`,
      keyword: 'maxBytes',
      params: { limit: MAX_CONFIG_BYTES },
    },
  ]
}

/** Inside a secret, even the names of keys are secret: the fault points at the secret and shows nothing of it. */
function withoutSecret(fault: FieldError, secrets: SecretPaths): FieldError {
  const pointers = secrets.map((path) => path.map(pointerStep).join(''))
  const pointer = pointers.find((each) => fault.path === each || fault.path.startsWith(`${each}/`))
  if (pointer === undefined) return fault
  return {
    path: pointer,
    message: fault.path === pointer ? fault.message : `something inside ${fault.message}`,
    keyword: fault.keyword,
    params: {},
  }
}
