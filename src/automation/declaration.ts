/**
 * @module automation/declaration
 * Defines what is known of an automation without its code, and the rules that its two forms share: the definition in a
 * module (define.ts) and the manifest (manifest.ts). The two differ in the names of their fields only.
 */
import { Type } from 'typebox'
import {
  AutomationType,
  MAX_NAME_CHARS,
  MAX_VISIBILITY_MS,
  MIN_VISIBILITY_MS,
  NAME_PATTERN,
  RetainSeconds,
  Strict,
  toMs,
  toSeconds,
  withRetryDefaults,
  type PartialRetry,
} from '../protocol/index.ts'
import type { RetryPolicy } from '../runtime/index.ts'
import type { AutomationKind } from './catalog.ts'
import type { Pools } from './context.ts'
import { AutomationError } from './errors.ts'
import type { Groups } from './groups.ts'

/** What the master knows of an automation: everything but its code. */
export interface AutomationDeclaration {
  readonly kind: AutomationKind
  readonly type: string
  readonly name: string
  readonly config: object
  readonly output: object | null
  readonly payload: object | null
  /** Schema of what a run returns; missing or null: runs return nothing. */
  readonly result?: object | null
  readonly pools: Pools
  readonly visibilityMs: number
  /** How long outcomes of tasks are retained that do not say it; missing or 0: not at all. */
  readonly retainMs?: number
  readonly retry: RetryPolicy
  /** Missing or null: the type has no groups (D119). */
  readonly groups?: Groups | null
}

const Name = Type.String({ minLength: 1, maxLength: MAX_NAME_CHARS, pattern: NAME_PATTERN })
const Schema = Type.Optional(Type.Object({}))

/** Schemas of the fields; those of schemas and pools are checked when the catalog is built. */
export const FIELDS = {
  type: AutomationType,
  name: Type.Optional(Name),
  config: Schema,
  output: Schema,
  pools: Type.Optional(Type.Record(Name, Strict({ payload: Type.Object({}), tags: Schema }))),
  payload: Type.Object({}),
  result: Schema,
  retainSeconds: Type.Optional(RetainSeconds),
  visibilitySeconds: Type.Optional(
    Type.Number({ minimum: toSeconds(MIN_VISIBILITY_MS), maximum: toSeconds(MAX_VISIBILITY_MS) }),
  ),
} as const

/**
 * Adds the defaults of the fields that both kinds have.
 * @returns name (the type in PascalCase), config and pools (none), output (null: any object).
 */
export function withDefaults({
  type,
  name = pascalCase(type),
  config,
  output,
  pools,
}: {
  readonly type: string
  readonly name?: string | undefined
  readonly config?: object | undefined
  readonly output?: object | undefined
  readonly pools?: Pools | undefined
}) {
  return {
    type,
    name,
    config: config ?? { type: 'object', properties: {} },
    output: output ?? null,
    pools: pools ?? {},
  } as const
}

const pascalCase = (type: string): string =>
  type
    .split('-')
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('')

/**
 * Adds the defaults of a retry policy, and converts it into milliseconds.
 * @param problem What is wrong when the longest delay is shorter than the first one; the first one is added.
 * @throws {AutomationError} when the longest delay is shorter than the first one.
 */
export function retryMs(retry: PartialRetry, problem: string): RetryPolicy {
  const { base_seconds: base, factor, cap_seconds: cap } = withRetryDefaults(retry)
  if (cap < base) throw new AutomationError(`${problem} (${base})`)
  return { baseMs: toMs(base), factor, capMs: toMs(cap) }
}
