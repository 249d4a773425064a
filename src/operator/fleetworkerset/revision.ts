/**
 * @module operator/fleetworkerset/revision
 * Names the config of a set. The name is a hash of what the config is made of, so the operator recognises a config that
 * it has applied before without storing anything, and equal names mean equal configs. Values of sources are not part of
 * the hash, since a short secret could be guessed from it; the version of each source stands for its value. The uid of
 * the set is, so that two sets never count runs under one name.
 *
 *   config_revision of a worker:  7f3ac1d09b2e/-           the config of the set
 *                                 7f3ac1d09b2e/5d0c77e1    with the slots or the override of this variant
 *                                 7f3ac1d09b2e/3f2a91aa    the same with 0 slots: cordoned for scale-in
 *                                 7f3ac1d09b2e/*           changed since by another client (D133)
 */
import { createHash } from 'node:crypto'
import { sortedJsonText, type JsonObject } from '../../protocol/index.ts'
import { underOldName } from '../config/index.ts'
import type { FleetWorkerSet } from './schema.ts'

const REVISION_DIGITS = 12
const VARIANT_DIGITS = 8
/** The variant of a worker that has the config of the set alone. */
const PLAIN = '-'

const hash = (value: unknown, digits: number): string =>
  createHash('sha256').update(sortedJsonText(value)).digest('hex').slice(0, digits)

/** @param versions The version of each source, by the field that it sets. */
export const revisionOf = ({ metadata, spec }: FleetWorkerSet, versions: ReadonlyMap<string, string>): string =>
  hash(
    {
      uid: metadata.uid,
      type: spec.type,
      config: spec.config ?? {},
      // A rename of a field starts no rollout, and earlier releases hash the old name (D246).
      configFrom: (spec.configFrom ?? []).map(underOldName),
      versions: Object.fromEntries(versions),
    },
    REVISION_DIGITS,
  )

/** The revision of an empty config, to which workers are reset when the set is deleted. */
export const resetRevisionOf = ({ metadata, spec }: FleetWorkerSet): string =>
  hash({ uid: metadata.uid, type: spec.type, reset: true }, REVISION_DIGITS)

export interface Variant {
  /** What a worker gets in addition to the revision. */
  readonly patch: JsonObject
  readonly variant: string
}

/**
 * The fields of the spec that take effect immediately: slots, and overrides of single workers.
 *
 * @param isCordoned Whether a worker must take no new task, because its pod is about to be removed: it has 0 slots.
 */
export function variantsOf(
  { spec: { slots, overrides = [] } }: FleetWorkerSet,
  isCordoned: (workerId: string) => boolean = () => false,
): (workerId: string) => Variant {
  const shared = slots === undefined ? {} : { slots }
  const byWorker = new Map(
    overrides.map((each) => [
      each.worker,
      variantPairOf({ ...shared, ...each.config, ...(each.slots !== undefined && { slots: each.slots }) }),
    ]),
  )
  const common = variantPairOf(shared)
  return (workerId) => (byWorker.get(workerId) ?? common)[isCordoned(workerId) ? 'cordoned' : 'plain']
}

const variantPairOf = (patch: JsonObject): Readonly<Record<'plain' | 'cordoned', Variant>> => ({
  plain: variantOf(patch),
  cordoned: variantOf({ ...patch, slots: 0 }),
})

const variantOf = (patch: JsonObject): Variant => ({
  patch,
  variant: Object.keys(patch).length === 0 ? PLAIN : hash(patch, VARIANT_DIGITS),
})

export interface Label {
  readonly revision: string
  readonly variant: string
  /** Whether another client has changed the config since it was applied. */
  readonly isChanged: boolean
}

/** Reads the `config_revision` of a record. @returns `undefined` if no bulk change has reached the worker yet. */
export function labelOf(text: string | null | undefined): Label | undefined {
  if (text === null || text === undefined) return undefined
  const slash = text.lastIndexOf('/')
  if (slash === -1) return undefined
  const variant = text.slice(slash + 1)
  return { revision: text.slice(0, slash), variant, isChanged: variant === '*' }
}
