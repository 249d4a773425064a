/**
 * Checks the invariants of tasks. It follows each call that the store executed in a small model of its own, and each
 * response that a client received.
 *
 *   I1  an acknowledged submit is in the store                             (G1)
 *   I2  no task is leased after its ack was acknowledged; a repeated ack succeeds   (G2)
 *   I3  each task is in one place: the store counts as many as the model   (G3)
 *   I4  a task has one live lease                                          (G4)
 *   I5  tokens grow, and a settle with another token has no effect         (G5)
 *   I7  attempts and lost leases equal the applied ones                    (G8)
 *   I10 a lease lasts as long as its automation says                       (G9)
 *   I18 after its cancel no task is leased, and no settle of it has an effect; the cancel was executed before it was
 *       acknowledged                                                       (G28)
 *   V1  what is due is taken within 15 s                                   (G3)
 *
 * After the store lost changes the model is empty, but keeps the highest token.
 */
import type {
  CancelResult,
  Counts,
  Lease,
  LeaseRef,
  NackItem,
  NewTask,
  ReserveResult,
  RetryPolicy,
  StorageCall,
  SubmitItemResult,
  SweepResult,
} from '../../../src/storage/index.ts'
import type { Exchange } from '../pool.ts'
import type { Fault } from '../plan.ts'
import { Calm } from './calm.ts'
import type { CheckDeps, CreateCheck, Invariant, InvariantCheck } from './invariant.ts'

interface TaskLease {
  readonly token: number
  readonly maxAttempts: number
  expiresAtMs: number
}

interface TaskState {
  /** Whether the task is in one of the four places. */
  isLive: boolean
  isDead: boolean
  isCancelled: boolean
  lease: TaskLease | null
  /** When it is due, while it is scheduled for a retry or because it was delayed. */
  dueAtMs: number | null
  /** Failed runs, and lost leases. */
  attempt: number
  lost: number
  /** The tokens of its leases since it was stored, so that settles of an earlier life of the id do not count. */
  readonly tokens: Set<number>
  /** Whether a worker received the response to its ack. */
  isAckAcknowledged: boolean
}

interface TypeState {
  readonly tasks: Map<string, TaskState>
  /** Every task that was ever stored, also one that the store lost. */
  readonly stored: Set<string>
  /** Task ids by the token of their ack, also of tasks that were submitted again: that ack may be repeated. */
  readonly acked: Map<number, string>
  /** Every task that was ever cancelled, also if the store lost the cancel. */
  readonly cancelled: Set<string>
  /** Every token that was ever issued, also of leases that the store lost. */
  readonly leased: Set<number>
  /** Tasks that a producer knows to be stored, until the store loses changes. */
  submitted: Set<string>
  /** Tokens whose ack a worker knows to be stored. */
  readonly acknowledged: Set<number>
  /** Tasks in flight, scheduled and dead, each in the order in which they came there. */
  readonly inFlight: Map<string, TaskState>
  readonly scheduled: Map<string, TaskState>
  readonly dead: Map<string, TaskState>
  live: number
  lastToken: number
  counts: Counts | null
}

type Results = readonly unknown[]

/** The limit of one call of the store. */
const MAX_LOCATED = 500
/** Nothing stays due for longer (G3). */
const MAX_DUE_MS = 15_000
/** After faults end, masters start again and connect to the store within this time. */
const RECOVERY_MS = 15_000

class TaskCheck implements InvariantCheck {
  readonly #deps: CheckDeps
  readonly #calm: Calm
  readonly #types = new Map<string, TypeState>()
  #hasLost = false

  constructor(deps: CheckDeps) {
    this.#deps = deps
    this.#calm = new Calm(deps)
  }

