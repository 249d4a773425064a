/**
 * @module worker/outcome-queue
 * Delivers outcomes of tasks (ack, nack and release) to the master. Outcomes of the same tick, or that arrive during a
 * call, are sent together. One call is in flight at a time. An ack alone waits up to 10 ms for others, so that at 500
 * tasks/s five share one request. Outcomes that a client may wait for do not: a nack, a release, an ack of a task whose
 * outcome is retained, and all that is left when the worker stops.
 *
 * An outcome is sent until the master responds (G11). Repeating an ack is harmless (D24). A nack or release whose first
 * response was lost receives `lease_lost` the second time. Outcomes are never dropped to save memory; their number is
 * bounded, because a worker without a master gets no new tasks. An outcome that the master rejects permanently is
 * logged and discarded, so its lease expires and the task returns.
 */
import { MAX_BODY_BYTES, MAX_SETTLE_ITEMS, type RpcError } from '../protocol/index.ts'
import { Backoff, sleep, type Log, type Random, type Timers } from '../runtime/index.ts'
import type { Settlement } from './lease.ts'
import type { MasterFeatures } from './master-features.ts'
import { asRpcError, requestedDelayMs, type RpcOptions, type BatchedCall, type BatchedResult } from './rpc-client.ts'

const RETRY_BASE_MS = 200
const RETRY_CAP_MS = 5_000
/** Half of the maximum body: error texts are counted in characters, and JSON may escape them. */
const MAX_CHUNK_BYTES = MAX_BODY_BYTES / 2
/** Bytes for method, id, token and punctuation of one item. */
const ITEM_BYTES = 128
/** How long an ack waits for others. It delays neither its slot nor the next task. */
const MAX_ACK_WAIT_MS = 10
const METHODS = ['tasks.ack', 'tasks.nack', 'tasks.release'] as const

/** `outcome`: only of a nack. */
interface SettleResult {
  readonly ok: boolean
  readonly outcome?: string
}

interface BatchRpc {
  batch(calls: readonly BatchedCall[], options?: RpcOptions): Promise<readonly BatchedResult[]>
}

export interface OutcomeQueueDeps {
  readonly timers: Timers
  readonly random: Random
  readonly log: Log
  readonly rpc: BatchRpc
  readonly features: Pick<MasterFeatures, 'drop' | 'isDropped'>
  /** Called when the master has moved a task to the dead-letter queue because of a nack. */
  readonly onDied?: () => void
  /** Called when the master has no record of this worker. */
  readonly registerAgain: (why: string) => void
}

export class OutcomeQueue {
  readonly #deps: OutcomeQueueDeps
  readonly #backoff: Backoff
  #queue: Settlement[] = []
  #running = false
  /** Starts the first call now, while it waits for more outcomes. */
  #startNow: () => void = () => {}
  #maxItems = MAX_SETTLE_ITEMS
  #idleWaiters: (() => void)[] = []
  readonly #stop = new AbortController()

  constructor(deps: OutcomeQueueDeps) {
    this.#deps = deps
    this.#backoff = new Backoff({ baseMs: RETRY_BASE_MS, capMs: RETRY_CAP_MS, floor: 0.5, random: deps.random })
  }

