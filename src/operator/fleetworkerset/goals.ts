/**
 * @module operator/fleetworkerset/goals
 * Assigns each member of a set the revision that it should have now. Pure: the status says how far the rollout is, the
 * label of a worker says what it has, and nothing else is remembered.
 *
 *   no rollout                       every member: the revision of the set
 *   rollout, stage with a limit      members that have the new revision keep it; while the stage is being written, the
 *                                    next ones get it, up to the limit; all others: the current revision
 *   rollout failed, rolled back      every member: the current revision
 *   first config of running workers  a worker that runs a config from before the set keeps it until its stage comes
 */
import type { FoundMember, Member, Standing } from './members.ts'
import type { RolloutState } from './stage-machine.ts'
import { inOrder } from './stages.ts'

/** Which revisions members should have now. */
export interface Goals {
  /** The revision of members without another goal; `undefined`: they keep what they have. */
  readonly rest: string | undefined
  /** The revision of members that run nothing, if there is no other. */
  readonly idle: string | undefined
  /** The revision that is rolled out; members that have it keep it. */
  readonly update: string | undefined
  /** At most so many members may have it. */
  readonly limit: number
}

/** @param isStaged Whether rollouts of the set have stages. */
export function goalsOf(
  { current, rollout }: RolloutState,
  { desired, isPaused, isStaged }: { readonly desired: string; readonly isPaused: boolean; readonly isStaged: boolean },
): Goals {
  if (rollout === undefined) {
    const isWaiting = desired !== current && (isStaged || isPaused)
    return { ...NOTHING, rest: isWaiting ? current : desired }
  }
  const { limit = Infinity, phase, revision: update } = rollout
  if (phase === 'RollingBack' || phase === 'RolledBack') return { ...NOTHING, rest: current }
  if (phase === 'Failed') return { ...NOTHING, rest: current, update }
  return { rest: current, idle: update, update, limit: phase === 'Writing' && !isPaused ? limit : 0 }
}

const NOTHING = { idle: undefined, update: undefined, limit: 0 } as const

export interface OrderBy {
  readonly rank: (id: string) => string
  readonly spreadLabel: string | undefined
}

/** Members with their goals, and how many more may get the new revision in this stage. */
export interface Assigned {
  readonly members: readonly Member[]
  readonly left: number
}

/**
 * @param isRefused Whether the master refused the new revision for a member.
 * @param previous The members of the previous pass. An equal one is used again.
 */
export function assignGoals(
  found: readonly FoundMember[],
  goals: Goals,
  order: OrderBy,
  isRefused: (member: FoundMember) => boolean,
  previous: readonly Member[],
): Assigned {
  const { update, limit } = goals
  const hasUpdate = ({ label }: FoundMember): boolean => label !== undefined && label.revision === update
  const room = limit - (limit === 0 || limit === Infinity ? 0 : found.filter(hasUpdate).length)
  const candidates =
    update === undefined || room <= 0
      ? []
      : found.filter((each) => !hasUpdate(each) && !isRefused(each) && (limit === Infinity || isAvailable(each)))
  const next = limit === Infinity ? candidates : ordered(candidates, order).slice(0, room)
  const chosen = new Set(next.map(({ id }) => id))
  const members = found.map((each, index): Member => {
    const { id, row, claim, target, label } = each
    const goal = update !== undefined && (hasUpdate(each) || chosen.has(id)) ? update : restFor(each, goals)
    const known = previous[index]
    if (known?.row === row && known.goal === goal && known.target === target && known.claim === claim) return known
    // Listed, because copying each of 10,000 members costs several times as much.
    return { id, row, claim, target, label, goal, standing: standingOf(each, goal) }
  })
  return { members, left: candidates.length }
}

/** A worker that runs nothing interrupts nothing, so it takes part from the start. */
const restFor = (member: FoundMember, { rest, idle }: Goals): string | undefined =>
  rest ?? (isIdle(member) ? idle : undefined)

/** Whether the worker was never configured, or is disabled. A config that it has not acknowledged may enable it. */
export const isIdle = ({ label, row: { record } }: FoundMember): boolean => {
  if (label !== undefined) return false
  return (
    record.config_changed_at === null || (record.state === 'IDLE' && record.applied_config_gen === record.config_gen)
  )
}

const isAvailable = ({ row: { record } }: FoundMember): boolean => record.connected && !record.draining

const ordered = (candidates: readonly FoundMember[], { rank, spreadLabel }: OrderBy): readonly FoundMember[] =>
  inOrder(
    candidates.map((member) => ({
      id: member.id,
      isHealthy: member.row.record.state !== 'ERROR',
      spread: spreadLabel === undefined ? '' : (member.row.record.labels?.[spreadLabel] ?? ''),
      member,
    })),
    rank,
  ).map(({ member }) => member)

function standingOf({ claim, label, row: { record }, target }: FoundMember, goal: string | undefined): Standing {
  if (goal === undefined) return 'kept'
  if (label?.revision !== goal) return 'behind'
  if (label.variant === target.variant) return record.managed_by === claim ? 'same' : 'unclaimed'
  return label.isChanged ? 'changed' : 'behind'
}
