/**
 * Checks the invariants of tasks. It follows each call that the store executed in a small model of its own, and each
 * response that a client received.
 *
 *   I1  an acknowledged submit is in the store                             (G1)
 *   I2  no task is leased after its ack was acknowledged                   (G2)
 *   I3  each task is in one place: the store counts as many as the model   (G3)
 *   I4  a task has one live lease                                          (G4)
 *   I5  tokens grow, and a settle with another token has no effect         (G5)
 *
 * A restart of the store that loses everything empties the model, but not the highest token.
 */
import type { Counts, Lease, LeaseRef, NewTask, Reservation, StorageCall } from '../../../src/storage/index.ts'
import type { Exchange } from '../pool.ts'
import type { CheckDeps, CreateCheck, Invariant, InvariantCheck } from './invariant.ts'

interface TaskState {
  /** Whether the task is in one of the four places. */
  isLive: boolean
  lease: { readonly token: number; expiresAtMs: number } | null
  /** The tokens of its leases since it was stored, so that settles of an earlier life of the id do not count. */
  readonly tokens: Set<number>
  /** Whether a worker received the response to its ack. */
  isAckAcknowledged: boolean
}

interface TypeState {
  readonly tasks: Map<string, TaskState>
  /** Every task that was ever stored, also before a restart of the store. */
  readonly stored: Set<string>
  /** Task ids by the token of their ack, also of tasks that were submitted again: that ack may be repeated. */
  readonly acked: Map<number, string>
  live: number
  inFlight: number
  lastToken: number
  counts: Counts | null
}

type Results = readonly unknown[]

/** The limit of one call of the store. */
const MAX_LOCATED = 500

class TaskCheck implements InvariantCheck {
  readonly #deps: CheckDeps
  readonly #types = new Map<string, TypeState>()

  constructor(deps: CheckDeps) {
    this.#deps = deps
  }

  async executed(call: StorageCall, result: unknown, nowMs: number): Promise<void> {
    if (call.group !== 'tasks') return
    const [type] = call.args
    if (typeof type !== 'string') return
    const state = this.#typeOf(type)
    this.#apply(state, call, result, nowMs)
    const [counts] = await this.#deps.backend().tasks.counts([type])
    if (counts === undefined) return
    this.#checkCounts(type, state, counts)
    if (isStaleSettle(call, result)) this.#checkUnchanged(type, state.counts, counts)
    state.counts = counts
  }

  storeRestarted(): void {
    for (const state of this.#types.values()) {
      state.tasks.clear()
      Object.assign(state, { live: 0, inFlight: 0, counts: null })
    }
  }

