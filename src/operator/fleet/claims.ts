/**
 * @module operator/fleet/claims
 * Who manages a config, as the master shows it: `kubernetes:<namespace>/<name>#<first 8 of the uid>`. A claim stops
 * nobody (D31); it is how two operators, and people at the dashboard, learn of each other. Pure.
 *
 *   managed_by ── null ▶ free ── ours ▶ ours ── of a live resource here ▶ duplicate
 *        ├─ namespace we watch, no such resource ── held before ▶ robbed, else ▶ left_over
 *        ├─ of another operator ▶ foreign
 *        └─ anything else ▶ stray
 *
 * Robbed: a resource that held the claim and finds one of a resource nobody here knows shares its namespace's name with
 * another cluster. If both took over what looks left over, they would take it from each other for ever.
 * A stray claim is taken back: claims are free strings, so it would end drift correction for everyone with a token (D66).
 * @see D31, D39, D51
 */
import { MAX_MANAGED_BY_CHARS } from '../../protocol/index.ts'
import type { Claimant, ClaimFacts, ClaimVerdict } from './ports.ts'

const PREFIX = 'kubernetes:'
const UID_CHARS = 8
const CLAIM = /^kubernetes:(?<namespace>[^/#]+)\/[^#]*#[^#]+$/

/** The part before the `#` is cut so that the whole fits; the uid tells resources apart. */
export function claimOf({ namespace, name, uid }: Claimant): string {
  const end = `#${uid.slice(0, UID_CHARS)}`
  return `${PREFIX}${namespace}/${name}`.slice(0, MAX_MANAGED_BY_CHARS - end.length) + end
}

export function judgeClaim({ managedBy, own, heldBefore, ...others }: ClaimFacts): ClaimVerdict {
  if (managedBy === null) return 'free'
  if (managedBy === own) return 'ours'
  if (others.isLive(managedBy)) return 'duplicate'
  if (!isOfOperator(managedBy)) return 'stray'
  if (!isOrphaned(managedBy, others)) return 'foreign'
  return heldBefore ? 'taken_over' : 'orphaned'
}

/** Whether a claim has the form that operators give theirs. */
export const isOfOperator = (managedBy: string): boolean => CLAIM.test(managedBy)

/** Of a resource that is gone, in a namespace we watch. */
export function isOrphaned(managedBy: string, { isLive, watches }: Pick<ClaimFacts, 'isLive' | 'watches'>): boolean {
  const namespace = CLAIM.exec(managedBy)?.groups?.['namespace']
  return namespace !== undefined && watches(namespace) && !isLive(managedBy)
}
