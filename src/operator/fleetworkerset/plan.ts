/**
 * @module operator/fleetworkerset/plan
 * Decides from the members of a set and their goals how each member counts, and which are written next. Pure.
 *
 *   offline after an orderly end ─▶ absent            offline for 45 s, in ERROR, late ─▶ unavailable
 *   has the config ─▶ updated     runs it ─▶ acknowledged      and is healthy ─▶ ready
 *
 * At most 1,000 online workers may owe an acknowledgement, because each write makes its worker fetch the config. No
 * further worker gets another revision while more of the updated workers are unavailable than the set permits; slots,
 * overrides and cordons change all the same, since capacity is short then. Workers that were unavailable before do not
 * count: the new config may be what repairs them.
 */
import type { WorkerRow } from '../fleet/index.ts'
import type { Member } from './members.ts'
import type { FleetWorkerSetStatus, WorkerCounts } from './schema.ts'

/** Three intervals of `state` frames, so a reconnect does not show. */
export const ONLINE_MS = 45_000
const MAX_UNACKNOWLEDGED = 1_000
/** A row that is being read again may turn out unchanged, which is not reported. */
const STALE_MS = 1_000

export type WorstWorker = NonNullable<FleetWorkerSetStatus['worst']>[number]
type MemberCounts = Omit<Required<WorkerCounts>, 'matched' | 'pinned' | 'conflicted' | 'cordoned'>

export interface PlanFacts {
  readonly members: readonly Member[]
  /** By the master's clock. */
  readonly nowMs: number
  readonly ackTimeoutMs: number
  /** A number, or a share of the members that should be online. */
  readonly maxUnavailable: number | string
  /** Whether a member may be written: by the policy, and by what happened to earlier writes. */
  readonly mayWrite: (member: Member) => boolean
  /** Why the master refused a revision for this worker; `undefined` if it did not. */
  readonly refusalOf: (member: Member, revision: string) => string | undefined
  /** The revision that counts as updated, and whether workers still get it. */
  readonly update: { readonly revision: string; readonly isPending: boolean }
  /** Since when an online worker owes the acknowledgement of its config, in milliseconds. */
  readonly owesForMs: (row: WorkerRow) => number
}

export interface Plan {
  readonly counts: MemberCounts
  /** Members to write now. */
  readonly writes: readonly Member[]
  /** Online members that owe an acknowledgement in time, and those of them with the update revision. */
  readonly waiting: number
  readonly updatedWaiting: number
  readonly updatedOnline: number
  /** Members with the update revision that are in ERROR under it, refused it or are late with it. */
  readonly failing: readonly string[]
  readonly maxUnavailable: number
  /** Whether writes wait because too many updated workers are unavailable. */
  readonly isHeld: boolean
  readonly worst: readonly WorstWorker[]
  /** When a worker changes its state by time alone; `undefined` if none does. */
  readonly nextMs: number | undefined
}

/** How one member counts. */
interface Judgement {
  readonly isOnline: boolean
  readonly isUpdated: boolean
  readonly isAcknowledged: boolean
  /** It owes an acknowledgement, and is not late. */
  readonly isWaiting: boolean
  readonly isAbsent: boolean
  readonly isUnavailable: boolean
  /** The master refused the config that it should have; or the update revision. */
  readonly isRefused: boolean
  readonly isUpdateRefused: boolean
  readonly problem: Omit<WorstWorker, 'worker'> | undefined
  /** When this changes by time alone; `Infinity`: it does not. */
  readonly inMs: number
}

export function planOf(facts: PlanFacts): Plan {
  const counts = { online: 0, updated: 0, acknowledged: 0, ready: 0, unavailable: 0, absent: 0, pending: 0, failed: 0 }
  const worst: WorstWorker[] = []
  const due: Member[] = []
  const failing: string[] = []
  let [waiting, updatedWaiting, updatedOnline, updatedUnavailable, nextMs] = [0, 0, 0, 0, Infinity]
  for (const member of facts.members) {
    const judgement = judge(member, facts)
    const { problem } = judgement
    add(counts, judgement)
    counts.pending += Number(facts.update.isPending && !judgement.isUpdated)
    waiting += Number(judgement.isWaiting)
    updatedWaiting += Number(judgement.isWaiting && judgement.isUpdated)
    updatedOnline += Number(judgement.isOnline && judgement.isUpdated)
    if (isFailing(judgement)) failing.push(member.id)
    updatedUnavailable += Number(judgement.isUpdated && judgement.isUnavailable)
    nextMs = Math.min(nextMs, judgement.inMs)
    if (problem !== undefined) worst.push({ worker: member.id, ...problem })
    if (isDue(member, judgement, facts)) due.push(member)
  }
  const maxUnavailable = limitOf(facts.maxUnavailable, facts.members.length - counts.absent)
  const mayChange = updatedUnavailable > maxUnavailable ? due.filter(isOfGoal) : due
  return {
    counts,
    writes: mayChange.slice(0, Math.max(MAX_UNACKNOWLEDGED - waiting, 0)),
    waiting,
    updatedWaiting,
    updatedOnline,
    failing,
    maxUnavailable,
    isHeld: mayChange.length < due.length,
    worst,
    nextMs: nextMs === Infinity ? undefined : nextMs,
  }
}

