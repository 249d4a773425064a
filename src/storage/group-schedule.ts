/**
 * @module storage/group-schedule
 * GroupSchedule decides which group of a type is next (D119). It counts the pending tasks and the leases of each group;
 * the tasks themselves are kept by the backend. '' is the name of the group `null`.
 *
 *   idle      no pending task, or as many leases as it may have
 *   waiting   its rate permits the next start at `startAtMs`
 *   ready     it has the position `turn`
 *
 * All ready groups stand at the position of the last lease, or at the next one: a lease takes the lowest position, and
 * leaves its group at the next one, where every group enters that becomes ready. So positions are rounds, and a round
 * is a list that is sorted by name when it begins. A group that leaves it meanwhile is skipped. A lease takes O(log n)
 * on average.
 */
import { compareText, Heap } from '../runtime/index.ts'
import type { GroupPolicy, GroupRow, GroupTotals } from './contract/task-groups.ts'
import type { EpochMs } from './contract/common.ts'
import { isGroupFull, rateStart, tatAfterStart } from './group-rules.ts'

/** The counts of a group when a schedule is made. */
export interface GroupCounts {
  readonly name: string
  readonly pending: number
  readonly inFlight: number
}

interface Group {
  readonly name: string
  pending: number
  inFlight: number
  /** By group-rules.ts; 0 if no start is counted. */
  tat: number
  state: 'idle' | 'waiting' | 'ready'
  /** The position of a group that is ready. */
  turn: number
  /** When the rate of a waiting group permits a start. */
  startAtMs: number
  /** For which start the group was added to `#waiting` last. */
  timerAtMs: number
}

/** From so many groups on, those without tasks are looked for. */
const MIN_SWEPT = 64

const byName = (a: Group, b: Group): number => compareText(a.name, b.name)
const byPending = (a: Group, b: Group): number => b.pending - a.pending || byName(a, b)

export class GroupSchedule {
  #policy: GroupPolicy
  readonly #groups = new Map<string, Group>()
  /** The position of the last lease. */
  #turn = 0
  /** The ready groups of the position `#roundTurn` by name; those before `#at` were served. */
  #round: readonly Group[] = []
  #roundTurn = 0
  #at = 0
  /** All ready groups. When a round is over, they are those of the next one. */
  #ready = new Set<Group>()
  #waitingGroups = 0
  /** Groups with a lease. */
  #inFlightGroups = 0
  /** Groups by start. An entry counts only if its group still waits for this time. */
  #waiting = new Heap<Group>()
  #sweepAt = MIN_SWEPT
  /** The groups that were changed since `begin`, as they were then; `null` for those that did not exist. */
  #before: Map<string, Group | null> | null = null
  #turnBefore = 0
  #policyBefore: GroupPolicy

