/**
 * Checks that workers lose no outcome of a task silently.
 *
 *   I12  the outcome of a task is acknowledged, or its loss is logged, unless its process was killed  (G11)
 */
import type { Exchange } from '../pool.ts'
import { Calm } from './calm.ts'
import type { Fault } from '../plan.ts'
import type { CheckDeps, CreateCheck, InvariantCheck, LogLine, PluginEvent, ReceivedFrame } from './invariant.ts'

interface Outcome {
  readonly life: number
  readonly endedAtMs: number
}
interface RpcRequest {
  readonly id: number
  readonly method: string
  readonly params: { readonly tasks?: readonly { readonly task_id: string }[] }
}
interface RpcResponse {
  readonly id: number
  readonly result?: { readonly results?: readonly { readonly ok: boolean }[] }
}

const SETTLES = new Set(['tasks.ack', 'tasks.nack', 'tasks.release'])
/** Few bodies contain such a call, and parsing each of them would take time. */
const CONCERNED = /"tasks\.(?:ack|nack|release|extend)"/
/** Without faults an outcome is acknowledged within this time. */
const DELIVERED_WITHIN_MS = 20_000
const LOST_MANY =
  'discarding task outcomes that the master rejects: the tasks return to the queue when their leases expire'
const LOST_ALL =
  'task outcomes could not be delivered before the deadline: the tasks return to the queue when their leases expire'

class SettleCheck implements InvariantCheck {
  readonly #deps: CheckDeps
  readonly #calm: Calm
  /** Outcomes on their way, by worker and task; the oldest of a task first. */
  readonly #waiting = new Map<string, Map<string, readonly Outcome[]>>()
  /**
   * The runs of a task by one life of a worker, and how many of them have a lease that the worker knows to be lost:
   * their outcomes have no effect. A store that went back may let a worker run the same task twice.
   */
  readonly #runs = new Map<string, { running: number; lost: number }>()

  constructor(deps: CheckDeps) {
    this.#deps = deps
    this.#calm = new Calm(deps)
  }

  ran(event: PluginEvent): void {
    if (event.kind !== 'task_started' && event.kind !== 'task_ended') return
    const life = this.#deps.lifeOf(event.worker)
    const runs = this.#runsOf(event.worker, event.id)
    runs.running += event.kind === 'task_started' ? 1 : -1
    if (event.kind === 'task_started' || life === null) return
    if (runs.lost > 0) return void (runs.lost -= 1)
    const outcomes = this.#outcomesOf(event.worker)
    const before = (outcomes.get(event.id) ?? []).filter((each) => each.life === life)
    outcomes.set(event.id, [...before, { life, endedAtMs: this.#deps.time.monotonicMs() }])
  }

  received({ process, path, body, status, text }: Exchange): void {
    if (status !== 200 || !path.endsWith('/rpc') || !CONCERNED.test(body)) return
    const calls = listOf(JSON.parse(body)) as readonly RpcRequest[]
    if (!calls.some(({ method }) => SETTLES.has(method) || method === 'tasks.extend')) return
    const responses = listOf(JSON.parse(text)) as readonly RpcResponse[]
    const results = new Map(responses.map(({ id, result }) => [id, result?.results]))
    for (const { id, method, params } of calls)
      for (const [at, { ok }] of (results.get(id) ?? []).entries()) {
        const task = params.tasks?.[at]?.task_id ?? ''
        if (SETTLES.has(method)) this.#delivered(process.name, task)
        else if (method === 'tasks.extend' && !ok) this.#extendFailed(process.name, task)
      }
  }

  /** A cancel ends the lease, so the worker stops the run and delivers no outcome (D117). */
  framed({ to, text }: ReceivedFrame): void {
    if (!text.includes('"task_cancelled"')) return
    this.#extendFailed(to, (JSON.parse(text) as { readonly task_id: string }).task_id)
    this.#deps.count('worker received a cancel')
  }

  logged({ process, message, fields }: LogLine): void {
    const outcomes = this.#waiting.get(process)
    if (outcomes === undefined) return
    if (message === LOST_MANY) for (const task of fields['tasks'] as readonly string[]) outcomes.delete(task)
    if (message === LOST_ALL) outcomes.clear()
  }

  faultsEnded(): void {
    this.#calm.faultsEnded()
  }

  injected(fault: Fault): void {
    this.#calm.injected(fault)
  }

  second(): void {
    if (this.#calm.forMs < DELIVERED_WITHIN_MS) return
    const beforeMs = this.#deps.time.monotonicMs() - DELIVERED_WITHIN_MS
    for (const [worker, outcomes] of this.#waiting)
      for (const [task, [oldest]] of outcomes) {
        if (oldest === undefined || this.#deps.lifeOf(worker) !== oldest.life) outcomes.delete(task)
        else if (oldest.endedAtMs < beforeMs)
          this.#deps.fail('I12', `${worker} finished task ${task} and neither delivered nor logged its outcome`)
      }
  }

  /** A run that ended during the call has no lease to lose. */
  #extendFailed(worker: string, task: string): void {
    const runs = this.#runsOf(worker, task)
    runs.lost = Math.min(runs.lost + 1, runs.running)
  }

  #runsOf(worker: string, task: string): { running: number; lost: number } {
    const key = `${worker} ${this.#deps.lifeOf(worker)} ${task}`
    const runs = this.#runs.get(key) ?? { running: 0, lost: 0 }
    this.#runs.set(key, runs)
    return runs
  }

  #delivered(worker: string, task: string): void {
    const outcomes = this.#outcomesOf(worker)
    outcomes.set(task, outcomes.get(task)?.slice(1) ?? [])
  }

  #outcomesOf(worker: string): Map<string, readonly Outcome[]> {
    const outcomes = this.#waiting.get(worker) ?? new Map()
    this.#waiting.set(worker, outcomes)
    return outcomes
  }
}

/** A JSON-RPC body: one message, or a batch. */
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [value])

export const checkSettles: CreateCheck = (deps) => new SettleCheck(deps)
