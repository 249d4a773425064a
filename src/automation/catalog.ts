/**
 * @module automation/catalog
 * Defines the catalog: the compiled and checked declarations of the installed automations. Master and worker build it
 * at each start; it is not stored.
 */
import type { BaseConfig, JsonObject, JsonSchema, SecretPaths, Validator } from '../protocol/index.ts'
import type { RetryPolicy } from '../runtime/index.ts'
import type { BatchContext, Context } from './context.ts'
import type { Groups } from './groups.ts'

export type AutomationKind = 'ContinuousAutomation' | 'BatchAutomation'

/** One automation of the catalog. */
export interface CatalogEntry {
  readonly type: string
  /** The `class` of the descriptor. */
  readonly name: string
  readonly kind: AutomationKind
  /** The complete, strict config schema: base fields and the fields of the automation. */
  readonly configSchema: JsonSchema
  readonly validateConfig: Validator
  /** The config of a new worker: every default, including those of the base fields. */
  readonly defaults: Readonly<BaseConfig & JsonObject>
  readonly secrets: SecretPaths
  readonly outputSchema: JsonSchema | null
  /** Accepts every output when the automation declares no schema. */
  readonly validateOutput: Validator
  /** null for a continuous automation. */
  readonly payloadSchema: JsonSchema | null
  readonly validatePayload: Validator | null
  /** Missing or null: runs return nothing. */
  readonly resultSchema?: JsonSchema | null
  readonly validateResult?: Validator | null
  readonly pools: ReadonlyMap<
    string,
    {
      readonly payloadSchema: JsonSchema
      readonly tagsSchema: JsonSchema
      readonly validatePayload: Validator
      readonly validateTags: Validator
    }
  >
  readonly visibilityMs: number
  /** How long outcomes of tasks are retained that do not say it; missing or 0: not at all. */
  readonly retainMs?: number
  readonly retry: RetryPolicy
  /** Missing or null: the type has no groups (D119). */
  readonly groups?: Groups | null
  /** Called only by the slot runners. null: a manifest declares the type, and its workers are other programs. */
  readonly run: ((context: BatchContext | Context) => unknown) | null
  /** Starts such a worker under `muster dev`: a program and its arguments. */
  readonly devCommand?: readonly string[]
}

/** An automation whose code is installed, so that this program can run it. */
export interface RunnableEntry extends CatalogEntry {
  readonly run: NonNullable<CatalogEntry['run']>
}

/** @returns whether the code of an automation is installed. */
export const isRunnable = (entry: CatalogEntry | undefined): entry is RunnableEntry =>
  entry !== undefined && entry.run !== null

export type Catalog = ReadonlyMap<string, CatalogEntry>
