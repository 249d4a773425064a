/**
 * @module dashboard/config/first-generation
 * Derives the config that a worker had before its first stored change. The master does not store it: at its
 * registration a worker gets the defaults of its automation (D4), or the revision of a FleetWorkerSet that enrols it.
 *
 *   the config of the oldest stored generation, with the fields that it changed at their defaults
 */
import type { HistoryBody, JsonObject, JsonSchema, JsonValue, WorkerBody } from '../../protocol/index.ts'
import { propertiesOf } from './schema.ts'

/** Copied from protocol (CONFIG_HISTORY_ROWS), of which the dashboard imports only types. */
export const KEPT_GENERATIONS = 50

export type FirstGeneration =
  | { readonly kind: 'derived'; readonly gen: number; readonly config: JsonObject }
  /** @property why A sentence for the user. */
  | { readonly kind: 'unknown'; readonly why: string }

/** @param history Newest first, not empty. */
export function firstGeneration(
  { managed_by: manager }: Pick<WorkerBody, 'managed_by'>,
  history: HistoryBody,
  schema: JsonSchema,
): FirstGeneration {
  const oldest = history.at(-1)
  if (oldest === undefined || (history.length >= KEPT_GENERATIONS && oldest.config_gen > 1))
    return unknown(`the master keeps the last ${KEPT_GENERATIONS} generations`)
  const { config_gen: gen, config, changed, revision } = oldest
  if (config === null || revision !== undefined || manager !== null)
    return unknown('a worker that is managed elsewhere may register with other values than the defaults')
  return { kind: 'derived', gen: gen - 1, config: withDefaults(config as JsonObject, changed, schema) }
}

const unknown = (why: string): FirstGeneration => ({
  kind: 'unknown',
  why: `What the worker had before these generations is not known: ${why}.`,
})

function withDefaults(config: JsonObject, names: readonly string[], schema: JsonSchema): JsonObject {
  const fields = propertiesOf(schema)
  const before: Record<string, JsonValue> = { ...config }
  for (const name of names) {
    const fallback = Object.hasOwn(fields, name) ? (fields[name]?.['default'] as JsonValue | undefined) : undefined
    if (fallback === undefined) delete before[name]
    else before[name] = fallback
  }
  return before
}
