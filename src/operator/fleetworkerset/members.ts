/**
 * @module operator/fleetworkerset/members
 * Finds the workers of a set among the workers of its type, and what each of them needs. Pure: one pass over the rows
 * of the table, which compares names only.
 *
 *   row ── not selected ─────────────────▶ released, if the set still has the claim
 *    ├─ has a FleetWorker of its own ────▶ pinned: the specific object overrides the general one
 *    ├─ an older set selects it too ─────▶ conflicted
 *    ├─ another operator has the claim ──▶ conflicted
 *    └─ else ────────────────────────────▶ a member; goals.ts says which revision it should have
 */
import { selectsWorker, type WorkerSelector } from '../../protocol/index.ts'
import type { WorkerRow } from '../fleet/index.ts'
import { labelOf, type Label, type Variant } from './revision.ts'

/**
 * same      the worker has the config, and the set has the claim
 * unclaimed the worker has the config; only the claim is missing
 * behind    the worker has another config
 * changed   the worker has the config, and another client has changed it since
 * kept      the worker keeps a config from before the set until its stage of the first rollout
 */
export type Standing = 'same' | 'unclaimed' | 'behind' | 'changed' | 'kept'

export interface FoundMember {
  readonly id: string
  readonly row: WorkerRow
  /** The claim of the set. */
  readonly claim: string
  readonly target: Variant
  /** What the worker has; `undefined`: a config that no bulk change wrote. */
  readonly label: Label | undefined
}

export interface Member extends FoundMember {
  /** The revision that it should have now; `undefined`: it keeps what it has. */
  readonly goal: string | undefined
  readonly standing: Standing
}

export interface Members {
  /** Number of workers that the selector matches. */
  readonly matched: number
  readonly members: readonly FoundMember[]
  readonly pinned: number
  /** Workers that are left to others, and to whom. */
  readonly conflicted: readonly { readonly id: string; readonly holder: string }[]
  /** Workers that the set has a claim on and no longer selects. */
  readonly released: readonly WorkerRow[]
}

export interface MemberFacts {
  readonly rows: Iterable<WorkerRow>
  readonly selector: WorkerSelector
  readonly variantFor: (workerId: string) => Variant
  /** The claim of this set. */
  readonly claim: string
  /** Whether the namespace of the set may manage the worker. */
  readonly isPermitted: (workerId: string) => boolean
  /** Whether a FleetWorker names the worker. */
  readonly isPinned: (workerId: string) => boolean
  /** @returns the older set that selects the worker; `undefined` if there is none. */
  readonly olderOwner: (row: WorkerRow) => string | undefined
  /** Whether the manager of a worker keeps it: another operator, or another cluster. */
  readonly isForeign: (row: WorkerRow) => boolean
  /** The members of the previous pass. An equal one is used again, since 10,000 new ones cost as much as the rest. */
  readonly previous: readonly FoundMember[]
}

/** The epoch of the master's store; empty if the set has no members. */
export const epochOf = ([first]: readonly FoundMember[]): string => first?.row.epoch ?? ''

export function membersOf(facts: MemberFacts): Members {
  const members: FoundMember[] = []
  const conflicted: { id: string; holder: string }[] = []
  const released: WorkerRow[] = []
  const labels = new LabelReader()
  let [matched, pinned] = [0, 0]
  for (const row of facts.rows) {
    const { worker_id: id, managed_by: managedBy } = row.record
    if (!facts.isPermitted(id) || !selectsWorker(facts.selector, { id, labels: row.record.labels })) {
      if (managedBy === facts.claim) released.push(row)
      continue
    }
    matched += 1
    if (facts.isPinned(id)) {
      pinned += 1
      continue
    }
    const holder = facts.olderOwner(row) ?? (facts.isForeign(row) ? (managedBy ?? '') : undefined)
    if (holder !== undefined) conflicted.push({ id, holder })
    else members.push(memberOf(row, facts, labels, facts.previous[members.length]))
  }
  return { matched, members, pinned, conflicted, released }
}

function memberOf(
  row: WorkerRow,
  { claim, variantFor }: MemberFacts,
  labels: LabelReader,
  previous: FoundMember | undefined,
): FoundMember {
  const { config_revision: label, worker_id: id } = row.record
  const target = variantFor(id)
  return previous?.row === row && previous.claim === claim && previous.target.variant === target.variant
    ? previous
    : { id, row, claim, target, label: labels.read(label) }
}

/** Reads the labels of many workers, most of which have the same one. */
class LabelReader {
  readonly #known = new Map<string, Label | undefined>()

  read(text: string | null | undefined): Label | undefined {
    if (text === null || text === undefined) return undefined
    if (!this.#known.has(text)) this.#known.set(text, labelOf(text))
    return this.#known.get(text)
  }
}
