/**
 * @module automation/testing/lease
 * One reserved task, as its slot uses it. Only the first outcome counts, and a lost lease aborts the signal.
 */
import type { JsonObject } from '../../protocol/index.ts'
import type { Lease } from '../../storage/index.ts'
import { SlotStopped, type AppliedConfig, type TaskLease } from '../index.ts'

/** How a lease ends: with an outcome of the slot, or lost. */
export type Settle =
  | 'lost'
  | { readonly outcome: 'acked' | 'released' }
  | {
      readonly outcome: 'failed'
      readonly error: string
      readonly retryInMs: number | null
      readonly permanent: boolean
    }

interface LeaseHolder {
  readonly extend: () => Promise<void>
  readonly report: (progress: string) => void
  readonly settle: (how: Settle) => void
}

interface StoredBody {
  readonly payload: JsonObject
  readonly labels?: Readonly<Record<string, string>>
  readonly group_key?: string
}

export class LocalLease implements TaskLease {
  readonly id: string
  readonly token: number
  readonly payload: JsonObject
  readonly attempt: number
  readonly labels: Readonly<Record<string, string>>
  readonly groupKey: string | null
  readonly retry = undefined
  readonly trace = undefined
  readonly lastProgress: unknown
  readonly config: AppliedConfig
  readonly slotId: number
  readonly startSeconds: number
  readonly #holder: LeaseHolder
  readonly #abort = new AbortController()
  #over = false
  #lost = false

  constructor(
    { id, token, attempt, body, progress }: Lease,
    config: AppliedConfig,
    slotId: number,
    startSeconds: number,
    holder: LeaseHolder,
  ) {
    this.id = id
    this.token = token
    this.attempt = attempt
    const { payload, labels = {}, group_key: groupKey = null } = JSON.parse(body) as StoredBody
    this.payload = payload
    this.labels = Object.freeze(labels)
    this.groupKey = groupKey
    this.lastProgress = progress === undefined ? null : (JSON.parse(progress) as unknown)
    this.config = config
    this.slotId = slotId
    this.startSeconds = startSeconds
    this.#holder = holder
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  get isLost(): boolean {
    return this.#lost
  }

  /** Whether an outcome was reported or the lease was lost. */
  get isOver(): boolean {
    return this.#over
  }

  interrupt(reason: unknown): void {
    this.#abort.abort(reason)
  }

  extend(): Promise<void> {
    return this.#holder.extend()
  }

  report(text: string): void {
    if (!this.#over) this.#holder.report(text)
  }

  ack(): void {
    this.#settle({ outcome: 'acked' })
  }

  nack(
    error: string,
    { retryInMs = null, permanent = false }: { readonly retryInMs?: number | null; readonly permanent?: boolean } = {},
  ): void {
    this.#settle({ outcome: 'failed', error, retryInMs: retryInMs === null ? null : Math.round(retryInMs), permanent })
  }

  release(): void {
    this.#settle({ outcome: 'released' })
  }

  lose(): void {
    this.#lost = true
    this.interrupt(new SlotStopped('lease_lost'))
    this.#settle('lost')
  }

  #settle(how: Settle): void {
    if (this.#over) return
    this.#over = true
    this.#holder.settle(how)
  }
}
