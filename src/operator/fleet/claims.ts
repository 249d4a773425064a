/**
 * @module operator/fleet/claims
 * Builds and classifies claims, which show who manages a config: `kubernetes:<namespace>/<name>#<first 8 of the uid>`.
 * A claim is advisory and blocks no client (D31). It lets two operators, and users of the dashboard, notice each other.
 * Pure.
 *
 *   managed_by ── null ▶ free ── own claim ▶ ours ── of a live resource here ▶ duplicate
 *        ├─ watched namespace, no such resource ── held before, never seen here ▶ taken_over, else ▶ orphaned
 *        ├─ of another operator ▶ foreign
 *        └─ anything else ▶ stray
 *
 * `taken_over`: a resource held the claim before, and now finds the claim of a resource that does not exist here. So
 * another cluster uses the same namespace name. If both operators took over claims that look orphaned, they would take
 * the worker from each other endlessly. The claim of a resource that was deleted here is `orphaned`: a paused master
 * executed a late request, or a failover of the store lost the newest claim.
 * A stray claim is replaced. Claims are free strings, so any client with a token could otherwise end drift correction
 * (D66).
 * @see D31, D39, D51, D103
 */
import { MAX_MANAGED_BY_CHARS } from '../../protocol/index.ts'
import type { Claimant, ClaimFacts, ClaimClass } from './ports.ts'

const PREFIX = 'kubernetes:'
const UID_CHARS = 8
const CLAIM = /^kubernetes:(?<namespace>[^/#]+)\/[^#]*#[^#]+$/

/** Builds the claim. The part before the `#` is cut to fit the maximum length; the uid keeps claims distinct. */
export function claimOf({ namespace, name, uid }: Claimant): string {
  const end = `#${uid.slice(0, UID_CHARS)}`
  return `${PREFIX}${namespace}/${name}`.slice(0, MAX_MANAGED_BY_CHARS - end.length) + end
}

export function classifyClaim({ managedBy, own, hasHeldBefore, ...others }: ClaimFacts): ClaimClass {
  if (managedBy === null) return 'free'
  if (managedBy === own) return 'ours'
  if (others.isLive(managedBy)) return 'duplicate'
  if (!isOfOperator(managedBy)) return 'stray'
  if (!isOrphaned(managedBy, others)) return 'foreign'
  return hasHeldBefore && !others.wasDeletedHere(managedBy) ? 'taken_over' : 'orphaned'
}

/** Whether a claim has the form that operators use. */
export const isOfOperator = (managedBy: string): boolean => CLAIM.test(managedBy)

/** Whether the claim belongs to a resource that no longer exists, in a watched namespace. */
export function isOrphaned(managedBy: string, { isLive, watches }: Pick<ClaimFacts, 'isLive' | 'watches'>): boolean {
  const namespace = CLAIM.exec(managedBy)?.groups?.['namespace']
  return namespace !== undefined && watches(namespace) && !isLive(managedBy)
}
