/**
 * A minimal model of the task queue of one type: one list, scanned anew for every operation. It follows the transition
 * table and no backend. The rules that need no queue are those of src/storage/task-rules.ts, which has a table of cases
 * as its own test. The backend chooses the tokens, so the model takes over those that were issued.
 */
import { compareText } from '../../../src/runtime/index.ts'
import {
  attemptError,
  attemptsOf,
  dueOf,
  earlierOf,
  errorGroup,
  expiryOf,
  extendedDeadline,
  finishedAs,
  hasExpired,
  isLostTooOften,
  lastingPause,
  lostLeaseError,
  maxAttemptsOf,
  nackOutcome,
  NOT_FOUND,
  pausedOf,
  totalsOf,
  TREND_INTERVAL_MS,
  withAttempt,
} from '../../../src/storage/index.ts'
import type {
  CancelResult,
  Counts,
  DeadGroup,
  DeadRow,
  DoneTask,
  EndOfTask,
  ExtendItem,
  ExtendLeaseResult,
  FailedAttempt,
  GroupPolicy,
  GroupRow,
  Lease,
  LeaseRef,
  NackItem,
  NewPause,
  NewTask,
  Outcome,
  Progress,
  Pause,
  TaskPlace,
  TaskState,
  QueueRow,
  Reservation,
  ReserveRefusal,
  DeadGroupAct,
  ReserveResult,
  ReserveRequest,
  RetryPolicy,
  SubmitItemResult,
  SweepResult,
  Tier,
  UniqueKey,
} from '../../../src/storage/index.ts'

/** The time of the backend, shared by all parts of a model. */
export interface Time {
  now: number
}
type Settled = 'ok' | 'lease_lost'

/** `line`: the tier in which it waits. `at`: its deadline, due time or time of death. */
type Task = Omit<NewTask, 'key' | 'ownId' | 'notBeforeMs' | 'body'> & {
  body: string
  place: TaskPlace | 'gone'
  line: Tier
  expires: number | null
  attempt: number
  lost: number
  token: number
  worker: string
  max: number
  at: number
  error: string
  attempts: readonly FailedAttempt[]
  progress: Progress | null
}

/** `position`: null if it is not ready. `tat`: as in group-rules.ts. */
interface Group {
  position: number | null
  tat: number
}
/** '' is the group `null`. */
const groupOf = ({ group = '' }: Pick<Task, 'group'>): string => group

export class TasksModel {
  readonly keys = new Map<string, { readonly id: string; readonly ends: number }>()
  readonly acked = new Map<number, string>()
  /** The last task with each unique key. */
  readonly #unique = new Map<string, Task>()
  /** By task id, also those that have expired. */
  readonly #outcomes = new Map<string, Outcome>()
  readonly totals = { submitted: 0, acked: 0, nacked: 0, died: 0 }
  #cancelled = 0
  readonly #time: Time
  /** In the order in which they reached their current place. */
  #tasks: Task[] = []
  #pause: Pause | null = null
  #policy: GroupPolicy | null = null
  readonly #groups = new Map<string, Group>()
  /** The position of the last lease. */
  #turn = 0

