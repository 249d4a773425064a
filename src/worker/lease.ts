/**
 * @module worker/lease
 * One reserved task, as its slot uses it. Only the first outcome counts, and a lost lease aborts the signal.
 */
import { SlotStopped, type AppliedConfig, type TaskLease } from '../automation/index.ts'
import {
  MAX_ERROR_CHARS,
  MAX_RESULT_BYTES,
  MAX_RETRY_IN_MS,
  toMs,
  type JsonObject,
  type ReservedTask,
  type RpcParams,
} from '../protocol/index.ts'
import { truncateError, type RetryPolicy, type TraceHeaders } from '../runtime/index.ts'

/** The outcome of a task, as it is sent to the master. */
export type Settlement =
  | {
      readonly method: 'tasks.ack'
      readonly item: RpcParams<'tasks.ack'>['tasks'][number]
      /** Bytes of the result; none if missing. */
      readonly bytes?: number
      /** The outcome of the task will be retained, so a client may wait for it. */
      readonly isRetained?: boolean
    }
  | { readonly method: 'tasks.release'; readonly item: RpcParams<'tasks.release'>['tasks'][number] }
  | { readonly method: 'tasks.nack'; readonly item: RpcParams<'tasks.nack'>['tasks'][number] }

export interface NackOptions {
  readonly retryInMs?: number
  readonly permanent?: boolean
}

/** Owner of the leases; see leases.ts. */
export interface LeaseHolder {
  settle(lease: HeldLease, outcome: Settlement): void
  /** @throws {LeaseLost} when the lease was lost. */
  extend(lease: HeldLease): Promise<void>
  /** @param text The progress of the run as JSON. */
  report(lease: HeldLease, text: string): void
}

const NO_LABELS = Object.freeze({})

export class HeldLease implements TaskLease {
  readonly id: string
  readonly token: number
  readonly payload: JsonObject
  readonly attempt: number
  readonly labels: Readonly<Record<string, string>>
  readonly groupKey: string | null
  readonly retry: RetryPolicy | undefined
  readonly trace: TraceHeaders | undefined
  readonly lastProgress: unknown
  readonly config: AppliedConfig
  readonly #holder: LeaseHolder
  readonly #isRetained: boolean
  readonly #abort = new AbortController()
  #settled = false
  #lost = false

  constructor(task: ReservedTask, config: AppliedConfig, holder: LeaseHolder) {
    this.id = task.task_id
    this.token = task.token
    this.payload = task.payload as JsonObject
    this.attempt = task.attempt
    this.labels = task.labels === undefined ? NO_LABELS : Object.freeze(task.labels)
    this.groupKey = task.group_key ?? null
    this.retry = policyOf(task)
    this.trace = traceOf(task)
    this.lastProgress = task.progress ?? null
    this.config = config
    this.#holder = holder
    this.#isRetained = task.retain === true
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  get isLost(): boolean {
    return this.#lost
  }

  interrupt(reason: unknown): void {
    this.#abort.abort(reason)
  }

  extend(): Promise<void> {
    return this.#holder.extend(this)
  }

  report(text: string): void {
    if (!this.#settled) this.#holder.report(this, text)
  }

  /** A result is sent only of a retained task: a master that does not retain would refuse the field (D110). */
  ack(result?: unknown): void {
    const item = { task_id: this.id, token: this.token }
    const isRetained = this.#isRetained
    if (!isRetained || result === undefined) return this.#settle({ method: 'tasks.ack', item, isRetained })
    const bytes = Buffer.byteLength(JSON.stringify(result))
    if (bytes <= MAX_RESULT_BYTES) this.#settle({ method: 'tasks.ack', item: { ...item, result }, bytes, isRetained })
    else this.#settle({ method: 'tasks.ack', item: { ...item, result_omitted: 'too_large' }, isRetained })
  }

  nack(error: string, { retryInMs, permanent }: NackOptions = {}): void {
    const item = {
      task_id: this.id,
      token: this.token,
      error: truncateError(error, MAX_ERROR_CHARS),
      ...(retryInMs !== undefined && { retry_in_ms: Math.min(Math.max(Math.round(retryInMs), 0), MAX_RETRY_IN_MS) }),
      ...(permanent !== undefined && { permanent }),
    }
    this.#settle({ method: 'tasks.nack', item })
  }

  release(): void {
    this.#settle({ method: 'tasks.release', item: { task_id: this.id, token: this.token } })
  }

  /** Marks the lease as lost. Outcomes that the slot reports later are ignored. */
  end(): void {
    this.#settled = true
    this.#lost = true
    this.interrupt(new SlotStopped('lease_lost'))
  }

  #settle(outcome: Settlement): void {
    if (this.#settled) return
    this.#settled = true
    this.#holder.settle(this, outcome)
  }
}

function policyOf({ retry }: ReservedTask): RetryPolicy | undefined {
  if (retry === undefined) return undefined
  return { baseMs: toMs(retry.base_seconds), factor: retry.factor, capMs: toMs(retry.cap_seconds) }
}

const traceOf = ({ traceparent, tracestate }: ReservedTask): TraceHeaders | undefined =>
  traceparent === undefined ? undefined : { traceparent, tracestate }
