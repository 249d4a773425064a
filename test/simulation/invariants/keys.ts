/**
 * Checks that an idempotency key stands for one task within its window (G7).
 *
 *   I6  within its window a key stands for one task, in the store and in all responses; a refused submit uses no key
 */
import type { NewTask, StorageCall, SubmitItemResult } from '../../../src/storage/index.ts'
import type { Exchange } from '../pool.ts'
import type { CheckDeps, CreateCheck, InvariantCheck } from './invariant.ts'

interface Window {
  readonly id: string
  readonly endsAtMs: number
}
interface Answered {
  readonly id: string
  /** From the response until at least this virtual time, the key stands for the task. */
  readonly fromMs: number
  readonly untilMs: number
}
interface SubmitBody {
  readonly idempotency_key?: string
}
interface SubmitResult {
  readonly task_id?: string
  readonly queued?: boolean
}

const SUBMIT_PATH = /\/automations\/([^/]+)\/tasks(\/batch)?$/

class KeyCheck implements InvariantCheck {
  readonly #deps: CheckDeps
  readonly #windows = new Map<string, Window>()
  readonly #answered = new Map<string, Answered>()
  #lostAtMs = -1

  constructor(deps: CheckDeps) {
    this.#deps = deps
  }

  executed({ group, method, args }: StorageCall, result: unknown, nowMs: number): void {
    if (group !== 'tasks' || method !== 'submit') return
    const [type, ttlMs, tasks] = args as [string, number, readonly NewTask[]]
    for (const [at, task] of tasks.entries()) {
      const one = (result as readonly SubmitItemResult[])[at]
      if (task.key !== null && one !== undefined) this.#submitted(`${type}/${task.key}`, task, one, nowMs, ttlMs)
    }
  }

  storeLost(): void {
    this.#windows.clear()
    this.#answered.clear()
    this.#lostAtMs = this.#deps.time.monotonicMs()
  }

  received({ method, path, body, status, text, sentAtMs }: Exchange): void {
    const [matches, type = '', batch] = SUBMIT_PATH.exec(path) ?? []
    if (matches === undefined || method !== 'POST' || status !== 200 || sentAtMs <= this.#lostAtMs) return
    const tasks = batch === undefined ? [JSON.parse(body) as SubmitBody] : tasksOf(body)
    const results = batch === undefined ? [JSON.parse(text) as SubmitResult] : resultsOf(text)
    for (const [at, { idempotency_key: key }] of tasks.entries()) {
      const { task_id: id, queued = false } = results[at] ?? {}
      if (key !== undefined && id !== undefined) this.#answer(`${type}/${key}`, id, queued, sentAtMs)
    }
  }

  #submitted(key: string, task: NewTask, result: SubmitItemResult, nowMs: number, ttlMs: number): void {
    const window = this.#windows.get(key)
    const first = window !== undefined && window.endsAtMs > nowMs ? window.id : undefined
    if (result.kind === 'queue_full') return
    if (result.kind === 'queued' && first !== undefined)
      this.#deps.fail('I6', `key ${key} stands for task ${first}, and task ${task.id} was queued under it`)
    if (result.kind === 'duplicate' && result.duplicateOf !== (first ?? task.id))
      this.#deps.fail('I6', `key ${key} returned task ${result.duplicateOf}, and stands for ${first ?? 'no task'}`)
    if (first !== undefined) return this.#deps.count('idempotency key used again within its window')
    if (window !== undefined) this.#deps.count('idempotency key used again after its window')
    this.#windows.set(key, { id: task.id, endsAtMs: nowMs + ttlMs })
  }

  /** The store's window began after the request was sent. A step of the store's clock may end it early. */
  #answer(key: string, id: string, isQueued: boolean, sentAtMs: number): void {
    const { plan, time } = this.#deps
    if (plan.faults.some(({ kind }) => kind === 'step_store')) return
    const nowMs = time.monotonicMs()
    const first = this.#answered.get(key)
    if (first === undefined || nowMs >= first.untilMs)
      return void (
        isQueued &&
        this.#answered.set(key, { id, fromMs: nowMs, untilMs: sentAtMs + plan.settings.idempotencyTtlSeconds * 1_000 })
      )
    if (first.id !== id && sentAtMs >= first.fromMs)
      this.#deps.fail('I6', `key ${key} was acknowledged for task ${first.id} and for ${id}`)
  }
}

const tasksOf = (body: string): readonly SubmitBody[] => (JSON.parse(body) as { tasks: readonly SubmitBody[] }).tasks
const resultsOf = (text: string): readonly SubmitResult[] =>
  (JSON.parse(text) as { results: readonly SubmitResult[] }).results

export const checkKeys: CreateCheck = (deps) => new KeyCheck(deps)
