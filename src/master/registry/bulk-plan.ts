/**
 * @module master/registry/bulk-plan
 * Decides what a bulk change does to one worker. It reads nothing and writes nothing.
 *
 *   defaults ← revision ← stored values at `keep` ← `patch` ← the worker's own patch = the new config
 *
 *   config, label and manager are as they should be ──▶ unchanged, whatever If-Match says
 *   only label or manager differ                    ──▶ both are written, the generation stays
 *   the config differs                              ──▶ If-Match and the manager must match ──▶ written
 *
 * So a call may be repeated without a key. Secrets are never compared with stored ones, since the result would show
 * whether a guess is right (D89). A secret of the patch always counts as changed. A secret of the revision counts as
 * unchanged only if the worker has the same label already.
 * @see D132
 */
import {
  boundSecretsOf,
  changedNames,
  FleetError,
  maskSecrets,
  mergeConfig,
  pointerStep,
  pointerSteps,
  putBack,
  SECRET_MASK,
  sameJson,
  secretValues,
  unmaskSecrets,
  type BulkItem,
  type FieldError,
  type JsonObject,
  type JsonText,
} from '../../protocol/index.ts'
import type { CatalogEntry } from '../../automation/index.ts'
import type { BulkPut, ManagedConfigRow } from '../../storage/index.ts'
import { parseMarks } from './etag.ts'
import { requireMatch } from './patch.ts'
import { currentConfig } from './record.ts'

/** What all workers of a bulk change have in common. */
export interface BulkPlan {
  readonly entry: CatalogEntry
  readonly epoch: string
  readonly revision: string
  /** The whole config of the revision, with defaults and secrets. */
  readonly base: JsonObject
  readonly keep: readonly string[]
  /** The new manager; null leaves each as it is. */
  readonly managedBy: string | null
  /** Whether the caller may replace this manager (D66). */
  readonly mayReplace: (holder: string) => boolean
  /** The config as stored text. @throws {FleetError} INVALID with every fault. */
  readonly validText: (config: JsonObject) => JsonText
}

/** One worker of the call, with the patch and the variant that apply to it. */
export interface PlannedItem extends Pick<BulkItem, 'worker_id' | 'if_match' | 'if_managed_by'> {
  /** Position in the call. */
  readonly at: number
  readonly patch: JsonObject
  readonly variant: string
}

export interface Step {
  /** Top-level names whose value changes. */
  readonly changed: readonly string[]
  /** What to store; null if nothing changes. */
  readonly put: BulkPut | null
}

/** Where a value of the new config comes from. */
type Source = 'patch' | 'stored' | 'revision'

/** @throws {FleetError} INVALID, STALE_GENERATION or CLAIMED: the error of this worker. */
export function planStep(plan: BulkPlan, item: PlannedItem, row: ManagedConfigRow): Step {
  const { entry, revision, base } = plan
  const { configSchema, secrets } = entry
  const before = currentConfig(entry, row.config)
  const kept = plan.keep.reduce((config, pointer) => keptAt(config, before, pointer), base)
  const masked = mergeConfig(configSchema, [], kept, item.patch).config
  const config = unmaskSecrets(masked, secrets, before)
  const isLabelled = row.configRevision === `${revision}/${item.variant}`
  const changed = changedIn(plan, item, { before, config, isLabelled })
  const isClaimed = plan.managedBy === null || plan.managedBy === row.managedBy
  if (changed.length === 0 && isLabelled && isClaimed) return { changed, put: null }
  if (changed.length > 0) requireGeneration(plan, item, row)
  if (changed.length > 0 || !isClaimed) requireManager(plan, item, row)
  const put = {
    id: item.worker_id,
    expectGen: row.gen,
    expectConfig: row.config,
    expectManagedBy: row.managedBy,
    variant: item.variant,
  }
  if (changed.length === 0) return { changed, put: { ...put, change: null } }
  const released = boundFaults(plan, item, before, config)
  if (released.length > 0) throw new FleetError('INVALID', released)
  return {
    changed,
    put: { ...put, change: { config: plan.validText(config), patch: patchText(base, config), changed } },
  }
}

function keptAt(config: JsonObject, stored: JsonObject, pointer: string): JsonObject {
  return putBack(config, stored, pointerSteps(pointer)) as JsonObject
}