  async executed(call: StorageCall, result: unknown, nowMs: number): Promise<void> {
    if (call.group !== 'tasks') return
    const [type] = call.args
    if (typeof type !== 'string') return
    const state = this.#typeOf(type)
    this.#apply(type, state, call, result, nowMs)
    const [counts] = await this.#deps.backend().tasks.counts([type])
    if (counts === undefined) return
    this.#checkCounts(type, state, counts, call.method === 'cancel' ? 'I18' : 'I3')
    if (isStaleSettle(call, result)) this.#checkUnchanged(type, state.counts, counts)
    state.counts = counts
  }

  storeLost(): void {
    this.#hasLost = true
    for (const state of this.#types.values()) {
      for (const places of [state.tasks, state.inFlight, state.scheduled, state.dead]) places.clear()
      Object.assign(state, { live: 0, counts: null })
    }
  }

  storeKept(): void {
    for (const state of this.#types.values()) {
      for (const id of state.submitted) if (!state.tasks.has(id)) this.#deps.count('submit lost in a failover')
      state.submitted = new Set()
    }
  }

  /** A client has received a whole response. */
  received({ method, path, body, status, text }: Exchange): void {
    if (status !== 200 || method !== 'POST') return
    const [, type = '', rest = ''] = /\/automations\/([^/]+)\/(.*)$/.exec(path) ?? []
    if (rest === 'tasks') this.#submitted(type, JSON.parse(text) as SubmitResponse)
    if (rest === 'tasks/batch')
      for (const one of (JSON.parse(text) as { results: SubmitResponse[] }).results) this.#submitted(type, one)
    if (rest === 'tasks/select') this.#cancelAcknowledged(type, JSON.parse(text) as CancelResponse)
    if (rest.endsWith('/rpc') && body.includes('tasks.ack')) this.#acknowledged(type, body, text)
  }

  faultsEnded(): void {
    this.#calm.faultsEnded()
  }

  injected(fault: Fault): void {
    this.#calm.injected(fault)
  }

  async second(): Promise<void> {
    if (this.#calm.forMs < RECOVERY_MS + MAX_DUE_MS) return
    const { nowMs } = await this.#deps.backend().meta.info()
    for (const { inFlight, scheduled } of this.#types.values()) {
      for (const [id, { lease }] of inFlight)
        if (lease !== null && lease.expiresAtMs + MAX_DUE_MS < nowMs)
          this.#fail('V1', `the lease of task ${id} expired more than 15 s ago, and no sweep has taken the task`)
      for (const [id, { dueAtMs }] of scheduled)
        if (dueAtMs !== null && dueAtMs + MAX_DUE_MS < nowMs)
          this.#fail('V1', `the retry of task ${id} has been due for more than 15 s`)
    }
  }

  /** Compares the whole model with the store, at the end of a run. */
  async finish(): Promise<void> {
    for (const [type, { tasks }] of this.#types) {
      const ids = [...tasks.keys()]
      for (let from = 0; from < ids.length; from += MAX_LOCATED) {
        const page = ids.slice(from, from + MAX_LOCATED)
        const places = await this.#deps.backend().tasks.locate(type, page)
        for (const [at, id] of page.entries()) this.#checkPlace(id, tasks.get(id)?.isLive === true, places[at] ?? null)
      }
    }
  }

  #checkPlace(id: string, isLive: boolean, place: string | null): void {
    if (isLive && place === null) this.#fail('I1', `task ${id} is lost`)
    if (!isLive && place !== null) this.#fail('I3', `task ${id} was settled and is still ${place}`)
  }

