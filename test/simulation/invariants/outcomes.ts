/**
 * Checks retained outcomes.
 *
 *   I19  the outcome of a retained task is written once, by its ack or its cancel; it stays as it is and can be read
 *        until its time, and its id is not queued again before                                              (G29)
 */
import type {
  CancelResult,
  DoneTask,
  Lease,
  NewTask,
  Outcome,
  ReserveResult,
  StorageCall,
  SubmitItemResult,
  TaskState,
} from '../../../src/storage/index.ts'
import type { Exchange } from '../pool.ts'
import type { CheckDeps, CreateCheck, InvariantCheck } from './invariant.ts'

interface Ended {
  readonly kind: Outcome['kind']
  /** The result of the run, as JSON. */
  readonly result: string | null
  readonly finishedAtMs: number
  readonly retainedUntilMs: number
  /** Virtual time until which each request finds it, unless the clock of the store is stepped. */
  readonly fromMs: number
  readonly untilMs: number
}
interface TypeState {
  /** For how long the outcome of each retained task that has not ended will be kept. */
  readonly retained: Map<string, number>
  /** The token of the newest lease of each task. */
  readonly leases: Map<string, number>
  readonly ended: Map<string, Ended>
  /** How each task has ever ended, also if the store lost it. */
  readonly ever: Map<string, Set<string>>
}

const LOOK_EVERY = 5
/** The limit of one call of the store. */
const MAX_DESCRIBED = 500
const TASK_PATH = /\/automations\/([^/]+)\/tasks\/([^/?]+)(?:\?.*)?$/

class OutcomeCheck implements InvariantCheck {
  readonly #deps: CheckDeps
  readonly #types = new Map<string, TypeState>()
  readonly #isStepped: boolean
  #seconds = 0

  constructor(deps: CheckDeps) {
    this.#deps = deps
    this.#isStepped = deps.plan.faults.some(({ kind }) => kind === 'step_store')
  }

  executed({ group, method, args }: StorageCall, result: unknown, nowMs: number): void {
    if (group !== 'tasks' || this.#deps.plan.taskControl === null) return
    const state = this.#typeOf(args[0] as string)
    if (method === 'submit')
      this.#submitted(state, args[2] as readonly NewTask[], result as readonly SubmitItemResult[], nowMs)
    if (method === 'reserve')
      for (const one of (result as ReserveResult).results)
        for (const lease of one.kind === 'leased' ? one.leases : []) this.#leased(state, lease)
    if (method === 'ack') this.#acked(state, args[1] as readonly DoneTask[], result as readonly unknown[], nowMs)
    if (method === 'cancel')
      for (const [at, id] of (args[1] as readonly string[]).entries())
        this.#cancelled(state, id, (result as readonly CancelResult[])[at], nowMs)
  }

  storeLost(): void {
    for (const { retained, leases, ended } of this.#types.values())
      for (const map of [retained, leases, ended]) map.clear()
  }

  /** A client has read the state of a task. */
  received({ method, path, status, text, sentAtMs }: Exchange): void {
    const [, type, id] = TASK_PATH.exec(path) ?? []
    if (method !== 'GET' || type === undefined || id === undefined) return
    const { ended, ever } = this.#typeOf(type)
    const place = status === 200 ? (JSON.parse(text) as { readonly place: string }).place : ''
    if (['done', 'cancelled'].includes(place) && ever.get(id)?.has(place) !== true)
      this.#deps.fail('I19', `a client read that task ${id} is ${place}, and it never ended so`)
    const outcome = ended.get(id)
    if (outcome === undefined || this.#isStepped) return
    const isKept = outcome.fromMs < sentAtMs && this.#deps.time.monotonicMs() < outcome.untilMs
    if (isKept && (status === 404 || (status === 200 && place !== outcome.kind)))
      this.#deps.fail('I19', `task ${id} is ${outcome.kind}, and a client read ${status} ${text}`)
    if (isKept && status === 200) this.#deps.count('outcome read by a client')
  }

  async second(): Promise<void> {
    this.#seconds += 1
    if (this.#seconds % LOOK_EVERY === 0) await this.#look()
  }

  async finish(): Promise<void> {
    await this.#look()
  }

  /** Compares every outcome with the store. */
  async #look(): Promise<void> {
    const { tasks, meta } = this.#deps.backend()
    for (const [type, { ended }] of this.#types) {
      const ids = [...ended.keys()]
      for (let from = 0; from < ids.length; from += MAX_DESCRIBED) {
        const page = ids.slice(from, from + MAX_DESCRIBED)
        const states = await tasks.describe(type, page)
        const { nowMs } = await meta.info()
        for (const [at, id] of page.entries()) this.#compare(ended, id, states[at] ?? null, nowMs)
      }
    }
  }

  #compare(all: Map<string, Ended>, id: string, state: TaskState | null, nowMs: number): void {
    const ended = all.get(id)
    if (ended === undefined) return
    const isKept = ended.retainedUntilMs > nowMs
    const stored = state !== null && state.kind !== 'stored' && state.kind !== 'dead' ? state : null
    if (!isKept) {
      all.delete(id)
      this.#deps.count('outcome expired')
      if (stored !== null) this.#deps.fail('I19', `the outcome of task ${id} is kept after its time`)
      return
    }
    const result = stored?.result?.kind === 'json' ? stored.result.text : null
    if (
      stored?.kind !== ended.kind ||
      stored.finishedAtMs !== ended.finishedAtMs ||
      stored.retainedUntilMs !== ended.retainedUntilMs ||
      result !== ended.result
    )
      this.#deps.fail('I19', `task ${id} ended as ${JSON.stringify(ended)}, and the store has ${JSON.stringify(state)}`)
  }

  #submitted(
    { retained, ended }: TypeState,
    tasks: readonly NewTask[],
    results: readonly SubmitItemResult[],
    nowMs: number,
  ): void {
    for (const [at, { id, retainMs }] of tasks.entries()) {
      const one = results[at]
      if (one?.kind !== 'queued') continue
      // Nothing is kept of a task that is replaced (D117).
      if (one.replaced !== undefined) retained.delete(one.replaced)
      if ((ended.get(id)?.retainedUntilMs ?? 0) > nowMs)
        this.#deps.fail('I19', `task ${id} was queued again while its outcome is kept`)
      ended.delete(id)
      if (retainMs === undefined) retained.delete(id)
      else retained.set(id, retainMs)
    }
  }

  #leased({ retained, leases }: TypeState, { id, token, isRetained }: Lease): void {
    leases.set(id, token)
    if ((isRetained === true) !== retained.has(id))
      this.#deps.fail('I19', `the lease ${token} of task ${id} says ${isRetained ? 'retained' : 'not retained'}`)
  }