interface Change {
  readonly before: JsonObject
  readonly config: JsonObject
  /** The worker has the label of this call already. */
  readonly isLabelled: boolean
}

function changedIn(plan: BulkPlan, item: PlannedItem, { before, config, isLabelled }: Change): readonly string[] {
  const { secrets } = plan.entry
  const visible = changedNames(maskSecrets(before, secrets), maskSecrets(config, secrets))
  const hidden = secrets
    .filter((path) => secretValues(config, [path]).length > 0)
    .filter((path) => {
      const source = sourceOf(plan, item, before, path)
      return source === 'patch' || (source === 'revision' && !isLabelled)
    })
    .map(([name = '']) => name)
  return [...new Set([...visible, ...hidden])].toSorted()
}

/**
 * Where the secret at `path` comes from, if the new config has one. A pointer into a secret is rejected before
 * (bulk-routes.ts). Where the worker has no secret to keep, that of the revision stays.
 */
function sourceOf({ keep }: BulkPlan, { patch }: PlannedItem, before: JsonObject, path: readonly string[]): Source {
  if (Object.hasOwn(patch, path[0] ?? '')) {
    return secretValues(patch, [path])[0] === SECRET_MASK ? 'stored' : 'patch'
  }
  if (secretValues(before, [path]).length === 0) return 'revision'
  const pointer = path.map(pointerStep).join('')
  return keep.some((kept) => pointer === kept || pointer.startsWith(`${kept}/`)) ? 'stored' : 'revision'
}

/**
 * Faults for secrets that would be sent to another destination than where they come from (D88): a secret of the
 * revision to a stored or patched destination, a stored one to that of the revision.
 */
function boundFaults(plan: BulkPlan, item: PlannedItem, before: JsonObject, config: JsonObject): readonly FieldError[] {
  const { configSchema, secrets } = plan.entry
  return boundSecretsOf(configSchema, secrets).flatMap(({ path, fields }) => {
    const source = sourceOf(plan, item, before, path)
    if (source === 'patch' || secretValues(config, [path]).length === 0) return []
    const origin = source === 'stored' ? before : plan.base
    const moved = fields.filter((field) => !sameJson(origin[field], config[field]))
    if (moved.length === 0) return []
    const message =
      `is bound to ${moved.join(', ')}, which would differ from the config that the secret comes from; ` +
      'keep both or none, or send the secret in the patch'
    return [{ path: path.map(pointerStep).join(''), keyword: 'boundSecret', params: { fields: moved }, message }]
  })
}

function requireGeneration(
  { entry, epoch }: BulkPlan,
  { at, worker_id: id, if_match: mark }: PlannedItem,
  row: ManagedConfigRow,
): void {
  if (mark === undefined || mark === null)
    throw missing(at, 'if_match', 'the ETag of its config, "<epoch>.<config_gen>"')
  const header = mark.startsWith('"') ? mark : `"${mark}"`
  requireMatch(parseMarks(header), epoch, row.gen, { type: entry.type, id })
}

function requireManager({ managedBy, mayReplace }: BulkPlan, item: PlannedItem, row: ManagedConfigRow): void {
  const { at, worker_id: id, if_managed_by: expected } = item
  if (expected === undefined) throw missing(at, 'if_managed_by', 'its present "managed_by", null for none')
  const holder = row.managedBy
  if (expected !== holder) {
    throw new FleetError(
      'STALE_GENERATION',
      `the config of worker ${JSON.stringify(id)} is managed by ${JSON.stringify(holder)}, ` +
        `if_managed_by names ${JSON.stringify(expected)}; read it again, then repeat`,
    )
  }
  if (managedBy === null || holder === null || holder === managedBy || mayReplace(holder)) return
  throw new FleetError(
    'CLAIMED',
    `the config of worker ${JSON.stringify(id)} is managed by ${JSON.stringify(holder)}; ` +
      'use an admin token, or name the holder in Muster-Actor',
  )
}

function missing(at: number, field: string, value: string): FleetError {
  const message = `is required because this call would change the worker; send ${value}`
  return new FleetError('INVALID', [{ path: `/workers/${at}/${field}`, message, keyword: 'required', params: {} }])
}

/** The fields in which a config differs from its revision, for the history. Null removes a field. */
function patchText(base: JsonObject, config: JsonObject): JsonText {
  const names = changedNames(base, config)
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, config[name] ?? null])))
}
