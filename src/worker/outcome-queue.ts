/**
 * @module worker/settles
 * Outcomes on their way to the master: ack, nack and release. What is handed over within a tick, or while a call is out,
 * travels together; one call is out at a time.
 *
 * A settle is sent again until it is answered (G11): repeating an ack is harmless (D24), and a nack or release whose
 * first answer was lost is told `lease_lost` the second time. Nothing here is ever evicted; it is bounded all the same,
 * since a worker without a master gets no new tasks. A settle that can never be accepted is logged and given up: its
 * lease runs out and the task comes back.
 */
import { MAX_BODY_BYTES, MAX_SETTLE_ITEMS, type RpcError } from '../protocol/index.ts'
import { Backoff, sleep, type Log, type Random, type Timers } from '../runtime/index.ts'
import type { Outcome } from './lease.ts'
import { asRpcError, requestedDelayMs, type CallOptions, type RpcCall, type RpcOutcome } from './rpc-client.ts'

const RETRY_BASE_MS = 200
const RETRY_CAP_MS = 5_000
/** Half of what a body may hold: error texts are counted in characters, and JSON may escape them. */
const MAX_CHUNK_BYTES = MAX_BODY_BYTES / 2
/** Method, id, token and punctuation of one item. */
const ITEM_BYTES = 128
const METHODS = ['tasks.ack', 'tasks.nack', 'tasks.release'] as const

interface BatchRpc {
  batch(calls: readonly RpcCall[], options?: CallOptions): Promise<readonly RpcOutcome[]>
}

export interface OutcomeQueueDeps {
  readonly timers: Timers
  readonly random: Random
  readonly log: Log
  readonly rpc: BatchRpc
  /** The master does not know this worker. */
  readonly registerAgain: (why: string) => void
}

export class OutcomeQueue {
  readonly #deps: OutcomeQueueDeps
  readonly #backoff: Backoff
  #queue: Outcome[] = []
  #running = false
  #maxItems = MAX_SETTLE_ITEMS
  #idleWaiters: (() => void)[] = []
  readonly #stop = new AbortController()

  constructor(deps: OutcomeQueueDeps) {
    this.#deps = deps
    this.#backoff = new Backoff({ baseMs: RETRY_BASE_MS, capMs: RETRY_CAP_MS, floor: 0.5, random: deps.random })
  }

  add(outcome: Outcome): void {
    this.#queue.push(outcome)
    if (this.#running) return
    this.#running = true
    this.#deps.timers.after(0, () => void this.#run())
  }

  /** Resolves when everything handed over so far is answered or given up. */
  async idle(): Promise<void> {
    while (this.#running) await new Promise<void>((resolve) => void this.#idleWaiters.push(resolve))
  }

  /** Gives up what is not answered yet: the process ends. */
  stop(): void {
    this.#stop.abort()
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

  #chunk(): readonly Outcome[] {
    let bytes = 0
    let count = 0
    for (const { method, item } of this.#queue) {
      bytes +=
        ITEM_BYTES + Buffer.byteLength(item.task_id) + (method === 'tasks.nack' ? 2 * Buffer.byteLength(item.error) : 0)
      if (count > 0 && (count >= this.#maxItems || bytes > MAX_CHUNK_BYTES)) break
      count += 1
    }
    return this.#queue.splice(0, count)
  }

  /** Sends one chunk; what must be sent again is put back in front. Returns how long to wait before going on. */
  async #send(chunk: readonly Outcome[]): Promise<number> {
    const groups = METHODS.map((method) => chunk.filter((each) => each.method === method)).filter(
      (group) => group.length > 0,
    )
    const calls = groups.map(
      (group) => ({ method: group[0]?.method, params: { tasks: group.map(({ item }) => item) } }) as RpcCall,
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

  #applyResult(group: readonly Outcome[], outcome: RpcOutcome): number {
    if (!outcome.ok) return this.#refused(group, outcome.error)
    this.#backoff.reset()
    const results = (outcome.result as { results?: readonly { readonly ok: boolean }[] }).results ?? []
    for (const [index, { method, item }] of group.entries()) {
      if (results[index]?.ok === true) continue
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

  #refused(group: readonly Outcome[], error: RpcError): number {
    if (error.code === 'unknown_worker') this.#deps.registerAgain('the master has no record of this worker')
    if (error.code === 'unavailable' || error.code === 'unknown_worker') return this.#retry(group, error)
    this.#deps.log.error(
      'discarding task outcomes that the master rejects: the tasks return to the queue when their leases expire',
      {
        error: error.message,
        tasks: group.map(({ item }) => item.task_id),
      },
    )
    return 0
  }

  #retry(group: readonly Outcome[], error: RpcError): number {
    if (error.data['status'] === 413) this.#maxItems = Math.max(1, this.#maxItems >> 1) // A master with a smaller body limit.
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
