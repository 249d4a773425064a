/**
 * @module master/registry/enrolled-config
 * Makes the config of an enrolment rule: the defaults, the fields of its revision, and its patch.
 */
import {
  boundSecretsOf,
  mergeConfig,
  pointerStep,
  sameJson,
  secretValues,
  type FieldError,
  type JsonObject,
  type JsonText,
  type WorkerLabels,
} from '../../protocol/index.ts'
import { compareText } from '../../runtime/index.ts'
import type { CatalogEntry } from '../../automation/index.ts'
import { textOrFaults } from './config-faults.ts'
import { revisionConfig } from './record.ts'

/** What the body of a stored rule has. */
export interface RuleBody {
  readonly id_patterns: readonly string[]
  readonly match_labels: WorkerLabels
  readonly patch: JsonObject
}

/** The body as it is stored: with ordered names, so that equal rules are equal text. */
export function ruleBodyText({ id_patterns, match_labels, patch }: RuleBody): JsonText {
  return JSON.stringify({ id_patterns, match_labels: ordered(match_labels), patch: ordered(patch) })
}

const ordered = <T>(object: Readonly<Record<string, T>>): Record<string, T> =>
  Object.fromEntries(Object.entries(object).toSorted(([one], [other]) => compareText(one, other)))

/**
 * @param fields The fields of the revision, with secrets.
 * @returns the config as stored text, or every fault of it.
 */
export function enrolledConfig(
  entry: CatalogEntry,
  fields: JsonObject,
  patch: JsonObject,
): JsonText | readonly FieldError[] {
  const base = revisionConfig(entry, fields)
  const { config } = mergeConfig(entry.configSchema, [], base, patch)
  const released = boundFaults(entry, base, patch, config)
  return released.length > 0 ? released : textOrFaults(config, entry)
}

/** Faults for secrets of the revision that the patch would send to another destination (D88). */
function boundFaults(
  { configSchema, secrets }: CatalogEntry,
  base: JsonObject,
  patch: JsonObject,
  config: JsonObject,
): readonly FieldError[] {
  return boundSecretsOf(configSchema, secrets).flatMap(({ path, fields }) => {
    if (Object.hasOwn(patch, path[0] ?? '') || secretValues(config, [path]).length === 0) return []
    const moved = fields.filter((field) => !sameJson(base[field], config[field]))
    if (moved.length === 0) return []
    const message =
      `is bound to ${moved.join(', ')}, which the patch changes; leave them as in the revision, ` +
      'or send the secret in the patch'
    return [{ path: path.map(pointerStep).join(''), keyword: 'boundSecret', params: { fields: moved }, message }]
  })
}