  #apply(type: string, state: TypeState, { method, args }: StorageCall, result: unknown, nowMs: number): void {
    const items = args.at(method === 'nack' ? 2 : 1) as readonly LeaseRef[]
    switch (method) {
      case 'submit':
        return (args[2] as readonly NewTask[]).forEach((task, at) =>
          this.#stored(state, task, (result as readonly SubmitItemResult[])[at], nowMs),
        )
      case 'cancel':
        return (args[1] as readonly string[]).forEach((id, at) =>
          this.#cancelled(state, id, (result as readonly CancelResult[])[at]),
        )
      case 'reserve':
        return this.#reserved(type, state, result as ReserveResult, nowMs)
      case 'ack':
      case 'release':
        return items.forEach((item, at) => void this.#settled(state, method, item, (result as Results)[at], nowMs))
      case 'nack':
        return items.forEach((item, at) =>
          this.#nacked(state, item as NackItem, args[1] as RetryPolicy, (result as Results)[at], nowMs),
        )
      case 'extend':
        return items.forEach((item, at) => this.#extended(type, state, item, (result as Results)[at], nowMs))
      case 'sweep':
        return this.#swept(type, state, args as [string, number, number], result as SweepResult, nowMs)
      case 'replay':
        return [...state.dead.keys()].slice(0, result as number).forEach((id) => this.#replayed(state, id))
    }
  }

  #stored(state: TypeState, { id, notBeforeMs = 0 }: NewTask, result: SubmitItemResult | undefined, nowMs: number) {
    if (result?.kind !== 'queued') return
    if (result.replaced !== undefined) this.#replaced(state, result.replaced)
    if (state.tasks.get(id)?.isLive === true) return this.#fail('I3', `task ${id} was stored a second time`)
    const task: TaskState = {
      isLive: true,
      isDead: false,
      isCancelled: false,
      lease: null,
      dueAtMs: notBeforeMs > nowMs ? notBeforeMs : null,
      attempt: 0,
      lost: 0,
      tokens: new Set(),
      isAckAcknowledged: false,
    }
    state.tasks.set(id, task)
    if (task.dueAtMs !== null) state.scheduled.set(id, task)
    state.stored.add(id)
    state.live += 1
  }

  #replaced(state: TypeState, id: string): void {
    if (state.inFlight.has(id)) this.#fail('I18', `task ${id} was replaced while it was in flight`)
    this.#removed(state, id)
    this.#deps.count('waiting task replaced')
  }

