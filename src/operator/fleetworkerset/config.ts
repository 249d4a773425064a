/**
 * @module operator/fleetworkerset/config
 * Reads the config of a set: its sources, then the name of its revision. The values of Secrets are read only to store a
 * revision that the master does not have, and when a Secret has another version, to see whether its value has changed.
 */
import type { JsonObject } from '../../protocol/index.ts'
import type { CatalogType } from '../fleet/index.ts'
import { desiredOf } from '../fleetworker/index.ts'
import { type SetContext, type SetResult, setResult } from './context.ts'
import { revisionOf } from './revision.ts'
import type { FleetWorkerSetSpec } from './schema.ts'
import type { SeenSource } from './source-versions.ts'

export interface SetConfig {
  readonly kind: 'config'
  readonly revision: string
  readonly catalog: CatalogType
  /** Version of the source of each field, at which its value changed last. */
  readonly versions: ReadonlyMap<string, string>
}

export interface ConfigFault {
  readonly kind: 'fault'
  readonly result: SetResult
}

/** @throws {KubeError} */
export async function readConfig(context: SetContext, catalog: CatalogType): Promise<SetConfig | ConfigFault> {
  const { sources } = context.state
  const found = await read(context, catalog, (field, version) => sources.needsValue(field, version))
  if ('result' in found) return found
  const versions = sources.resolve(found.seen, context.lastStatus.sources)
  return { kind: 'config', catalog, versions, revision: revisionOf(context.set, versions) }
}

/**
 * Reads the values as well. @returns `undefined` if a source has changed since the revision was named. @throws
 * {KubeError}
 */
export async function readValues(
  context: SetContext,
  { catalog, revision }: SetConfig,
): Promise<{ readonly kind: 'values'; readonly config: JsonObject } | ConfigFault | undefined> {
  const found = await read(context, catalog, () => true)
  if ('result' in found) return found
  const versions = context.state.sources.resolve(found.seen, context.lastStatus.sources)
  return revisionOf(context.set, versions) === revision ? { kind: 'values', config: found.named } : undefined
}

/** Reads the config that an older spec stands for, with the values that its sources have now. @throws {KubeError} */
export async function readOldValues(
  context: SetContext,
  old: Pick<FleetWorkerSetSpec, 'config' | 'configFrom'>,
  catalog: CatalogType,
): Promise<JsonObject | undefined> {
  const set = { ...context.set, spec: { ...context.set.spec, ...old } }
  const found = await read({ ...context, set }, catalog, () => true)
  return 'result' in found ? undefined : found.named
}

async function read(
  { deps, set, signal }: SetContext,
  catalog: CatalogType,
  wantsValue: (field: string, version: string) => boolean,
): Promise<{ readonly named: JsonObject; readonly seen: readonly SeenSource[] } | ConfigFault> {
  const found = await deps.sources.read(set, wantsValue, signal)
  if (found.kind === 'fault') return faultOf(setResult(found.reason, found.message, { kind: 'ok' }))
  // Slots take effect immediately and are no part of the revision.
  const { slots: _, ...spec } = set.spec
  const desired = desiredOf({ metadata: set.metadata, spec }, found.sources, catalog)
  if (desired.kind === 'invalid') return faultOf(setResult(desired.reason, desired.message, { kind: 'terminal' }))
  const { sources, unread } = found
  const seen = [...sources].map(([field, { text, version }]) => ({
    field,
    version,
    text: unread.has(field) ? undefined : text,
  }))
  return { named: desired.desired.named, seen }
}

const faultOf = (result: SetResult): ConfigFault => ({ kind: 'fault', result })
