/** The guarantees of task groups (G30), checked from what a backend leased and shows, without the model. */
import { expect } from '@jest/globals'
import type { GroupPolicy, GroupRow, Lease } from '../../../src/storage/index.ts'
import { startsAboveRate } from '../../kit/group-rate.ts'

const groupIn = ({ body }: Lease): string | null =>
  (JSON.parse(body) as { readonly group_key?: string }).group_key ?? null
const isReady = ({ maxInFlight }: GroupPolicy, { pending, inFlight, nextStartAtMs }: GroupRow): boolean =>
  pending > 0 && nextStartAtMs === null && inFlight < (maxInFlight ?? Infinity)

/** What each group of a type has started under its policy. */
export class GroupStarts {
  readonly #times = new Map<string | null, number[]>()

  /** Call when the policy was set: each bound holds while there is one policy. */
  restart(): void {
    this.#times.clear()
  }

  /** @param groups What the backend lists before and after it leased the tasks in one call. */
  check(
    policy: GroupPolicy,
    leases: readonly Lease[],
    groups: { readonly before: readonly GroupRow[]; readonly after: readonly GroupRow[] },
    nowMs: number,
  ): void {
    const started = leases.map(groupIn)
    for (const group of started) {
      const times = this.#times.get(group) ?? []
      times.push(nowMs)
      this.#times.set(group, times)
      const row = groups.after.find((each) => each.group === group)
      expect(row?.inFlight ?? 0).toBeLessThanOrEqual(policy.maxInFlight ?? Infinity)
      if (policy.rate !== null) expect(startsAboveRate(policy.rate, times)).toBeLessThanOrEqual(1e-6)
    }
    const present = new Set([
      ...started,
      ...groups.after.filter((row) => isReady(policy, row)).map(({ group }) => group),
    ])
    const fair = Math.floor(started.length / (present.size || 1)) - 1
    for (const row of groups.after) {
      const before = groups.before.find(({ group }) => group === row.group)
      if (before === undefined || !isReady(policy, before) || !isReady(policy, row)) continue
      expect(started.filter((group) => group === row.group).length).toBeGreaterThanOrEqual(fair)
    }
  }
}
