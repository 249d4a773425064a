/**
 * @module automation/define
 * Creates automations from an author's definition. The schemas determine the types in `run`. Everything except the
 * schemas is checked in this call; the schemas are checked when the catalog is built (build-catalog.ts).
 *
 * An automation has a brand from the global symbol registry, so that it is recognised when plugin and master load
 * different copies of this package.
 * @see D25, D35, D36
 */
import { Type } from 'typebox'
import {
  lazyValidator,
  RETRY,
  RetryFactor,
  RetrySeconds,
  Strict,
  toMs,
  toSeconds,
  VISIBILITY_MS,
} from '../protocol/index.ts'
import type { BatchContext, Context, Pools, Typed } from './context.ts'
import { FIELDS, retryMs, withDefaults, type AutomationDeclaration } from './declaration.ts'
import { AutomationError } from './errors.ts'
import { GROUPS, withGroupDefaults, type GroupsDefinition } from './groups.ts'

const BRAND: unique symbol = Symbol.for('muster.automation')

/**
 * Version of the automation's shape, which {@link isAutomation} checks. An incompatible copy of this package has
 * another.
 */
const SHAPE = 1

/** Type of an absent declaration: it has no names. */
// oxlint-disable-next-line typescript/no-generated-empty-object-type -- an object without known keys is what is meant
type Nothing = Record<never, never>

/** The declaration that both kinds share. Schemas are TypeBox or plain JSON Schema 2020-12 objects. */
interface Declaration<C, O, P> {
  /** Identifies the automation: `^[a-z0-9][a-z0-9-]{0,62}$`, unique among the installed automations. */
  readonly type: string
  /** The `class` of the descriptor; defaults to the type in PascalCase. */
  readonly name?: string
  /** Object schema of the config without the four base fields; defaults to no own fields. */
  readonly config?: C
  /** Schema of the outputs that `emit` accepts; defaults to any object. */
  readonly output?: O
  /** The pools that `run` may use. Pool names are global. */
  readonly pools?: P
}

/** What {@link defineContinuous} takes. */
export interface ContinuousDefinition<C, O, P extends Pools> extends Declaration<C, O, P> {
  /**
   * Runs until `signal` aborts. It is restarted when it returns or throws.
   *
   * @param context The context of this run.
   * @returns nothing, or a promise of the end of the run.
   */
  readonly run: (context: Context<C, O, P>) => Promise<void> | void
}

/** What a run returns, by the schema of the result. Without a schema, its value is ignored. */
type Returned<R> = [R] extends [undefined] ? unknown : Typed<R>

/** What {@link defineBatch} takes. */
export interface BatchDefinition<C, O, T, P extends Pools, R = undefined> extends Declaration<C, O, P> {
  /** Schema of the payload of a submitted task. */
  readonly payload: T
  /** Schema of what `run` returns; the result of a task that was submitted with `retain_seconds`. */
  readonly result?: R
  /**
   * How long a leased task stays hidden if its worker disappears, in seconds: 1 to 43,200, default 60. Extended during
   * `run`.
   */
  readonly visibilityTimeoutSeconds?: number
  /**
   * How long outcomes are retained of tasks that are submitted without `retain_seconds`, in seconds: 0 to 604,800,
   * default 0.
   */
  readonly retainSeconds?: number
  /**
   * Delay before the next attempt, with full jitter. `baseSeconds` 0 (exclusive) to 86,400, default 1; `factor` 1 to
   * 1,000, default 2; `capSeconds` defaults to 300.
   */
  readonly retry?: { readonly baseSeconds?: number; readonly factor?: number; readonly capSeconds?: number }
  /**
   * Leases tasks in fair turns of their groups, which `group_key` names at submit, and bounds each group. `{}`: fair
   * turns alone. Without it, the type has no groups, and a submit with `group_key` is rejected.
   *
   * @see D119
   */
  readonly groups?: GroupsDefinition
  /**
   * Runs one task. A return is a success, an error a failed attempt.
   *
   * @param context The context of this run, with its task.
   * @returns the result, if the definition has a schema for it, or a promise of it; otherwise nothing.
   */
  readonly run: (context: BatchContext<C, O, T, P>) => Promise<Returned<R>> | Returned<R>
}

/** An automation, as {@link defineBatch} and {@link defineContinuous} create it and modules export it. */
export interface Automation extends AutomationDeclaration {
  readonly [BRAND]: typeof SHAPE
  /**
   * Runs one task, or until it is stopped; called only by the slot runners.
   *
   * @param context The context of the run, whose type the definition determines.
   * @returns the result of a task, or a promise of the end of the run.
   */
  readonly run: (context: never) => unknown
}