  /**
   * @param counts The groups that have pending tasks or leases.
   * @param tats The times of the rates of groups, as `tats` returned them.
   */
  constructor(
    policy: GroupPolicy,
    counts: Iterable<GroupCounts>,
    tats: Iterable<readonly [string, number]>,
    nowMs: EpochMs,
  ) {
    this.#policy = policy
    this.#policyBefore = policy
    for (const { name, pending, inFlight } of counts) {
      const group = this.#of(name)
      group.pending += pending
      if (group.inFlight === 0 && inFlight > 0) this.#inFlightGroups += 1
      group.inFlight += inFlight
    }
    for (const [name, tat] of tats) if (tat > nowMs || this.#groups.has(name)) this.#of(name).tat = tat
    this.setPolicy(policy, nowMs)
  }

  /** Ready groups keep their positions. */
  setPolicy(policy: GroupPolicy, nowMs: EpochMs): void {
    this.#policy = policy
    for (const group of this.#groups.values()) this.#update(this.#touch(group), nowMs)
  }

  /** Counts a task that is pending now. */
  add(name: string, nowMs: EpochMs): void {
    const group = this.#touch(this.#of(name, nowMs))
    group.pending += 1
    this.#update(group, nowMs)
  }

  /** Counts a task that is not pending any more, and was not leased. */
  remove(name: string, nowMs: EpochMs): void {
    const group = this.#touch(this.#of(name))
    group.pending -= 1
    this.#update(group, nowMs)
  }

  endLease(name: string, nowMs: EpochMs): void {
    const group = this.#touch(this.#of(name))
    group.inFlight -= 1
    if (group.inFlight === 0) this.#inFlightGroups -= 1
    this.#update(group, nowMs)
  }

  /** @returns the group that is next; `undefined` if none is ready. */
  first(nowMs: EpochMs): string | undefined {
    this.#admit(nowMs)
    for (;;) {
      for (; this.#at < this.#round.length; this.#at += 1) {
        const group = this.#round[this.#at]
        if (group?.state === 'ready' && group.turn === this.#roundTurn) return group.name
      }
      if (this.#ready.size === 0) return undefined
      this.#round = [...this.#ready].toSorted(byName)
      this.#roundTurn = this.#turn + 1
      this.#at = 0
    }
  }

  /**
   * Counts the lease of a pending task of the group that `first` returned.
   *
   * @param movesOn Whether its position grows; false only in tests.
   */
  lease(name: string, nowMs: EpochMs, movesOn = true): void {
    const group = this.#touch(this.#of(name))
    this.#turn = group.turn
    group.pending -= 1
    group.inFlight += 1
    if (group.inFlight === 1) this.#inFlightGroups += 1
    const { rate } = this.#policy
    if (rate !== null) group.tat = tatAfterStart(rate, group.tat, nowMs)
    if (movesOn) this.#setState(group, 'idle')
    this.#update(group, nowMs)
  }

  /** The earliest start that a rate permits later; `null` if no group waits for its rate. */
  nextStartAtMs(nowMs: EpochMs): EpochMs | null {
    this.#admit(nowMs)
    for (let entry = this.#waiting.peek(); entry !== undefined; entry = this.#waiting.peek()) {
      if (isWaitingFor(entry.value, entry.rank)) return entry.rank
      this.#drop()
    }
    return null
  }

  /** As `groups` of the contract. */
  rows(limit: number, nowMs: EpochMs): readonly GroupRow[] {
    const shown = [...this.#groups.values()].filter(hasTasks).toSorted(byPending).slice(0, limit)
    return shown.map(({ name, pending, inFlight, state, startAtMs }) => ({
      group: name === '' ? null : name,
      pending,
      inFlight,
      nextStartAtMs: state === 'waiting' && startAtMs > nowMs ? startAtMs : null,
    }))
  }

  /** As the counts of the contract. */
  totals(nowMs: EpochMs): GroupTotals {
    this.#admit(nowMs)
    return { ready: this.#ready.size, waiting: this.#waitingGroups, inFlight: this.#inFlightGroups }
  }

  /** The times of the rates that a schedule of the same type continues with. */
  *tats(nowMs: EpochMs): Generator<readonly [string, number]> {
    for (const { name, tat } of this.#groups.values()) if (tat > nowMs) yield [name, tat]
  }

  /** From now on, `restore` undoes every change. */
  begin(): void {
    this.#before = new Map()
    this.#turnBefore = this.#turn
    this.#policyBefore = this.#policy
  }

  /** The groups whose TAT changed since `begin`, with the new one. */
  *changedTats(): Generator<readonly [string, number]> {
    for (const [name, before] of this.#before ?? []) {
      const tat = this.#groups.get(name)?.tat ?? 0
      if (tat > 0 && tat !== before?.tat) yield [name, tat]
    }
  }

  restore(): void {
    for (const [name, before] of this.#before ?? []) {
      if (before === null) this.#groups.delete(name)
      else this.#groups.set(name, before)
    }
    this.#before = new Map()
    this.#turn = this.#turnBefore
    this.#policy = this.#policyBefore
    this.#rebuild()
  }

  #of(name: string, sweepsAtMs?: EpochMs): Group {
    let group = this.#groups.get(name)
    if (group !== undefined) return group
    if (sweepsAtMs !== undefined && this.#groups.size >= this.#sweepAt) this.#forget(sweepsAtMs)
    group = { name, pending: 0, inFlight: 0, tat: 0, state: 'idle', turn: 0, startAtMs: 0, timerAtMs: 0 }
    if (this.#before !== null && !this.#before.has(name)) this.#before.set(name, null)
    this.#groups.set(name, group)
    return group
  }

  #touch(group: Group): Group {
    if (this.#before !== null && !this.#before.has(group.name)) this.#before.set(group.name, { ...group })
    return group
  }

  /** Derives the state of a group from its counts and its TAT. */
  #update(group: Group, nowMs: EpochMs): void {
    const { rate } = this.#policy
    const mayStart = group.pending > 0 && !isGroupFull(this.#policy, group.inFlight)
    group.startAtMs = rate === null ? 0 : rateStart(rate, group.tat)
    if (mayStart && group.startAtMs <= nowMs) {
      if (group.state !== 'ready') this.#enter(group)
      return
    }
    this.#ready.delete(group)
    this.#setState(group, mayStart ? 'waiting' : 'idle')
    if (mayStart) this.#addTimer(group)
  }

  #setState(group: Group, state: Group['state']): void {
    if (group.state === 'waiting') this.#waitingGroups -= 1
    if (state === 'waiting') this.#waitingGroups += 1
    group.state = state
  }

  #enter(group: Group): void {
    this.#setState(group, 'ready')
    group.turn = this.#turn + 1
    this.#ready.add(group)
    if (this.#roundTurn === group.turn) this.#round = [] // It has not begun, and is sorted again.
  }

  /** Makes the groups ready whose rate permits a start. */
  #admit(nowMs: EpochMs): void {
    for (let entry = this.#waiting.peek(); entry !== undefined && entry.rank <= nowMs; entry = this.#waiting.peek()) {
      const group = this.#drop()
      if (group !== undefined && isWaitingFor(group, entry.rank)) this.#enter(this.#touch(group))
    }
  }

  #addTimer(group: Group): void {
    if (group.timerAtMs === group.startAtMs) return
    group.timerAtMs = group.startAtMs
    this.#waiting.add(group.startAtMs, group)
  }

  /** Removes the first entry of `#waiting`. */
  #drop(): Group | undefined {
    const startAtMs = this.#waiting.peek()?.rank
    const group = this.#waiting.pop()
    if (group !== undefined && group.timerAtMs === startAtMs) group.timerAtMs = 0
    return group
  }

  /** Removes groups without tasks whose rate is unused. */
  #forget(nowMs: EpochMs): void {
    for (const group of this.#groups.values()) {
      if (hasTasks(group) || group.tat > nowMs) continue
      this.#touch(group)
      this.#groups.delete(group.name)
    }
    this.#sweepAt = Math.max(MIN_SWEPT, 2 * this.#groups.size)
  }

  /** Makes the lists and counts of groups from their states. */
  #rebuild(): void {
    const groups = [...this.#groups.values()]
    this.#waitingGroups = groups.filter(({ state }) => state === 'waiting').length
    this.#inFlightGroups = groups.filter(({ inFlight }) => inFlight > 0).length
    const ready = groups.filter(({ state }) => state === 'ready')
    this.#round = ready.filter(({ turn }) => turn === this.#turn).toSorted(byName)
    this.#roundTurn = this.#turn
    this.#at = 0
    this.#ready = new Set(ready)
    this.#waiting = new Heap()
    for (const group of groups) {
      group.timerAtMs = 0
      if (group.state === 'waiting') this.#addTimer(group)
    }
  }
}

const hasTasks = ({ pending, inFlight }: Group): boolean => pending > 0 || inFlight > 0
const isWaitingFor = ({ state, startAtMs }: Group, atMs: number): boolean => state === 'waiting' && startAtMs === atMs