  #cancelled(state: TypeState, id: string, result: CancelResult | undefined): void {
    const task = state.tasks.get(id)
    if (result?.kind !== 'cancelled') {
      if (task?.isLive === true && task.isDead !== (result?.kind === 'dead'))
        this.#fail('I18', `the cancel of task ${id}, which is stored, returned ${result?.kind}`)
      return
    }
    const place = task === undefined || !task.isLive || task.isDead ? null : placeOf(task)
    if (result.was !== place) this.#fail('I18', `the cancel of task ${id}, which is ${place}, found it ${result.was}`)
    if (result.was === 'in_flight' && result.token !== task?.lease?.token)
      this.#fail('I18', `the cancel of task ${id} ended the lease ${result.token} instead of ${task?.lease?.token}`)
    this.#removed(state, id)
    state.cancelled.add(id)
    this.#deps.count(`${result.was.replace('_', ' ') as 'pending'} task cancelled`)
  }

  #removed(state: TypeState, id: string): void {
    const task = state.tasks.get(id)
    if (task?.isLive !== true) return this.#fail('I18', `task ${id} was cancelled, and is not stored`)
    Object.assign(task, { isLive: false, isCancelled: true, lease: null, dueAtMs: null })
    state.inFlight.delete(id)
    state.scheduled.delete(id)
    state.live -= 1
  }

  #reserved(type: string, state: TypeState, { results, dropped }: ReserveResult, nowMs: number): void {
    this.#promote(state, nowMs)
    state.live -= dropped
    for (const each of results)
      if (each.kind === 'leased') for (const lease of each.leases) this.#leased(type, state, lease, nowMs)
  }

  #leased(type: string, state: TypeState, lease: Lease, nowMs: number): void {
    const { id, token, attempt, maxAttempts, expiresAtMs } = lease
    const task = state.tasks.get(id)
    if (task?.isCancelled === true) return this.#fail('I18', `task ${id} was leased after it had been cancelled`)
    if (task?.isLive !== true || task.isDead)
      return this.#fail('I3', `task ${id} was leased after it had been settled, or while it was dead`)
    if (task.isAckAcknowledged) this.#fail('I2', `task ${id} was leased after its ack was acknowledged`)
    if (task.lease !== null && task.lease.expiresAtMs > nowMs)
      this.#fail('I4', `task ${id} has two live leases, ${task.lease.token} and ${token}`)
    if (token <= state.lastToken) this.#fail('I5', `token ${token} came after ${state.lastToken}`)
    if (attempt !== task.attempt)
      this.#fail('I7', `task ${id} has failed ${task.attempt} times, and its lease says attempt ${attempt}`)
    this.#checkDeadline(type, id, expiresAtMs - nowMs)
    state.lastToken = Math.max(state.lastToken, token)
    state.inFlight.set(id, task)
    task.lease = { token, maxAttempts, expiresAtMs }
    task.tokens.add(token)
    state.leased.add(token)
  }

  /** @returns the task, if its lease ended. */
  #settled(state: TypeState, method: string, ref: LeaseRef, result: unknown, nowMs: number): TaskState | null {
    const { id, token } = ref
    const task = state.tasks.get(id)
    const isCurrent = task?.lease?.token === token
    if (isLost(result)) {
      if (method === 'ack' && state.acked.get(token) === id && !this.#hasLost)
        this.#fail('I2', `the repeated ack of task ${id} with token ${token} returned ${String(result)}`)
      if (isCurrent && task.lease !== null && task.lease.expiresAtMs > nowMs)
        this.#fail('I4', `the lease ${token} of task ${id} ended before its deadline`)
      if (method === 'ack' && task?.lease != null && !isCurrent) this.#deps.count('ack after the task was leased again')
      if (this.#hasLost && task?.tokens.has(token) !== true && state.leased.has(token))
        this.#deps.count('settle of a lease that the store lost')
      return null
    }
    if (method === 'ack' && state.acked.get(token) === id && !isCurrent) {
      this.#deps.count('ack repeated after a lost response')
      return null
    }
    if (task === undefined || !isCurrent) {
      const current = task?.lease?.token
      this.#fail(
        task?.isCancelled === true ? 'I18' : 'I5',
        `${method} of task ${id} with token ${token} had an effect; the token of its lease is ${current}`,
      )
      return null
    }
    task.lease = null
    state.inFlight.delete(id)
    if (method !== 'ack') return task
    task.isLive = false
    task.isAckAcknowledged = state.acknowledged.has(token)
    state.acked.set(token, id)
    state.live -= 1
    return task
  }

  #nacked(state: TypeState, item: NackItem, retry: RetryPolicy, result: unknown, nowMs: number): void {
    const maxAttempts = state.tasks.get(item.id)?.lease?.maxAttempts ?? 0
    const task = this.#settled(state, 'nack', item, result, nowMs)
    if (task === null) return
    const delayMs =
      item.retryInMs ?? Math.floor(item.jitter * Math.min(retry.capMs, retry.baseMs * retry.factor ** task.attempt))
    task.attempt += 1
    const isDead = item.permanent || task.attempt >= maxAttempts
    if (isDead !== (result === 'dead'))
      this.#fail('I7', `the nack ${task.attempt} of ${maxAttempts} of task ${item.id} returned ${String(result)}`)
    if (result === 'dead') this.#died(state, item.id, task)
    else {
      task.dueAtMs = nowMs + delayMs
      state.scheduled.set(item.id, task)
    }
    if (result === 'dead' && !item.permanent) this.#deps.count('task dead after its last attempt')
  }

  #died(state: TypeState, id: string, task: TaskState): void {
    task.isDead = true
    state.dead.set(id, task)
  }

  #replayed(state: TypeState, id: string): void {
    const task = state.dead.get(id)
    state.dead.delete(id)
    if (task !== undefined) Object.assign(task, { isDead: false, attempt: 0, lost: 0 })
  }

  #extended(type: string, state: TypeState, { id, token }: LeaseRef, result: unknown, nowMs: number): void {
    if (isLost(result)) return
    const task = state.tasks.get(id)
    if (task?.lease?.token !== token)
      return this.#fail(task?.isCancelled === true ? 'I18' : 'I5', `task ${id} was extended with token ${token}`)
    const { expiresAtMs } = result as { expiresAtMs: number }
    if (expiresAtMs === task.lease.expiresAtMs) return
    this.#checkDeadline(type, id, expiresAtMs - nowMs)
    task.lease.expiresAtMs = expiresAtMs
    // Of equal deadlines the store ends the one first that was set first.
    state.inFlight.delete(id)
    state.inFlight.set(id, task)
  }

  /** Takes the expired leases as the store does: in the order of their deadlines. */
  #swept(
    type: string,
    state: TypeState,
    args: readonly [string, number, number],
    swept: SweepResult,
    nowMs: number,
  ): void {
    const [, maxLost, limit] = args
    const overdue = [...state.inFlight]
      .filter(([, { lease }]) => lease !== null && lease.expiresAtMs <= nowMs)
      .toSorted(([, a], [, b]) => (a.lease?.expiresAtMs ?? 0) - (b.lease?.expiresAtMs ?? 0))
      .slice(0, limit)
    let dead = 0
    for (const [id, task] of overdue) {
      task.lost += 1
      task.lease = null
      state.inFlight.delete(id)
      this.#deps.count('lease expired')
      if (maxLost === 0 || task.lost < maxLost) continue
      dead += 1
      this.#died(state, id, task)
      this.#deps.count('task dead after lost leases')
    }
    if (swept.dead + swept.requeued > overdue.length)
      this.#fail('I4', `a sweep of ${type} ended ${swept.dead + swept.requeued} leases; ${overdue.length} had expired`)
    if (swept.dead !== dead || swept.requeued !== overdue.length - dead)
      this.#fail(
        'I7',
        `of ${overdue.length} expired leases of ${type} ${dead} tasks are lost too often; ` +
          `the sweep returned ${swept.dead} dead and ${swept.requeued} requeued`,
      )
    this.#promote(state, nowMs)
  }

  #promote(state: TypeState, nowMs: number): void {
    for (const [id, task] of state.scheduled) {
      if (task.dueAtMs === null || task.dueAtMs > nowMs) continue
      task.dueAtMs = null
      state.scheduled.delete(id)
    }
  }

  #checkDeadline(type: string, id: string, lengthMs: number): void {
    const visibilityMs = this.#deps.catalog.get(type)?.visibilityMs
    if (lengthMs !== visibilityMs)
      this.#fail('I10', `the lease of task ${id} lasts ${lengthMs} ms instead of ${visibilityMs} ms`)
  }

  #checkCounts(type: string, state: TypeState, counts: Counts, invariant: 'I3' | 'I18'): void {
    const { tiers, scheduled, inFlight, dead } = counts
    const live = tiers.reduce((sum, length) => sum + length, 0) + scheduled + inFlight + dead
    if (live !== state.live) this.#fail(invariant, `the store has ${live} tasks of ${type}, the model ${state.live}`)
    for (const [place, stored, expected] of [
      ['in flight', inFlight, state.inFlight.size],
      ['scheduled', scheduled, state.scheduled.size],
      ['dead', dead, state.dead.size],
    ] as const)
      if (stored !== expected)
        this.#fail(invariant, `the store has ${stored} tasks of ${type} ${place}, the model ${expected}`)
  }

  #checkUnchanged(type: string, before: Counts | null, after: Counts): void {
    if (before !== null && numbersOf(before) !== numbersOf(after))
      this.#fail('I5', `a stale settle changed the queue of ${type}`)
  }

  #submitted(type: string, response: SubmitResponse): void {
    if (response.task_id === undefined) return
    const { stored, submitted } = this.#typeOf(type)
    submitted.add(response.task_id)
    if (!stored.has(response.task_id))
      this.#fail('I1', `the submit of task ${response.task_id} was acknowledged, but it is not in the store`)
  }

  #cancelAcknowledged(type: string, { results }: CancelResponse): void {
    const { cancelled } = this.#typeOf(type)
    for (const { task_id: id, outcome } of results)
      if (outcome === 'cancelled' && !cancelled.has(id))
        this.#fail('I18', `the cancel of task ${id} was acknowledged, but the store has not executed it`)
  }

  #acknowledged(type: string, body: string, text: string): void {
    const state = this.#typeOf(type)
    const calls = listOf(JSON.parse(body)) as readonly RpcRequest[]
    const responses = new Map((listOf(JSON.parse(text)) as readonly RpcResponse[]).map((each) => [each.id, each]))
    for (const { id, method, params } of calls) {
      if (method !== 'tasks.ack') continue
      for (const [at, { ok }] of (responses.get(id)?.result?.results ?? []).entries()) {
        const item = params.tasks[at]
        if (!ok || item === undefined) continue
        const task = state.tasks.get(item.task_id)
        state.acknowledged.add(item.token)
        // The store executed the ack and lost it, before the response arrived.
        const isLost = task?.isLive === true && state.acked.has(item.token)
        if (task?.tokens.has(item.token) === true && !isLost) task.isAckAcknowledged = true
      }
    }
  }

  #typeOf(type: string): TypeState {
    const known = this.#types.get(type)
    if (known !== undefined) return known
    const state: TypeState = {
      tasks: new Map(),
      stored: new Set(),
      acked: new Map(),
      cancelled: new Set(),
      leased: new Set(),
      submitted: new Set(),
      acknowledged: new Set(),
      inFlight: new Map(),
      scheduled: new Map(),
      dead: new Map(),
      live: 0,
      lastToken: 0,
      counts: null,
    }
    this.#types.set(type, state)
    return state
  }

  #fail(invariant: Invariant, problem: string): void {
    this.#deps.fail(invariant, problem)
  }
}