/** An automation that a manifest declares, and that programs in other languages run. */
export interface ManifestAutomation extends AutomationDeclaration {
  readonly run: null
  /** Starts a worker under `muster dev`: a program and its arguments. */
  readonly devCommand?: readonly string[]
}

/** An automation of the catalog, with or without its code. */
export type InstalledAutomation = Automation | ManifestAutomation

/** An automation whose slots take tasks from a queue. */
export interface BatchAutomation<
  C = object,
  O = object,
  T = object,
  P extends Pools = Pools,
  R = undefined,
> extends Automation {
  readonly kind: 'BatchAutomation'
  readonly run: BatchDefinition<C, O, T, P, R>['run']
}

/** An automation whose slots run continuously. */
export interface ContinuousAutomation<C = object, O = object, P extends Pools = Pools> extends Automation {
  readonly kind: 'ContinuousAutomation'
  readonly run: ContinuousDefinition<C, O, P>['run']
}

/**
 * Creates an automation whose slots take tasks from a queue.
 * @param definition Type, schemas and `run`; see {@link BatchDefinition}.
 * @returns A frozen automation, to be exported by the module.
 * @throws {AutomationError} naming every invalid field.
 */
export function defineBatch<
  C extends object = Nothing,
  T extends object = object,
  O extends object = object,
  P extends Pools = Nothing,
  R extends object | undefined = undefined,
>(definition: BatchDefinition<C, O, T, P, R>): BatchAutomation<C, O, T, P, R> {
  check('defineBatch', definition, BATCH)
  const { payload, result = null, retainSeconds = 0, run } = definition
  const { visibilityTimeoutSeconds = toSeconds(VISIBILITY_MS) } = definition
  const { baseSeconds, factor, capSeconds } = definition.retry ?? {}
  const retry = retryMs(
    { base_seconds: baseSeconds, factor, cap_seconds: capSeconds },
    `defineBatch: automation "${definition.type}": /retry/capSeconds must be >= baseSeconds`,
  )
  return Object.freeze({
    [BRAND]: SHAPE,
    ...withDefaults(definition),
    kind: 'BatchAutomation',
    payload,
    result,
    visibilityMs: toMs(visibilityTimeoutSeconds),
    retainMs: toMs(retainSeconds),
    retry,
    groups: withGroupDefaults(definition.groups),
    run,
  } as const)
}

/**
 * Creates an automation whose slots run continuously.
 * @param definition Type, schemas and `run`; see {@link ContinuousDefinition}.
 * @returns A frozen automation, to be exported by the module.
 * @throws {AutomationError} naming every invalid field.
 */
export function defineContinuous<C extends object = Nothing, O extends object = object, P extends Pools = Nothing>(
  definition: ContinuousDefinition<C, O, P>,
): ContinuousAutomation<C, O, P> {
  check('defineContinuous', definition, CONTINUOUS)
  return Object.freeze({
    [BRAND]: SHAPE,
    ...withDefaults(definition),
    kind: 'ContinuousAutomation',
    payload: null,
    visibilityMs: VISIBILITY_MS,
    retry: RETRY,
    run: definition.run,
  } as const)
}

/**
 * Recognises automations, also those of another copy of this package.
 * @param value Any value, such as an export of a module.
 * @returns whether `value` is an automation of the current shape.
 */
export function isAutomation(value: unknown): value is Automation {
  return typeof value === 'object' && value !== null && BRAND in value && value[BRAND] === SHAPE
}

const common = {
  type: FIELDS.type,
  name: FIELDS.name,
  config: FIELDS.config,
  output: FIELDS.output,
  pools: FIELDS.pools,
}
const CONTINUOUS = lazyValidator(Strict(common))
const BATCH = lazyValidator(
  Strict({
    ...common,
    payload: FIELDS.payload,
    result: FIELDS.result,
    visibilityTimeoutSeconds: FIELDS.visibilitySeconds,
    retainSeconds: FIELDS.retainSeconds,
    retry: Type.Optional(
      Strict({
        baseSeconds: Type.Optional(RetrySeconds),
        factor: Type.Optional(RetryFactor),
        capSeconds: Type.Optional(RetrySeconds),
      }),
    ),
    groups: Type.Optional(GROUPS),
  }),
)

/** Callers may be plain JavaScript, so every field is checked. */
function check(by: string, definition: { readonly type: string; readonly run: unknown }, validate: typeof BATCH): void {
  if (typeof definition !== 'object' || definition === null)
    throw new AutomationError(`${by} takes an object with type, config and run`)
  const { run, ...rest } = definition
  const faults = validate(rest).map(({ path, message }) => `${path} ${message}`)
  if (typeof run !== 'function') faults.push('/run must be a function')
  if (faults.length > 0)
    throw new AutomationError(faults.map((fault) => `${by}: automation ${JSON.stringify(definition.type)}: ${fault}`))
}
