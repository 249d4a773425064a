/**
 * Checks that an idempotency key stands for one task within its window (G7).
 *
 *   I6  within its window a key stands for one task, in the store and in all responses; a refused submit uses no key
 *
 * A window begins at a moment between request and response. So two responses that both say that a task was queued
 * under one key contradict each other if even the earliest and the latest of these moments are less than a window
 * apart.
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
/** A task that was queued under a key between these virtual times. */
interface Queued {
  readonly id: string
  readonly sentAtMs: number
  readonly receivedAtMs: number
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
  readonly #queued = new Map<string, Queued[]>()
  #lostAtMs = -1

  constructor(deps: CheckDeps) {
    this.#deps = deps
  }

  async executed({ group, method, args }: StorageCall, result: unknown, nowMs: number): Promise<void> {
    if (group !== 'tasks' || method !== 'submit') return
    const [type, ttlMs, tasks] = args as [string, number, readonly NewTask[]]
    for (const [at, task] of tasks.entries()) {
      const one = (result as readonly SubmitItemResult[])[at]
      if (task.key === null || one === undefined) continue
      const isFirst = this.#submitted(`${type}/${task.key}`, task, one, nowMs, ttlMs)
      if (isFirst && one.kind === 'duplicate') await this.#checkStored(type, task)
    }
  }

  storeLost(): void {
    this.#windows.clear()
    this.#answered.clear()
    this.#queued.clear()
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

  /** @returns whether the key now stands for this task. */
  #submitted(key: string, task: NewTask, result: SubmitItemResult, nowMs: number, ttlMs: number): boolean {
    const window = this.#windows.get(key)
    const first = window !== undefined && window.endsAtMs > nowMs ? window.id : undefined
    if (result.kind === 'queue_full') {
      if (first === undefined) this.#deps.count('full queue refused a task with an idempotency key')
      return false
    }
    if (result.kind === 'queued' && first !== undefined)
      this.#deps.fail('I6', `key ${key} stands for task ${first}, and task ${task.id} was queued under it`)
    if (result.kind === 'duplicate' && result.duplicateOf !== (first ?? task.id))
      this.#deps.fail('I6', `key ${key} returned task ${result.duplicateOf}, and stands for ${first ?? 'no task'}`)
    if (first !== undefined) {
      this.#deps.count('idempotency key used again within its window')
      return false
    }
    if (window !== undefined) this.#deps.count('idempotency key used again after its window')
    this.#windows.set(key, { id: task.id, endsAtMs: nowMs + ttlMs })
    return true
  }

  /** Outside of the window of its key, a task is a duplicate only of itself: of one that is still stored. */
  async #checkStored(type: string, { id, key }: NewTask): Promise<void> {
    const [place] = await this.#deps.backend().tasks.locate(type, [id])
    if (place === null) this.#deps.fail('I6', `key ${key} returned task ${id}, which is not stored: it was refused`)
  }

  /** The store's window began after the request was sent. A step of the store's clock may end it early. */
  #answer(key: string, id: string, isQueued: boolean, sentAtMs: number): void {
    const { plan, time } = this.#deps
    if (plan.faults.some(({ kind }) => kind === 'step_store')) return
    const nowMs = time.monotonicMs()
    if (isQueued) this.#checkQueued(key, { id, sentAtMs, receivedAtMs: nowMs })
    const first = this.#answered.get(key)
    if (first === undefined || nowMs >= first.untilMs)
      return void (
        isQueued &&
        this.#answered.set(key, { id, fromMs: nowMs, untilMs: sentAtMs + plan.settings.idempotencyTtlSeconds * 1_000 })
      )
    if (first.id !== id && sentAtMs >= first.fromMs)
      this.#deps.fail('I6', `key ${key} was acknowledged for task ${first.id} and for ${id}`)
  }

  #checkQueued(key: string, queued: Queued): void {
    const windowMs = this.#deps.plan.settings.idempotencyTtlSeconds * 1_000
    const before = (this.#queued.get(key) ?? []).filter(({ receivedAtMs }) => receivedAtMs > queued.sentAtMs - windowMs)
    this.#queued.set(key, [...before, queued])
    for (const { id, sentAtMs, receivedAtMs } of before)
      if (id !== queued.id && Math.max(receivedAtMs - queued.sentAtMs, queued.receivedAtMs - sentAtMs) < windowMs)
        this.#deps.fail('I6', `tasks ${id} and ${queued.id} were both queued under key ${key}`)
  }
}

const tasksOf = (body: string): readonly SubmitBody[] => (JSON.parse(body) as { tasks: readonly SubmitBody[] }).tasks
const resultsOf = (text: string): readonly SubmitResult[] =>
  (JSON.parse(text) as { results: readonly SubmitResult[] }).results

export const checkKeys: CreateCheck = (deps) => new KeyCheck(deps)
