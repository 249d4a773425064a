/**
 * @module master/queue/groups
 * Sets the group policy of each type in the store, and shows the groups of a type (D119).
 */
import type { CatalogEntry } from '../../automation/index.ts'
import { toSeconds, type GroupBody } from '../../protocol/index.ts'
import type { GroupPolicy, GroupRow, Tasks } from '../../storage/index.ts'

/** @returns null for a type without groups. */
function groupPolicyOf({ groups = null }: CatalogEntry): GroupPolicy | null {
  if (groups === null) return null
  const { maxInFlight, rate } = groups
  if (rate === null) return { maxInFlight, rate }
  return { maxInFlight, rate: { intervalMs: (rate.perSeconds * 1_000) / rate.tasks, burst: rate.burst } }
}

/** Whether the end of a lease can make another task of its group ready. */
export function isBoundedInFlight({ groups = null }: CatalogEntry): boolean {
  return groups !== null && groups.maxInFlight !== null
}

/**
 * Sets the policies of all batch types, also that a type has none: the store may have been used with another one. The
 * store does not keep them, so each start does this before the first reserve.
 */
export async function setGroupPolicies(tasks: Pick<Tasks, 'setGroupPolicy'>, entries: readonly CatalogEntry[]) {
  await Promise.all(entries.map((entry) => tasks.setGroupPolicy(entry.type, groupPolicyOf(entry))))
}

/** A group as the API shows it. */
export function groupBody({ group, pending, inFlight, nextStartAtMs }: GroupRow): GroupBody {
  return {
    group_key: group,
    pending,
    in_flight: inFlight,
    ...(nextStartAtMs !== null && { next_start_at: toSeconds(nextStartAtMs) }),
  }
}