  constructor(time: Time) {
    this.#time = time
  }
  get #paused(): Pause | null {
    return lastingPause(this.#pause, this.#time.now)
  }
  in(place: TaskPlace): readonly Task[] {
    const found = this.#tasks.filter((task) => task.place === place)
    if (place === 'pending') return found.toSorted((a, b) => a.line - b.line)
    return place === 'dead' ? found : found.toSorted((a, b) => a.at - b.at)
  }
  locate(id: string): TaskPlace | null {
    const place = this.#tasks.find((task) => task.id === id)?.place
    return place === 'gone' ? null : (place ?? null)
  }
  submit(windowMs: number, tasks: readonly NewTask[], maxLength = Infinity): SubmitItemResult[] {
    const { now } = this.#time
    return tasks.map(({ key, ownId, notBeforeMs = 0, ...task }) => {
      const due = dueOf({ notBeforeMs }, now)
      const known = key === null ? undefined : this.keys.get(key)
      if (known !== undefined && known.ends > now) return { kind: 'duplicate', duplicateOf: known.id }
      const isKnown = this.describe(task.id) !== null
      const other = isKnown ? undefined : this.#conflict(task.unique)
      const replaces = other !== undefined && task.unique?.onConflict === 'replace' && other.place !== 'in_flight'
      if (!isKnown && other === undefined && this.#tasks.length >= maxLength) return { kind: 'queue_full' }
      const duplicateOf = isKnown || replaces ? task.id : (other?.id ?? task.id)
      if (key !== null) this.keys.set(key, { id: duplicateOf, ends: now + windowMs })
      if (isKnown) return ownId ? { kind: 'duplicate', duplicateOf } : { kind: 'queued' }
      if (other !== undefined && !replaces) return { kind: 'duplicate', duplicateOf }
      if (other !== undefined) this.#cancelled += this.#move(other, 'gone')
      const stored: Task = {
        ...task,
        place: due > now ? 'scheduled' : 'pending',
        line: task.tier,
        expires: expiryOf(task.ttlMs, due),
        attempt: 0,
        lost: 0,
        token: 0,
        worker: '',
        max: 0,
        at: due,
        error: '',
        attempts: [],
        progress: null,
      }
      this.#tasks.push(stored)
      this.#updateGroups()
      if (task.unique !== undefined) this.#unique.set(task.unique.key, stored)
      this.totals.submitted += 1
      return other === undefined ? { kind: 'queued' } : { kind: 'queued', replaced: other.id }
    })
  }
  /**
   * @param refusals Per request, why the worker may not reserve, or null.
   * @param tokens The tokens that the backend issued, in the order of the leases.
   */
  reserve(
    visibilityMs: number,
    requests: readonly ReserveRequest[],
    refusals: readonly (ReserveRefusal | null)[],
    tokens: readonly number[],
  ): ReserveResult {
    const [{ now }, drawn] = [this.#time, [...tokens]]
    let dropped = 0
    this.#promote(Infinity)
    const results = requests.map(({ worker, limit, defaultMaxAttempts }, i): Reservation => {
      const reason = refusals[i] ?? null
      if (reason !== null) return { kind: 'refused', reason }
      const mine: Lease[] = []
      for (let task = this.#next(); task !== undefined && mine.length < limit; task = this.#next()) {
        if (hasExpired(task.expires, now)) {
          dropped += this.#move(task, 'gone')
          this.#keep(task, { kind: 'expired', worker: null, result: null })
        } else {
          this.#countStart(groupOf(task))
          this.#move(task, 'in_flight', {
            token: drawn.shift() ?? Number.NaN,
            worker,
            max: maxAttemptsOf(task.maxAttempts, defaultMaxAttempts),
            at: now + visibilityMs,
          })
          mine.push({
            id: task.id,
            token: task.token,
            attempt: task.attempt,
            maxAttempts: task.max,
            expiresAtMs: task.at,
            body: task.body,
            ...(task.retainMs !== undefined && { isRetained: true as const }),
            ...(task.progress !== null && { progress: task.progress.text }),
          })
        }
      }
      return { kind: 'leased', leases: mine }
    })
    const isHeldBack = this.in('pending').length > 0 && refusals.includes(null)
    const starts = this.groups().flatMap(({ nextStartAtMs }) => nextStartAtMs ?? [])
    const nextStart = earlierOf(this.#paused?.untilMs ?? null, starts.length === 0 ? null : Math.min(...starts))
    const nextDueAtMs = earlierOf(this.in('scheduled')[0]?.at ?? null, isHeldBack ? nextStart : null)
    return { results, dropped, nextDueAtMs }
  }
  ack(refs: readonly DoneTask[]): Settled[] {
    return refs.map((ref) => {
      const task = this.#held(ref)
      if (task === undefined) return this.acked.get(ref.token) === ref.id ? 'ok' : 'lease_lost'
      this.totals.acked += this.#move(task, 'gone')
      this.acked.set(ref.token, ref.id)
      this.#keep(task, { kind: 'done', worker: task.worker, result: ref.result ?? null })
      return 'ok'
    })
  }
  release(refs: readonly LeaseRef[]): Settled[] {
    const back: Task[] = []
    const results = refs.map((ref): Settled => {
      const task = this.#held(ref)
      if (task === undefined || back.includes(task)) return 'lease_lost'
      back.push(task)
      return 'ok'
    })
    this.#toFront(back)
    return results
  }
  nack(retry: RetryPolicy, items: readonly NackItem[]): ('scheduled' | 'dead' | 'lease_lost')[] {
    return items.map((item) => {
      const task = this.#held(item)
      if (task === undefined) return 'lease_lost'
      const outcome = nackOutcome({ attempt: task.attempt, maxAttempts: task.max }, item, retry)
      this.totals.nacked += 1
      task.attempt = outcome.attempt
      this.#record(task, 'failed', attemptError(item.error))
      if (outcome.kind === 'dead') return this.#moveToDead(task, item.error)
      this.#move(task, 'scheduled', { at: this.#time.now + outcome.delayMs })
      return 'scheduled'
    })
  }
  extend(items: readonly ExtendItem[]): ExtendLeaseResult[] {
    return items.map((item) => {
      const task = this.#held(item)
      if (task === undefined) return { kind: 'lease_lost' }
      task.at = extendedDeadline(task.at, this.#time.now, item.visibilityMs)
      if (item.progress !== undefined) task.progress = { text: item.progress, atMs: this.#time.now }
      return { kind: 'extended', expiresAtMs: task.at }
    })
  }
  /** `more` is undefined when a limit was reached exactly: a backend may then return either value. */
  sweep(maxLost: number, limit: number): Omit<SweepResult, 'more'> & { readonly more: boolean | undefined } {
    const { now } = this.#time
    const passed = this.in('in_flight')
      .filter(({ at }) => at <= now)
      .slice(0, limit)
    for (const task of passed) {
      task.lost += 1
      this.#record(task, 'lease_lost', null)
    }
    const dying = passed.filter(({ lost }) => isLostTooOften(lost, maxLost))
    for (const task of dying) this.#moveToDead(task, lostLeaseError(task.lost))
    this.#toFront(passed.filter((task) => !dying.includes(task)))
    const promoted = this.#promote(limit)
    const ended = this.endedKeys()
    for (const { key } of ended.slice(0, limit)) this.keys.delete(key)
    const expired = this.expiredOutcomes()
    for (const [id] of expired.slice(0, limit)) this.#outcomes.delete(id)
    const isLeft =
      Math.max(ended.length, expired.length) > limit ||
      [...this.in('in_flight'), ...this.in('scheduled')].some(({ at }) => at <= now)
    const isFull = [passed.length, promoted, ended.length].includes(limit)
    return {
      requeued: passed.length - dying.length,
      promoted,
      dead: dying.length,
      forgottenKeys: Math.min(limit, ended.length),
      more: isLeft || (isFull || this.#unique.size > 0 ? undefined : false),
    }
  }
  /** What is known of a task. */
  describe(id: string): TaskState | null {
    const task = this.#tasks.find((each) => each.id === id)
    const outcome = this.#outcomes.get(id)
    if (task === undefined || task.place === 'gone')
      return outcome !== undefined && outcome.retainedUntilMs > this.#time.now ? outcome : null
    const history = { ...attemptsOf(task.attempts), ...(task.progress !== null && { progress: task.progress }) }
    if (task.place !== 'dead') return { kind: 'stored', place: task.place, ...history }
    return { kind: 'dead', attempt: task.attempt, diedAtMs: task.at, lastError: task.error, ...history }
  }
  /** Outcomes that have expired, by id; the earliest first. */
  /** IDs of tasks whose outcome is still retained. */
  finishedIds(): readonly string[] {
    return [...this.#outcomes].flatMap(([id, { retainedUntilMs }]) => (retainedUntilMs > this.#time.now ? [id] : []))
  }
  expiredOutcomes(): (readonly [string, Outcome])[] {
    return [...this.#outcomes]
      .filter(([, { retainedUntilMs }]) => retainedUntilMs <= this.#time.now)
      .toSorted(([, a], [, b]) => a.retainedUntilMs - b.retainedUntilMs)
  }
  /** Keys whose window has ended, oldest first. */
  endedKeys(): { key: string; ends: number }[] {
    return [...this.keys]
      .map(([key, { ends }]) => ({ key, ends }))
      .filter(({ ends }) => ends <= this.#time.now)
      .toSorted((a, b) => a.ends - b.ends)
  }
  replay(n: number): number {
    return this.in('dead')
      .slice(0, n)
      .map((task) => this.#replay(task)).length
  }
  clearDead(): number {
    return this.in('dead').map((task) => this.#move(task, 'gone')).length
  }
  applyToDead(action: 'replay' | 'remove', ids: readonly string[]): ('replayed' | 'removed' | 'not_dead')[] {
    return ids.map((id) => {
      const task = this.in('dead').find((each) => each.id === id)
      if (task === undefined) return 'not_dead'
      if (action === 'replay') return this.#replay(task)
      this.#move(task, 'gone')
      return 'removed'
    })
  }
  queue(n: number): { length: number; items: QueueRow[]; paused?: Pause } {
    return {
      length: this.in('pending').length,
      items: this.in('pending')
        .slice(0, n)
        .map(({ id, attempt, body }) => ({ id, attempt, body })),
      ...pausedOf(this.#paused),
    }
  }
  dead(n: number): { length: number; items: DeadRow[] } {
    const show = ({ id, attempt, body, max, error, at, attempts }: Task): DeadRow => ({
      id,
      attempt,
      body,
      maxAttempts: max,
      lastError: error,
      diedAtMs: at,
      ...attemptsOf(attempts),
    })
    return { length: this.in('dead').length, items: this.in('dead').slice(0, n).map(show) }
  }
  deadGroups(): DeadGroup[] {
    const { now } = this.#time
    const interval = (ms: number): number => Math.floor(ms / TREND_INTERVAL_MS)
    const rows: DeadGroup[] = []
    for (const newest of this.in('dead').toReversed()) {
      const group = errorGroup(newest.error)
      if (rows.some((row) => row.group === group)) continue
      const members = this.#inGroup(group)
      rows.push({
        group,
        count: members.length,
        firstDiedAtMs: members[0]?.at ?? 0,
        lastDiedAtMs: newest.at,
        trend: Array.from(
          { length: 12 },
          (_, i) => members.filter(({ at }) => interval(at) === interval(now) - 11 + i).length,
        ),
        workers: [
          ...new Set(
            members
              .slice(-8)
              .toReversed()
              .map(({ worker }) => worker),
          ),
        ].slice(0, 3),
        example: { id: newest.id, lastError: newest.error },
      })
    }
    return rows
  }
  newestDead(group: string | null): DeadRow[] {
    const members = new Set((group === null ? this.in('dead') : this.#inGroup(group)).map(({ id }) => id))
    return this.dead(10_000)
      .items.toReversed()
      .filter(({ id }) => members.has(id))
  }
  applyToDeadGroup({ group, action, diedBeforeMs, n, pace }: DeadGroupAct): number {
    const found = this.#inGroup(group)
      .filter(({ at }) => at < diedBeforeMs)
      .slice(0, n)
    for (const [i, task] of found.entries()) {
      if (action === 'remove') this.#move(task, 'gone')
      else if (pace === undefined) this.#replay(task)
      else {
        const at = this.#time.now + pace.delayMs + i * pace.intervalMs
        this.#move(task, 'scheduled', { at, attempt: 0, lost: 0, expires: expiryOf(task.ttlMs, at) })
      }
    }
    return found.length
  }
  replayEdited(id: string, diedAtMs: number, body: string): boolean {
    const task = this.in('dead').find((each) => each.id === id)
    if (task?.at !== diedAtMs) return false
    task.body = body
    this.#replay(task)
    return true
  }
  #inGroup(group: string): readonly Task[] {
    return this.in('dead').filter(({ error }) => errorGroup(error) === group)
  }
  counts(): Counts {
    const [high, normal, low] = [0, 1, 2].map((tier) => this.in('pending').filter(({ line }) => line === tier)) as [
      Task[],
      Task[],
      Task[],
    ]
    const next = [high, normal, low].flatMap((tier) => tier[0]?.submittedAtMs ?? [])
    const length = (place: TaskPlace): number => this.in(place).length
    return {
      tiers: [high.length, normal.length, low.length],
      scheduled: length('scheduled'),
      inFlight: length('in_flight'),
      dead: length('dead'),
      oldestSubmittedAtMs: next.length === 0 ? null : Math.min(...next),
      totals: totalsOf({ ...this.totals }, this.#cancelled),
      ...pausedOf(this.#paused),
    }
  }
  cancel(ids: readonly string[], actor: string): CancelResult[] {
    return ids.map((id, i) => {
      const task = ids.indexOf(id) === i ? this.#tasks.find((each) => each.id === id) : undefined
      if (task === undefined || task.place === 'gone')
        return ids.indexOf(id) === i ? this.#finished(id) : { kind: 'not_found' }
      const { place: was } = task
      if (was === 'dead') return { kind: 'dead' }
      const { worker, token } = task
      this.#cancelled += this.#move(task, 'gone')
      this.#keep({ ...task, attempt: 0 }, { kind: 'cancelled', worker: null, actor, result: null })
      return was === 'in_flight' ? { kind: 'cancelled', was, worker, token } : { kind: 'cancelled', was }
    })
  }
  #finished(id: string): CancelResult {
    const state = this.describe(id)
    return state === null || state.kind === 'stored' || state.kind === 'dead' ? NOT_FOUND : finishedAs(state.kind)
  }
  pause(pause: NewPause): Pause {
    this.#pause = { ...pause, sinceMs: this.#paused?.sinceMs ?? this.#time.now }
    return this.#pause
  }
  resume(): boolean {
    const wasPaused = this.#paused !== null
    this.#pause = null
    return wasPaused
  }
  get policy(): GroupPolicy | null {
    return this.#policy
  }
  setGroupPolicy(policy: GroupPolicy | null): void {
    this.#policy = policy
    this.#updateGroups()
  }
  groups(): GroupRow[] {
    if (this.#policy === null) return []
    const names = new Set([...this.in('pending'), ...this.in('in_flight')].map(groupOf))
    const rows = [...names].map((name): GroupRow => {
      const [pending, inFlight] = [this.#count(name, 'pending'), this.#count(name, 'in_flight')]
      const start = this.#startOf(name)
      const isWaiting = pending > 0 && !this.#isFull(name) && start > this.#time.now
      return { group: name === '' ? null : name, pending, inFlight, nextStartAtMs: isWaiting ? start : null }
    })
    return rows.toSorted((a, b) => b.pending - a.pending || compareText(a.group ?? '', b.group ?? ''))
  }
  /** The task that a reserve takes next. */
  #next(): Task | undefined {
    this.#updateGroups()
    const pending = this.#paused === null ? this.in('pending') : []
    if (this.#policy === null) return pending[0]
    const ready = [...this.#groups].flatMap(([name, { position }]) => (position === null ? [] : [{ name, position }]))
    const [next] = ready.toSorted((a, b) => a.position - b.position || compareText(a.name, b.name))
    return pending.find((task) => groupOf(task) === next?.name)
  }
  #countStart(name: string): void {
    const group = this.#groups.get(name)
    if (this.#policy === null || group?.position == null) return
    this.#turn = group.position
    group.position += 1
    const { rate } = this.#policy
    if (rate !== null) group.tat = Math.max(group.tat, this.#time.now) + rate.intervalMs
  }
  /** Lets groups enter the turns that are ready now, and leave them that are not. */
  #updateGroups(): void {
    for (const name of new Set(this.#tasks.map(groupOf)))
      if (!this.#groups.has(name)) this.#groups.set(name, { position: null, tat: 0 })
    for (const [name, group] of this.#groups) {
      const isReady =
        this.#policy !== null &&
        this.#count(name, 'pending') > 0 &&
        !this.#isFull(name) &&
        this.#startOf(name) <= this.#time.now
      group.position = isReady ? (group.position ?? this.#turn + 1) : null
    }
  }
  #count(name: string, place: TaskPlace): number {
    return this.in(place).filter((task) => groupOf(task) === name).length
  }
  #isFull(name: string): boolean {
    return this.#count(name, 'in_flight') >= (this.#policy?.maxInFlight ?? Infinity)
  }
  /** When the rate of the group permits a start. */
  #startOf(name: string): number {
    const rate = this.#policy?.rate ?? null
    return rate === null ? 0 : Math.ceil((this.#groups.get(name)?.tat ?? 0) - (rate.burst - 1) * rate.intervalMs)
  }
  /** The task with which a submit conflicts (D118). */
  #conflict(unique: UniqueKey | undefined): Task | undefined {
    const task = unique === undefined ? undefined : this.#unique.get(unique.key)
    if (task?.place === 'pending' || task?.place === 'scheduled') return task
    return task?.place === 'in_flight' && task.unique?.until === 'finished' ? task : undefined
  }
  /** Keeps the outcome of a retained task (D110). */
  #keep({ id, attempt, retainMs, attempts }: Task, end: EndOfTask): void {
    if (retainMs === undefined) return
    const { now } = this.#time
    const facts = { attempt, finishedAtMs: now, retainedUntilMs: now + retainMs, ...attemptsOf(attempts) }
    this.#outcomes.set(id, { ...end, ...facts })
  }
  #record(task: Task, kind: FailedAttempt['kind'], error: string | null): void {
    const { attempt, worker } = task
    task.attempts = withAttempt(task.attempts, { kind, attempt, atMs: this.#time.now, error, worker })
  }
  #held({ id, token }: LeaseRef): Task | undefined {
    return this.#tasks.find((task) => task.place === 'in_flight' && task.id === id && task.token === token)
  }
  /** Moves a task to the end of a place, or to its front. @returns 1, so that callers can count. */
  #move(task: Task, place: Task['place'], changes: Partial<Task> = {}, isFirst = false): 1 {
    Object.assign(task, { line: task.tier, ...changes, place })
    const others = this.#tasks.filter((each) => each !== task)
    if (place === 'gone') this.#tasks = others
    else this.#tasks = isFirst ? [task, ...others] : [...others, task]
    this.#updateGroups()
    return 1
  }
  #toFront(tasks: readonly Task[]): void {
    for (const task of tasks.toReversed()) this.#move(task, 'pending', {}, true)
  }
  #promote(limit: number): number {
    return this.in('scheduled')
      .filter(({ at }) => at <= this.#time.now)
      .slice(0, limit)
      .map((task) => this.#move(task, 'pending')).length
  }
  #moveToDead(task: Task, error: string): 'dead' {
    this.totals.died += this.#move(task, 'dead', { error, at: this.#time.now })
    return 'dead'
  }
  #replay(task: Task): 'replayed' {
    this.#move(task, 'pending', { line: 1, attempt: 0, lost: 0, expires: expiryOf(task.ttlMs, this.#time.now) })
    return 'replayed'
  }
}
