/**
 * @module automation/manifest
 * Reads automations that are declared without code. A manifest is a JSON or YAML file with the schemas of one
 * automation, or a list of them; the program that runs its tasks may be written in any language. Names and units are
 * those of the API: snake_case, seconds. The schemas are checked when the catalog is built, as those of modules are.
 * The reverse, the manifest of an automation, is for a master without its code.
 * @see D108, D112
 */
import { readFileSync, statSync } from 'node:fs'
import { LineCounter, parseDocument } from 'yaml'
import { Type, type Static } from 'typebox'
import {
  lazyValidator,
  GroupsFields,
  RETRY,
  RetryFields,
  Strict,
  toMs,
  toSeconds,
  VISIBILITY_MS,
} from '../protocol/index.ts'
import type { RetryPolicy } from '../runtime/index.ts'
import { FIELDS, retryMs, withDefaults } from './declaration.ts'
import type { InstalledAutomation, ManifestAutomation } from './define.ts'
import { AutomationError } from './errors.ts'
import { fieldsOfGroups, groupsOfFields } from './groups.ts'

/** The names of manifests. Any other file is a module. */
export const MANIFEST_FILE = /\.automation\.(?:json|ya?ml)$/

const VERSION = 'automation/v1'
const MAX_BYTES = 1_048_576
const MAX_ALIASES = 100

const COMMON = {
  muster: Type.Literal(VERSION),
  type: FIELDS.type,
  class: FIELDS.name,
  config: FIELDS.config,
  output: FIELDS.output,
  pools: FIELDS.pools,
  dev: Type.Optional(Strict({ command: Type.Array(Type.String({ minLength: 1 }), { minItems: 1 }) })),
}
const Continuous = Strict({ ...COMMON, kind: Type.Literal('continuous') })
const Batch = Strict({
  ...COMMON,
  kind: Type.Literal('batch'),
  payload: FIELDS.payload,
  result: FIELDS.result,
  visibility_timeout_seconds: FIELDS.visibilitySeconds,
  retain_seconds: FIELDS.retainSeconds,
  retry: Type.Optional(RetryFields),
  groups: Type.Optional(GroupsFields),
})
type BatchManifest = Static<typeof Batch>
type Manifest = BatchManifest | Static<typeof Continuous>

const VALIDATORS = { batch: lazyValidator(Batch), continuous: lazyValidator(Continuous) } as const

/**
 * Reads the automations of a manifest.
 * @param file Path of a `.json`, `.yaml` or `.yml` file of at most 1 MiB, with at most 100 uses of YAML aliases.
 * @returns At least one automation, without code.
 * @throws {AutomationError} with every fault; each names the line, or the type and the field.
 */
export function readManifest(file: string): readonly ManifestAutomation[] {
  const { size } = statSync(file)
  if (size > MAX_BYTES) throw new AutomationError(`is larger than 1 MiB (${size} bytes)`)
  const body = parsed(readFileSync(file, 'utf8'))
  const list: readonly unknown[] = Array.isArray(body) ? body : [body]
  if (list.length === 0) throw new AutomationError('declares no automation')
  const faults: string[] = []
  const automations = list.flatMap((each, at) => {
    const found = faultsOf(each).map((fault) => `${nameOf(each, at, list.length)}: ${fault}`)
    faults.push(...found)
    return found.length > 0 ? [] : [automationOf(each as Manifest)]
  })
  if (faults.length > 0) throw new AutomationError(faults)
  return automations
}

/** JSON is YAML, so one parser reads both, and its errors name the line. */
function parsed(text: string): unknown {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const [error] = [...document.errors, ...document.warnings]
  if (error !== undefined) {
    const { line } = lines.linePos(error.pos[0])
    const problem =
      error.code === 'MULTIPLE_DOCS' ? 'has several documents; declare several automations in one list' : error.message
    throw new AutomationError(`line ${line}: ${problem}`)
  }
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES })
  } catch (failure) {
    const problem = failure instanceof ReferenceError ? `uses more than ${MAX_ALIASES} aliases` : String(failure)
    throw new AutomationError(problem)
  }
}

function faultsOf(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return ['must be an object']
  const { muster, kind } = value as Readonly<Record<string, unknown>>
  if (muster !== VERSION) return [`/muster must be "${VERSION}", the version of this format`]
  if (kind !== 'batch' && kind !== 'continuous') return ['/kind must be "batch" or "continuous"']
  return VALIDATORS[kind](value).map(({ path, message }) => `${path} ${message}`)
}

function nameOf(value: unknown, at: number, count: number): string {
  const type = typeof value === 'object' && value !== null && 'type' in value ? value.type : undefined
  if (typeof type === 'string') return `automation ${JSON.stringify(type)}`
  return count === 1 ? 'manifest' : `manifest ${at + 1} of ${count}`
}

function automationOf(manifest: Manifest): ManifestAutomation {
  const { type, class: name, config, output, pools, dev } = manifest
  const fields = {
    ...withDefaults({ type, name, config, output, pools }),
    run: null,
    ...(dev === undefined ? {} : { devCommand: dev.command }),
  }
  return manifest.kind === 'batch'
    ? { ...fields, kind: 'BatchAutomation', ...batchFields(manifest) }
    : { ...fields, kind: 'ContinuousAutomation', payload: null, visibilityMs: VISIBILITY_MS, retry: RETRY }
}

function batchFields({ type, payload, result, retry = {}, groups, ...times }: BatchManifest) {
  const { visibility_timeout_seconds: seconds, retain_seconds: retainSeconds = 0 } = times
  return {
    payload,
    result: result ?? null,
    visibilityMs: seconds === undefined ? VISIBILITY_MS : toMs(seconds),
    retainMs: toMs(retainSeconds),
    retry: retryMs(retry, `automation "${type}": /retry/cap_seconds must be >= base_seconds`),
    groups: groupsOfFields(groups),
  }
}

/**
 * Declares an automation as a manifest.
 * @returns an object for JSON or YAML. {@link readManifest} reads it as the same declaration; what equals a default is
 *   left out.
 */
export function manifestOf(automation: InstalledAutomation): object {
  const { type, name, kind, config, payload, output, result, pools, groups = null } = automation
  const isBatch = kind === 'BatchAutomation'
  const manifest = {
    muster: VERSION,
    type,
    kind: isBatch ? 'batch' : 'continuous',
    ...(name !== withDefaults({ type }).name && { class: name }),
    config,
    ...(isBatch && { payload }),
    ...(output !== null && { output }),
    ...(isBatch && result !== null && { result }),
    ...(Object.keys(pools).length > 0 && { pools }),
    ...(isBatch && timesOf(automation)),
    ...(groups !== null && { groups: fieldsOfGroups(groups) }),
    ...('devCommand' in automation && { dev: { command: automation.devCommand } }),
  }
  return JSON.parse(JSON.stringify(manifest)) as object // Schemas without the markers of TypeBox.
}

function timesOf({ visibilityMs, retainMs = 0, retry }: InstalledAutomation) {
  return {
    ...(visibilityMs !== VISIBILITY_MS && { visibility_timeout_seconds: toSeconds(visibilityMs) }),
    ...(retainMs > 0 && { retain_seconds: toSeconds(retainMs) }),
    ...(JSON.stringify(retry) !== JSON.stringify(RETRY) && { retry: retrySeconds(retry) }),
  }
}

const retrySeconds = ({ baseMs, factor, capMs }: RetryPolicy): object => ({
  base_seconds: toSeconds(baseMs),
  factor,
  cap_seconds: toSeconds(capMs),
})