function add(counts: { -readonly [K in keyof MemberCounts]: number }, judgement: Judgement): void {
  const isAcknowledged = judgement.isAcknowledged && judgement.isOnline
  counts.online += Number(judgement.isOnline)
  counts.updated += Number(judgement.isUpdated)
  counts.acknowledged += Number(isAcknowledged)
  counts.ready += Number(isAcknowledged && judgement.problem === undefined)
  counts.unavailable += Number(judgement.isUnavailable)
  counts.absent += Number(judgement.isAbsent)
  counts.failed += Number(judgement.isUpdateRefused)
}

const isDue = (member: Member, { isRefused }: Judgement, { mayWrite }: PlanFacts): boolean =>
  member.standing !== 'same' && member.standing !== 'kept' && !member.row.isStale && !isRefused && mayWrite(member)

/** Whether a member has its revision, and needs other slots, another override or another claim. */
const isOfGoal = ({ goal, label, standing }: Member): boolean => standing !== 'changed' && label?.revision === goal

/** A worker that was in ERROR before does not count until it runs the new config. */
const isFailing = ({ isAcknowledged, isUpdated, isUpdateRefused, problem }: Judgement): boolean =>
  isUpdateRefused || (isUpdated && (problem?.reason === 'WorkerError' ? isAcknowledged : FAILURES.has(problem?.reason)))
const FAILURES: ReadonlySet<string | undefined> = new Set(['ConfigRefused', 'AckTimeout'])

/** A percentage is rounded down, as in a Deployment. */
function limitOf(maxUnavailable: number | string, expected: number): number {
  if (typeof maxUnavailable === 'number') return maxUnavailable
  return Math.floor((Number.parseInt(maxUnavailable, 10) / 100) * expected)
}

function judge(member: Member, facts: PlanFacts): Judgement {
  const { goal, row, standing } = member
  const { record } = row
  const onlineForMs = record.connected ? Infinity : record.last_seen * 1_000 + ONLINE_MS - facts.nowMs
  const isOnline = onlineForMs > 0
  const isAtGoal = standing !== 'behind' && standing !== 'kept'
  const isAcknowledged = isAtGoal && record.applied_config_gen === record.config_gen
  const isAbsent = hasEnded(record)
  const owes = isAtGoal && isOnline && !isAcknowledged
  const leftMs = owes ? facts.ackTimeoutMs - facts.owesForMs(row) : 0
  const isLate = owes && leftMs <= 0
  const trouble = isAbsent ? undefined : troubleOf(row, { isOnline, isLate })
  const refusal = facts.refusalOf(member, facts.update.revision)
  return {
    isOnline: isOnline && !isAbsent,
    isUpdated: isAtGoal && goal === facts.update.revision,
    isAcknowledged,
    isWaiting: leftMs > 0 && record.connected,
    isAbsent,
    isUnavailable: trouble !== undefined,
    isRefused: goal !== undefined && facts.refusalOf(member, goal) !== undefined,
    isUpdateRefused: refusal !== undefined,
    problem: refusal === undefined ? trouble : { reason: 'Rejected', message: refusal },
    inMs: Math.min(ahead(onlineForMs), ahead(leftMs), row.isStale ? STALE_MS : Infinity),
  }
}

/** Whether the worker is offline after an orderly end. */
const hasEnded = ({ connected, ended }: WorkerRow['record']): boolean => !connected && ended === true

/** @returns the time, if it is in the future, else `Infinity`. */
const ahead = (ms: number): number => (ms > 0 ? ms : Infinity)

function troubleOf(
  { record }: WorkerRow,
  { isOnline, isLate }: { readonly isOnline: boolean; readonly isLate: boolean },
): Judgement['problem'] {
  if (!isOnline) return { reason: 'Offline', message: 'the worker is offline and did not end in an orderly way' }
  if (record.state === 'ERROR')
    return { reason: 'WorkerError', message: record.last_error ?? 'the worker reports an error' }
  if (record.refused_config_gen === record.config_gen)
    return { reason: 'ConfigRefused', message: 'the worker refuses this config; see its log' }
  return isLate
    ? {
        reason: 'AckTimeout',
        message: `the worker has not applied generation ${record.config_gen} in time; see its log`,
      }
    : undefined
}