export const checkTasks: CreateCheck = (deps) => new TaskCheck(deps)

interface SubmitResponse {
  readonly task_id?: string
  readonly queued?: boolean
}
interface CancelResponse {
  readonly results: readonly { readonly task_id: string; readonly outcome: string }[]
}
interface RpcRequest {
  readonly id: number
  readonly method: string
  readonly params: { readonly tasks: readonly { readonly task_id: string; readonly token: number }[] }
}
interface RpcResponse {
  readonly id: number
  readonly result?: { readonly results?: readonly { readonly ok: boolean }[] }
}

/** A JSON-RPC body: one message, or a batch. */
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [value])

/** The kind of a result; a result without further fields is its kind. */
const kindOf = (result: unknown): unknown =>
  typeof result === 'string' ? result : (result as { readonly kind: unknown }).kind

/** Where a task is that is stored and not dead. */
function placeOf({ lease, dueAtMs }: TaskState): 'pending' | 'scheduled' | 'in_flight' {
  if (lease !== null) return 'in_flight'
  return dueAtMs === null ? 'pending' : 'scheduled'
}

/** What only calls change. A pause may end, and a group become ready, by time. */
const numbersOf = ({ tiers, scheduled, inFlight, dead, totals }: Counts): string =>
  JSON.stringify([tiers, scheduled, inFlight, dead, totals])

const isLost = (result: unknown): boolean => ['lease_lost', 'not_issued'].includes(kindOf(result) as string)

function isStaleSettle({ method }: StorageCall, result: unknown): boolean {
  if (!['ack', 'nack', 'release', 'extend'].includes(method) || !Array.isArray(result)) return false
  return result.length > 0 && result.every(isLost)
}