  /** A client has received a whole response. */
  received({ method, path, body, status, text }: Exchange): void {
    if (status !== 200 || method !== 'POST') return
    const [, type = '', rest = ''] = /\/automations\/([^/]+)\/(.*)$/.exec(path) ?? []
    if (rest === 'tasks') this.#submitted(type, JSON.parse(text) as SubmitResponse)
    if (rest === 'tasks/batch')
      for (const one of (JSON.parse(text) as { results: SubmitResponse[] }).results) this.#submitted(type, one)
    if (rest.endsWith('/rpc') && body.includes('tasks.ack')) this.#acknowledged(type, body, text)
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

  #apply(state: TypeState, { method, args }: StorageCall, result: unknown, nowMs: number): void {
    const items = args.at(method === 'nack' ? 2 : 1) as readonly LeaseRef[]
    switch (method) {
      case 'submit':
        return (args[2] as readonly NewTask[]).forEach(({ id }, at) => this.#stored(state, id, (result as Results)[at]))
      case 'reserve': {
        const { results, dropped } = result as { results: readonly Reservation[]; dropped: number }
        state.live -= dropped
        for (const each of results)
          if (each.kind === 'leased') for (const lease of each.leases) this.#leased(state, lease, nowMs)
        return
      }
      case 'ack':
      case 'release':
      case 'nack':
        return items.forEach((item, at) => this.#settled(state, method, item, (result as Results)[at], nowMs))
      case 'extend':
        return items.forEach((item, at) => this.#extended(state, item, (result as Results)[at]))
      case 'sweep': {
        const { requeued, dead } = result as { requeued: number; dead: number }
        state.inFlight -= requeued + dead
        if (requeued > 0) this.#count('lease expired')
      }
    }
  }

  #stored(state: TypeState, id: string, result: unknown): void {
    if (kindOf(result) !== 'queued') return
    if (state.tasks.get(id)?.isLive === true) return this.#fail('I3', `task ${id} was stored a second time`)
    state.tasks.set(id, { isLive: true, lease: null, tokens: new Set(), isAckAcknowledged: false })
    state.stored.add(id)
    state.live += 1
  }

  #leased(state: TypeState, { id, token, expiresAtMs }: Lease, nowMs: number): void {
    const task = state.tasks.get(id)
    if (task?.isLive !== true) {
      const isKnownAck = task?.isAckAcknowledged === true
      return this.#fail(isKnownAck ? 'I2' : 'I3', `task ${id} was leased after it had been settled`)
    }
    if (task.isAckAcknowledged) return this.#fail('I2', `task ${id} was leased after its ack was acknowledged`)
    if (task.lease !== null && task.lease.expiresAtMs > nowMs)
      return this.#fail('I4', `task ${id} has two live leases, ${task.lease.token} and ${token}`)
    if (token <= state.lastToken) return this.#fail('I5', `token ${token} came after ${state.lastToken}`)
    if (task.lease !== null) this.#count('leased again')
    state.lastToken = token
    state.inFlight += 1
    task.lease = { token, expiresAtMs }
    task.tokens.add(token)
  }

  #settled(state: TypeState, method: string, { id, token }: LeaseRef, result: unknown, nowMs: number): void {
    const task = state.tasks.get(id)
    const isCurrent = task?.lease?.token === token
    if (isLost(result)) {
      this.#count('stale settle')
      if (isCurrent && task.lease !== null && task.lease.expiresAtMs > nowMs)
        this.#fail('I4', `the lease ${token} of task ${id} ended before its deadline`)
      return
    }
    if (method === 'ack' && state.acked.get(token) === id) return this.#count('ack repeated')
    if (task === undefined || !isCurrent)
      return this.#fail(
        'I5',
        `${method} of task ${id} with token ${token} had an effect; its lease is ${task?.lease?.token}`,
      )
    task.lease = null
    state.inFlight -= 1
    if (result === 'dead') this.#count('dead')
    if (method !== 'ack') return
    task.isLive = false
    state.acked.set(token, id)
    state.live -= 1
  }

  #extended(state: TypeState, { id, token }: LeaseRef, result: unknown): void {
    if (isLost(result)) return
    const lease = state.tasks.get(id)?.lease
    if (lease?.token !== token) return this.#fail('I5', `task ${id} was extended with token ${token}`)
    lease.expiresAtMs = (result as { expiresAtMs: number }).expiresAtMs
  }

  #checkCounts(type: string, state: TypeState, { tiers, scheduled, inFlight, dead }: Counts): void {
    const live = tiers.reduce((sum, length) => sum + length, 0) + scheduled + inFlight + dead
    if (live !== state.live) this.#fail('I3', `the store has ${live} tasks of ${type}, the model ${state.live}`)
    if (inFlight !== state.inFlight)
      this.#fail('I3', `the store has ${inFlight} tasks of ${type} in flight, the model ${state.inFlight}`)
  }

  #checkUnchanged(type: string, before: Counts | null, after: Counts): void {
    if (before !== null && JSON.stringify(before) !== JSON.stringify(after))
      this.#fail('I5', `a stale settle changed the queue of ${type}`)
  }

  #submitted(type: string, response: SubmitResponse): void {
    if (response.task_id === undefined) return
    this.#count(response.queued === true ? 'submit acknowledged' : 'duplicate')
    if (!this.#typeOf(type).stored.has(response.task_id))
      this.#fail('I1', `the submit of task ${response.task_id} was acknowledged, but it is not in the store`)
  }

  #acknowledged(type: string, body: string, text: string): void {
    const calls = listOf(JSON.parse(body)) as readonly RpcRequest[]
    const responses = new Map((listOf(JSON.parse(text)) as readonly RpcAnswer[]).map((each) => [each.id, each]))
    for (const { id, method, params } of calls) {
      if (method !== 'tasks.ack') continue
      for (const [at, { ok }] of (responses.get(id)?.result?.results ?? []).entries()) {
        const item = params.tasks[at]
        const task = item === undefined ? undefined : this.#typeOf(type).tasks.get(item.task_id)
        if (!ok || item === undefined || task?.tokens.has(item.token) !== true) continue
        task.isAckAcknowledged = true
        this.#count('ack acknowledged')
      }
    }
  }

  #typeOf(type: string): TypeState {
    const known = this.#types.get(type)
    if (known !== undefined) return known
    const state = {
      tasks: new Map(),
      stored: new Set<string>(),
      acked: new Map<number, string>(),
      live: 0,
      inFlight: 0,
      lastToken: 0,
      counts: null,
    }
    this.#types.set(type, state)
    return state
  }

  #count(situation: string): void {
    this.#deps.count(situation)
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
interface RpcRequest {
  readonly id: number
  readonly method: string
  readonly params: { readonly tasks: readonly { readonly task_id: string; readonly token: number }[] }
}
interface RpcAnswer {
  readonly id: number
  readonly result?: { readonly results?: readonly { readonly ok: boolean }[] }
}

/** A JSON-RPC body: one message, or a batch. */
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [value])

/** The kind of a result; a result without further fields is its kind. */
const kindOf = (result: unknown): unknown =>
  typeof result === 'string' ? result : (result as { readonly kind: unknown }).kind

const isLost = (result: unknown): boolean => ['lease_lost', 'not_issued'].includes(kindOf(result) as string)

function isStaleSettle({ method }: StorageCall, result: unknown): boolean {
  if (!['ack', 'nack', 'release', 'extend'].includes(method) || !Array.isArray(result)) return false
  return result.length > 0 && result.every(isLost)
}
