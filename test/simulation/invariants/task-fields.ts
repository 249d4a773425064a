/**
 * Checks what a task has beside its payload.
 *
 *   I23  a task is stored with the group, the unique key, the labels, the delay and the retention of its submit; a
 *        worker receives them with the lease, and with the newest progress that an extend of the task stored
 *                                                                                            (D110, D113, D114)
 */
import type { TaskBody } from '../../../src/protocol/index.ts'
import type {
  ExtendItem,
  ExtendLeaseResult,
  Lease,
  NewTask,
  ReserveResult,
  StorageCall,
  SubmitItemResult,
} from '../../../src/storage/index.ts'
import type { Exchange } from '../pool.ts'
import type { CheckDeps, CreateCheck, InvariantCheck } from './invariant.ts'

interface Fields {
  readonly labels?: object | null | undefined
  readonly group_key?: string | null | undefined
  readonly unique_key?: string | null | undefined
  readonly unique_until?: string | null | undefined
  readonly on_conflict?: string | null | undefined
  readonly retain_seconds?: number | null | undefined
}
interface ReservedTask extends Fields {
  readonly token: number
  readonly retain?: true
  readonly progress?: unknown
}
type RpcResponse = { readonly result?: { readonly tasks?: readonly ReservedTask[] } }

const SUBMIT_PATH = /\/automations\/([^/]+)\/tasks(\/batch)?$/
const RPC_PATH = /\/automations\/([^/]+)\/workers\/[^/]+\/rpc$/

class TaskFieldCheck implements InvariantCheck {
  readonly #deps: CheckDeps
  /** What was stored of each id, once for each task that it stood for. */
  readonly #stored = new Map<string, Set<string>>()
  /** What each lease has, by type and token. */
  readonly #leases = new Map<string, string>()
  /** The newest progress of each task, as JSON. */
  readonly #progress = new Map<string, string>()

  constructor(deps: CheckDeps) {
    this.#deps = deps
  }

  executed({ group, method, args }: StorageCall, result: unknown): void {
    if (group !== 'tasks' || this.#deps.plan.taskControl === null) return
    const type = args[0] as string
    if (method === 'submit') this.#submitted(type, args[2] as readonly NewTask[], result as readonly SubmitItemResult[])
    if (method === 'reserve')
      for (const one of (result as ReserveResult).results)
        for (const lease of one.kind === 'leased' ? one.leases : []) this.#leased(type, lease)
    if (method === 'extend')
      this.#extended(type, args[1] as readonly ExtendItem[], result as readonly ExtendLeaseResult[])
  }

  storeLost(): void {
    this.#progress.clear()
  }

  received({ method, path, body, status, text }: Exchange): void {
    if (method !== 'POST' || status !== 200 || this.#deps.plan.taskControl === null) return
    const [isSubmit, submitType = '', batch] = SUBMIT_PATH.exec(path) ?? []
    if (isSubmit !== undefined) this.#acknowledged(submitType, bodiesOf(body, batch), resultsOf(text, batch))
    const [, type] = RPC_PATH.exec(path) ?? []
    if (type === undefined || !text.includes('"token":')) return
    const responses = JSON.parse(text) as RpcResponse | readonly RpcResponse[]
    for (const { result } of Array.isArray(responses)
      ? (responses as readonly RpcResponse[])
      : [responses as RpcResponse])
      for (const task of result?.tasks ?? []) this.#reserved(type, task)
  }

  #submitted(type: string, tasks: readonly NewTask[], results: readonly SubmitItemResult[]): void {
    for (const [at, task] of tasks.entries()) {
      if (results[at]?.kind !== 'queued') continue
      const { unique, group, retainMs, notBeforeMs } = task
      const fields: Fields = {
        labels: (JSON.parse(task.body) as Fields).labels,
        group_key: group,
        unique_key: unique?.key,
        unique_until: unique?.until,
        on_conflict: unique?.onConflict,
        retain_seconds: retainMs === undefined ? undefined : retainMs / 1_000,
      }
      const key = `${type} ${task.id}`
      const stored = this.#stored.get(key) ?? new Set()
      this.#stored.set(key, stored.add(textOf(fields, notBeforeMs !== undefined)))
      this.#progress.delete(key)
    }
  }

  #acknowledged(type: string, tasks: readonly TaskBody[], results: readonly { readonly queued?: boolean }[]): void {
    for (const [at, task] of tasks.entries()) {
      const stored = this.#stored.get(`${type} ${task.task_id}`)
      if (results[at]?.queued !== true || typeof task.task_id !== 'string') continue
      const { unique_key: unique, unique_until: until = 'started', on_conflict: onConflict = 'keep' } = task
      const fields = { ...task, ...(typeof unique === 'string' && { unique_until: until, on_conflict: onConflict }) }
      const sent = textOf(fields, typeof task.delay_seconds === 'number')
      if (stored?.has(sent) !== true)
        this.#deps.fail(
          'I23',
          `task ${task.task_id} was submitted as ${sent} and stored as ${[...(stored ?? [])].join()}`,
        )
    }
  }

  #extended(type: string, items: readonly ExtendItem[], results: readonly ExtendLeaseResult[]): void {
    for (const [at, { id, progress }] of items.entries())
      if (progress !== undefined && results[at]?.kind === 'extended') this.#progress.set(`${type} ${id}`, progress)
  }

  #leased(type: string, { id, token, body, isRetained, progress }: Lease): void {
    const newest = this.#progress.get(`${type} ${id}`)
    if (progress !== newest)
      this.#deps.fail('I23', `task ${id} was leased with the progress ${progress}, not ${newest}`)
    if (progress !== undefined) this.#deps.count('task continued from its progress')
    const fields = JSON.parse(body) as Fields
    this.#leases.set(`${type} ${token}`, leaseText(fields, isRetained === true, progress))
  }

  #reserved(type: string, task: ReservedTask): void {
    const leased = this.#leases.get(`${type} ${task.token}`)
    const progress = task.progress === undefined ? undefined : JSON.stringify(task.progress)
    const received = leaseText(task, task.retain === true, progress)
    if (leased !== undefined && received !== leased)
      this.#deps.fail('I23', `the lease ${task.token} has ${leased}, and its worker received ${received}`)
  }
}

/** The fields of a task as one text. Labels have an order, and other fields have none. */
const textOf = (fields: Fields, isDelayed: boolean): string =>
  JSON.stringify([
    fields.labels ?? {},
    fields.group_key ?? null,
    fields.unique_key ?? null,
    fields.unique_key == null ? null : [fields.unique_until, fields.on_conflict],
    fields.retain_seconds ?? 0,
    isDelayed,
  ])
const leaseText = ({ labels, group_key: group }: Fields, isRetained: boolean, progress?: string): string =>
  JSON.stringify([labels ?? {}, group ?? null, isRetained, progress])

const bodiesOf = (body: string, batch: string | undefined): readonly TaskBody[] =>
  batch === undefined ? [JSON.parse(body) as TaskBody] : (JSON.parse(body) as { tasks: TaskBody[] }).tasks
const resultsOf = (text: string, batch: string | undefined): readonly { readonly queued?: boolean }[] =>
  batch === undefined
    ? [JSON.parse(text) as { queued?: boolean }]
    : (JSON.parse(text) as { results: { queued?: boolean }[] }).results

export const checkTaskFields: CreateCheck = (deps) => new TaskFieldCheck(deps)