  add(outcome: Settlement): void {
    this.#queue.push(outcome)
    if (!this.#running) this.#start(mayWait(outcome) ? MAX_ACK_WAIT_MS : 0)
    else if (!mayWait(outcome)) this.#startNow()
  }

  /** Resolves when every outcome queued so far is delivered or discarded. */
  async idle(): Promise<void> {
    this.#startNow()
    while (this.#running) await new Promise<void>((resolve) => void this.#idleWaiters.push(resolve))
  }

  /** Discards undelivered outcomes, because the process ends. */
  stop(): void {
    this.#stop.abort()
  }

  #start(inMs: number): void {
    const { timers } = this.#deps
    const run = (): void => {
      this.#startNow = () => {}
      void this.#run()
    }
    this.#running = true
    const cancel = timers.after(inMs, run)
    this.#startNow = () => {
      cancel()
      this.#startNow = () => {}
      timers.after(0, run)
    }
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop
    while (this.#queue.length > 0 && !signal.aborted) {
      const waitMs = await this.#send(this.#chunk())
      if (waitMs > 0) await sleep(this.#deps.timers, waitMs, signal)
    }
    this.#running = false
    for (const wake of this.#idleWaiters.splice(0)) wake()
  }

  #chunk(): readonly Settlement[] {
    let bytes = 0
    let count = 0
    for (const outcome of this.#queue) {
      bytes += ITEM_BYTES + Buffer.byteLength(outcome.item.task_id) + contentBytes(outcome)
      if (count > 0 && (count >= this.#maxItems || bytes > MAX_CHUNK_BYTES)) break
      count += 1
    }
    const chunk = this.#queue.splice(0, count)
    return this.#deps.features.isDropped('result') ? chunk.map(withoutResult) : chunk
  }

  /**
   * Sends one chunk, and puts failed items back at the front. @returns how long to wait before the next chunk, in
   * milliseconds.
   */
  async #send(chunk: readonly Settlement[]): Promise<number> {
    const groups = METHODS.map((method) => chunk.filter((each) => each.method === method)).filter(
      (group) => group.length > 0,
    )
    const calls = groups.map(
      (group) => ({ method: group[0]?.method, params: { tasks: group.map(({ item }) => item) } }) as BatchedCall,
    )
    try {
      const outcomes = await this.#deps.rpc.batch(calls)
      return outcomes
        .map((outcome, index) => this.#applyResult(groups[index] ?? [], outcome))
        .reduce((longest, ms) => Math.max(longest, ms), 0)
    } catch (error) {
      return this.#retry(chunk, asRpcError(error))
    }
  }

  #applyResult(group: readonly Settlement[], outcome: BatchedResult): number {
    if (!outcome.ok) return this.#refused(group, outcome.error)
    this.#backoff.reset()
    const results = (outcome.result as { results?: readonly SettleResult[] }).results ?? []
    for (const [index, { method, item }] of group.entries()) {
      const result = results[index]
      if (result?.outcome === 'dead') this.#deps.onDied?.()
      if (result?.ok === true) continue
      this.#deps.log.warn(
        'the master rejected a task outcome: its lease had expired, so another worker may have the task',
        {
          method,
          task_id: item.task_id,
        },
      )
    }
    return 0
  }

  #refused(group: readonly Settlement[], error: RpcError): number {
    if (error.code === 'unknown_worker') this.#deps.registerAgain('the master has no record of this worker')
    if (error.code === 'unavailable' || error.code === 'unknown_worker') return this.#retry(group, error)
    if (error.code === 'invalid_params' && group.some(hasResult)) {
      this.#deps.log.warn('the master rejects results of tasks; sending the outcomes again without them', {
        error: error.message,
      })
      this.#deps.features.drop('result')
      this.#queue = [...group.map(withoutResult), ...this.#queue]
      return 0
    }
    this.#deps.log.error(
      'discarding task outcomes that the master rejects: the tasks return to the queue when their leases expire',
      {
        error: error.message,
        tasks: group.map(({ item }) => item.task_id),
      },
    )
    return 0
  }

  #retry(group: readonly Settlement[], error: RpcError): number {
    // The master has a smaller body limit.
    if (error.data['status'] === 413) this.#maxItems = Math.max(1, Math.min(this.#maxItems, group.length) >> 1)
    this.#queue = [...group, ...this.#queue]
    const waitMs = Math.max(this.#backoff.nextMs(), requestedDelayMs(error, this.#deps.random))
    this.#deps.log.warn('failed to deliver task outcomes, retrying', {
      error: error.message,
      waiting: this.#queue.length,
      retry_in_ms: Math.round(waitMs),
    })
    return waitMs
  }
}

/** Whether an outcome may wait for others: an ack of a task whose outcome is not retained. */
const mayWait = (outcome: Settlement): boolean => outcome.method === 'tasks.ack' && outcome.isRetained !== true

/** Bytes of the texts in an outcome. JSON may escape an error. */
function contentBytes(outcome: Settlement): number {
  if (outcome.method === 'tasks.nack') return 2 * Buffer.byteLength(outcome.item.error)
  return outcome.method === 'tasks.ack' ? (outcome.bytes ?? 0) : 0
}

function hasResult({ method, item }: Settlement): boolean {
  return method === 'tasks.ack' && ('result' in item || 'result_omitted' in item)
}

/** The task may have been leased from another master than this one, which is older and keeps no outcomes (D110). */
function withoutResult(outcome: Settlement): Settlement {
  if (outcome.method !== 'tasks.ack') return outcome
  const { task_id, token } = outcome.item
  return { method: 'tasks.ack', item: { task_id, token } }
}
