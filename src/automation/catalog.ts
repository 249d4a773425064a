/**
 * @module automation/catalog
 * The catalog: what the installed automations declare, compiled and checked. Built anew at every start, in the master
 * and in the worker; never stored.
 */
import type { BaseConfig, JsonObject, JsonSchema, SecretPaths, Validator } from '../protocol/index.ts'
import type { BatchContext, Context } from './context.ts'

export type AutomationKind = 'ContinuousAutomation' | 'BatchAutomation'

export interface RetryMs {
  readonly baseMs: number
  readonly factor: number
  readonly capMs: number
}

/** One automation of the catalog. */
export interface CatalogEntry {
  readonly type: string
  /** The descriptor's `class`. */
  readonly name: string
  readonly kind: AutomationKind
  /** The whole Config schema: base fields and the automation's own; strict. */
  readonly configSchema: JsonSchema
  readonly validateConfig: Validator
  /** What a worker starts with: every default, base fields included. */
  readonly defaults: Readonly<BaseConfig & JsonObject>
  readonly secrets: SecretPaths
  readonly outputSchema: JsonSchema | null
  /** Accepts everything where no output is declared. */
  readonly validateOutput: Validator
  /** null: not a batch automation. */
  readonly payloadSchema: JsonSchema | null
  readonly validatePayload: Validator | null
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
  readonly retry: RetryMs
  /** Called by the slot runners alone. */
  readonly run: (context: BatchContext | Context) => Promise<void> | void
}

export type Catalog = ReadonlyMap<string, CatalogEntry>
