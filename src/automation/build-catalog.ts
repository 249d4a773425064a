/**
 * @module automation/build-catalog
 * Builds the catalog from automations: checks and compiles every schema, finds defaults and secrets, and reports all
 * faults together. Also creates the two forms in which REST returns an entry.
 * @see D4, D17, D36, D52
 */
import {
  BOUND_TO,
  compileValidator,
  ConfigSchemaError,
  configSchemaOf,
  defaultsOf,
  pointerStep,
  propertiesOf,
  secretPathsOf,
  toSeconds,
  type AutomationDescriptor,
  type BaseConfig,
  type CatalogEntryBody,
  type JsonObject,
  type JsonSchema,
  type Validator,
} from '../protocol/index.ts'
import type { Catalog, CatalogEntry, RunnableEntry } from './catalog.ts'
import type { AutomationDeclaration } from './declaration.ts'
import type { Automation, InstalledAutomation } from './define.ts'
import { AutomationError } from './errors.ts'
import { fieldsOfGroups } from './groups.ts'
import { keywordsIn, plainSchema, schemaFaults, type SchemaFault } from './schema-check.ts'

/**
 * Compiles the declarations of the automations.
 * @param automations Any number, each of a different type.
 * @returns One entry per automation, by type.
 * @throws {AutomationError} with every fault; each names the automation, the JSON pointer and the problem.
 * @see D4, D17, D36, D52
 */
export function buildCatalog(automations: readonly Automation[]): ReadonlyMap<string, RunnableEntry>
export function buildCatalog(automations: readonly InstalledAutomation[]): Catalog
export function buildCatalog(automations: readonly InstalledAutomation[]): Catalog {
  const faults = automations.flatMap(automationFaults)
  const types = new Set<string>()
  for (const { type } of automations) {
    if (types.has(type)) faults.push(`automation "${type}": is defined twice`)
    types.add(type)
  }
  if (faults.length > 0) throw new AutomationError(faults)
  return new Map(automations.map((automation) => [automation.type, entryOf(automation)]))
}

/**
 * Checks one automation.
 * @returns One sentence per fault; empty for a valid automation.
 */
export function automationFaults(automation: AutomationDeclaration): string[] {
  const { config, output, payload, pools, result } = automation
  const declared: readonly (readonly [string, object | null | undefined, Check])[] = [
    ['/config', config, configFaults],
    ['/output', output, objectFaults],
    ['/payload', payload, objectFaults],
    ['/result', result, noFaults],
    ...Object.entries(pools).flatMap(([name, pool]) =>
      (['payload', 'tags'] as const).map((part) => [`/pools/${name}/${part}`, pool[part], objectFaults] as const),
    ),
  ]
  return declared.flatMap(([where, schema, check]) =>
    schema === null || schema === undefined
      ? []
      : faultsIn(schema, check).map(
          ({ pointer, problem }) => `automation "${automation.type}": ${where}${pointer} ${problem}`,
        ),
  )
}

type Check = (plain: JsonSchema) => readonly SchemaFault[]

/** A result may be any JSON value. */
function noFaults(): readonly SchemaFault[] {
  return []
}

function faultsIn(schema: object, check: Check): readonly SchemaFault[] {
  const copy = plainSchema(schema)
  if (copy.kind === 'invalid') return copy.faults
  const faults = schemaFaults(copy.schema)
  return faults.length > 0 ? faults : check(copy.schema)
}

/** Tasks, outputs and pool items are JSON objects, so no value would match another schema. */
function objectFaults({ type }: JsonSchema): readonly SchemaFault[] {
  const allows = type === undefined || type === 'object' || (Array.isArray(type) && type.includes('object'))
  return allows ? [] : [{ pointer: '/type', problem: 'must be "object": only objects travel' }]
}

function configFaults(own: JsonSchema): readonly SchemaFault[] {
  try {
    const whole = configSchemaOf(own)
    const faults = [...schemaFaults(whole), ...unkeptSecrets(own), ...wrongBounds(own)]
    return faults.length > 0 ? faults : wrongDefaults(whole)
  } catch (error) {
    if (!(error instanceof ConfigSchemaError)) throw error
    return [{ pointer: error.pointer, problem: error.problem }]
  }
}