  #acked(state: TypeState, tasks: readonly DoneTask[], results: readonly unknown[], nowMs: number): void {
    for (const [at, { id, token, result }] of tasks.entries()) {
      if (results[at] !== 'ok' || state.leases.get(id) !== token) continue // Also of a repeated ack.
      this.#ended(state, id, { kind: 'done', result: result?.kind === 'json' ? result.text : null }, nowMs)
    }
  }

  #cancelled(state: TypeState, id: string, result: CancelResult | undefined, nowMs: number): void {
    if (result?.kind === 'cancelled') return this.#ended(state, id, { kind: 'cancelled', result: null }, nowMs)
    const known = state.ended.get(id)
    const kept = known !== undefined && known.retainedUntilMs > nowMs ? known.kind : undefined
    const finished = result?.kind === 'finished' ? result.as : undefined
    if (kept !== finished)
      this.#deps.fail('I19', `the cancel of task ${id}, which is ${kept}, returned ${result?.kind}`)
  }

  #ended(state: TypeState, id: string, end: Pick<Ended, 'kind' | 'result'>, nowMs: number): void {
    state.leases.delete(id)
    const ever = state.ever.get(id) ?? new Set()
    state.ever.set(id, ever.add(end.kind))
    const retainMs = state.retained.get(id)
    if (retainMs === undefined) return
    state.retained.delete(id)
    const fromMs = this.#deps.time.monotonicMs()
    const times = { finishedAtMs: nowMs, retainedUntilMs: nowMs + retainMs, fromMs, untilMs: fromMs + retainMs }
    state.ended.set(id, { ...end, ...times })
  }

  #typeOf(type: string): TypeState {
    const known = this.#types.get(type)
    if (known !== undefined) return known
    const state: TypeState = { retained: new Map(), leases: new Map(), ended: new Map(), ever: new Map() }
    this.#types.set(type, state)
    return state
  }
}

export const checkOutcomes: CreateCheck = (deps) => new OutcomeCheck(deps)