/** Secrets are found by their path below `properties` (D52). A `writeOnly` field elsewhere would be shown. */
function unkeptSecrets(own: JsonSchema): readonly SchemaFault[] {
  const outside = keywordsIn(own, 'writeOnly')
    .filter(({ value }) => value === true)
    .map(({ pointer }) => pointer)
    .filter((pointer) => !/^\/(?:properties|\$defs|definitions)\//.test(pointer))
  return outside.map((pointer) => ({
    pointer,
    problem: 'writeOnly works below /properties alone; here it would keep nothing secret',
  }))
}

/** A binding to an unknown field, or at a place that is not checked, would protect nothing (D88). */
function wrongBounds(own: JsonSchema): readonly SchemaFault[] {
  const secrets = new Map(
    secretPathsOf(own).map((path) => [path.map((key) => `/properties${pointerStep(key)}`).join(''), path]),
  )
  return keywordsIn(own, BOUND_TO).flatMap(({ pointer, value }) => {
    const path = secrets.get(pointer)
    const at = `${pointer}/${BOUND_TO}`
    if (path === undefined) return [{ pointer: at, problem: 'works at a writeOnly field below /properties alone' }]
    const others = Object.keys(propertiesOf(own)).filter((name) => name !== path[0])
    const isList = Array.isArray(value) && value.every((name) => others.some((other) => other === name))
    return isList
      ? []
      : [
          {
            pointer: at,
            problem:
              'lists top-level fields of this config that decide where the secret is sent; ' +
              `known: ${others.join(', ')}`,
          },
        ]
  })
}

/** A default that its own schema rejects would make the first PATCH of every worker fail. */
function wrongDefaults(whole: JsonSchema): readonly SchemaFault[] {
  const defaults = defaultsOf(whole)
  return compileValidator(whole)(defaults).flatMap(({ path, message }) => {
    const [, name = '', ...below] = path.split('/')
    if (!Object.hasOwn(defaults, name)) return []
    return [{ pointer: `/properties/${name}/default${below.map((step) => `/${step}`).join('')}`, problem: message }]
  })
}

function plain(schema: object): JsonSchema {
  const copy = plainSchema(schema)
  if (copy.kind === 'invalid') throw new TypeError('entryOf was called for a schema with faults')
  return copy.schema
}

const anything: Validator = () => []

/** @param automation One without faults. */
function entryOf(automation: InstalledAutomation): CatalogEntry {
  const { type, name, kind, visibilityMs, retry, run } = automation
  const configSchema = configSchemaOf(plain(automation.config))
  const outputSchema = automation.output === null ? null : plain(automation.output)
  const payloadSchema = automation.payload === null ? null : plain(automation.payload)
  // An automation of an earlier release has no such fields.
  const { result = null, retainMs = 0, groups = null } = automation
  const resultSchema = result === null ? null : plain(result)
  return Object.freeze({
    type,
    name,
    kind,
    configSchema,
    outputSchema,
    payloadSchema,
    resultSchema,
    visibilityMs,
    retainMs,
    retry,
    groups,
    validateConfig: compileValidator(configSchema),
    defaults: Object.freeze(defaultsOf(configSchema)) as BaseConfig & JsonObject,
    secrets: secretPathsOf(configSchema),
    validateOutput: outputSchema === null ? anything : compileValidator(outputSchema),
    validatePayload: payloadSchema === null ? null : compileValidator(payloadSchema),
    validateResult: resultSchema === null ? null : compileValidator(resultSchema),
    pools: new Map(
      Object.entries(automation.pools).map(([pool, schemas]) => [
        pool,
        poolOf(plain(schemas.payload), plain(schemas.tags ?? {})),
      ]),
    ),
    run: run as CatalogEntry['run'], // The slot runner of its kind passes the matching context.
    ...('devCommand' in automation ? { devCommand: automation.devCommand } : {}),
  })
}

function poolOf(payloadSchema: JsonSchema, tagsSchema: JsonSchema) {
  return {
    payloadSchema,
    tagsSchema,
    validatePayload: compileValidator(payloadSchema),
    validateTags: compileValidator(tagsSchema),
  }
}

/**
 * Creates one element of the response of `GET /api/v1/automations`.
 * @returns Type, class, kind and config schema of the automation.
 */
export function toDescriptor(entry: CatalogEntry): AutomationDescriptor {
  return { type: entry.type, class: entry.name, kind: entry.kind, config_schema: entry.configSchema }
}

/**
 * Creates one value of the response of `GET /api/v1/catalog`. Queue and stream have the name of the type.
 * @returns The schemas of the automation; without `queue`, `stream` or `pools` when it declares none.
 */
export function toCatalogEntry({
  type,
  kind,
  configSchema,
  payloadSchema,
  resultSchema = null,
  retainMs = 0,
  groups = null,
  outputSchema,
  pools,
}: CatalogEntry): CatalogEntryBody {
  return {
    type,
    kind,
    config: configSchema,
    ...(payloadSchema === null
      ? {}
      : {
          queue: {
            name: type,
            payload: payloadSchema,
            ...(resultSchema !== null && { result: resultSchema }),
            ...(retainMs > 0 && { retain_seconds: toSeconds(retainMs) }),
            ...(groups !== null && { groups: fieldsOfGroups(groups) }),
          },
        }),
    ...(outputSchema === null ? {} : { stream: { name: type, payload: outputSchema } }),
    ...(pools.size === 0
      ? {}
      : {
          pools: Object.fromEntries(
            [...pools].map(([name, pool]) => [name, { payload: pool.payloadSchema, tags: pool.tagsSchema }]),
          ),
        }),
  }
}
