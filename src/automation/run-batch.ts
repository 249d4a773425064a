/**
 * @module automation/run-batch
 * Runs one slot of a batch automation: takes and runs one task at a time until `stopping` aborts.
 *
 *   returned ─▶ ack (result)      threw ─▶ nack (RetryIn: its delay; Permanent: dead; else the automation's backoff)
 *   lease lost ─▶ signal aborts, outcome ignored      killed ─▶ signal aborts, task released, slot ends
 *
 * A plugin that continues after its lease was lost keeps its slot busy, because a second task would exceed the
 * configured concurrency. Only `killed` abandons a run.
 * @see D24, D25, D53, D55
 */
import { retryDelayMs, withLogFields } from '../runtime/index.ts'
import type { RunnableEntry } from './catalog.ts'
import type { BatchContext } from './context.ts'
import { makeBatchContext } from './make-context.ts'
import { Masker } from './mask.ts'
import { failureOf, toError, type Failure } from './outcome.ts'
import { checkedResult } from './result.ts'
import { onAbort, runUntil, type Ending } from './signals.ts'
import {
  slotAttributes,
  slotLogFields,
  type AppliedConfig,
  type EndedRun,
  type SlotControl,
  type SlotDeps,
  type TaskLease,
  type TaskSource,
} from './slot.ts'

/**
 * Runs the slot until it is stopped and its task has ended.
 * @param entry The automation, of kind BatchAutomation.
 * @param control Identifies and stops the slot.
 * @param source Where the slot takes its tasks from.
 * @param deps The environment of the slot.
 * @returns A promise that rejects only when a port throws.
 */
export function runBatchSlot(
  entry: RunnableEntry,
  control: SlotControl,
  source: TaskSource,
  deps: SlotDeps,
): Promise<void> {
  return withLogFields(slotLogFields(entry, control), async () => {
    const slot = new BatchSlot(entry, control, deps)
    while (!control.stopping.aborted && !control.killed.aborted) {
      const lease = await deps.span('slot.reserve', slotAttributes(entry, control), () => source.take(control.stopping))
      if (lease === null) return
      await slot.run(lease)
    }
  })
}

class BatchSlot {
  readonly #entry: RunnableEntry
  readonly #control: SlotControl
  readonly #deps: SlotDeps
  #failing = false
  #masker: Masker
  #maskedConfig: AppliedConfig | undefined
  /** The running task. */
  #lease: TaskLease | undefined

  constructor(entry: RunnableEntry, control: SlotControl, deps: SlotDeps) {
    this.#entry = entry
    this.#control = control
    this.#deps = deps
    this.#masker = new Masker(entry.secrets)
    // One listener for all tasks, since a slot may run millions.
    onAbort(control.killed, () => this.#lease?.interrupt(control.killed.reason))
  }

  run(lease: TaskLease): Promise<void> {
    if (this.#control.killed.aborted) {
      // Reserved while the slot was killed.
      lease.release()
      return Promise.resolve()
    }
    return withLogFields({ task_id: lease.id, attempt: lease.attempt }, () => this.#inSpan(lease))
  }

  async #inSpan(lease: TaskLease): Promise<void> {
    const attributes = {
      ...slotAttributes(this.#entry, this.#control),
      'fleet.task_id': lease.id,
      'fleet.attempt': lease.attempt,
    }
    let recorded: Error | undefined
    try {
      await this.#deps.span(
        'slot.run_one',
        attributes,
        async () => {
          const failure = await this.#runOne(lease)
          if (failure === undefined) return
          recorded = toError(failure)
          throw recorded // Only for the span: the outcome of the task is already reported.
        },
        { link: lease.trace },
      )
    } catch (error) {
      if (error !== recorded) throw error
    }
  }

  /** Runs the plugin and reports the outcome of its task. */
  async #runOne(lease: TaskLease): Promise<Failure | undefined> {
    const masker = this.#maskerOf(lease.config)
    const { context, end } = makeBatchContext(
      { entry: this.#entry, slotId: this.#control.slotId, slot: this.#deps, signal: lease.signal, masker },
      lease,
    )
    this.#lease = lease
    const startedMs = this.#deps.clock.monotonicMs()
    try {
      const ending = await runUntil(() => this.#entry.run(context satisfies BatchContext), this.#control.killed)
      const ms = this.#deps.clock.monotonicMs() - startedMs
      const { isLost } = lease
      const failure = this.#settle(lease, ending, masker)
      if (!isLost) {
        const error = failure === undefined ? {} : { error: failure.text }
        this.#deps.onRunEnded({ config: lease.config, outcome: outcomeOf(ending, failure), ms, ...error })
      }
      return failure
    } finally {
      end()
      this.#lease = undefined
    }
  }

  /** Returns the same masker for all runs with the same config. */
  #maskerOf(config: AppliedConfig): Masker {
    if (config === this.#maskedConfig) return this.#masker
    this.#maskedConfig = config
    this.#masker = new Masker(this.#entry.secrets)
    this.#masker.see(config)
    return this.#masker
  }

  #settle(lease: TaskLease, ending: Ending, masker: Masker): Failure | undefined {
    if (lease.isLost) {
      this.#deps.log.warn('the lease of the task was lost; its outcome is ignored')
      return undefined
    }
    switch (ending.how) {
      case 'abandoned':
        this.#deps.log.warn('the task was interrupted and is released')
        lease.release()
        return undefined
      case 'returned':
        return this.#succeed(lease, ending.value, masker)
      case 'threw':
        return this.#fail(lease, failureOf(ending.thrown, masker))
    }
  }

  /** A result that does not match its schema is a failed attempt, as an output is. */
  #succeed(lease: TaskLease, value: unknown, masker: Masker): Failure | undefined {
    try {
      lease.ack(checkedResult(this.#entry, value))
    } catch (error) {
      return this.#fail(lease, failureOf(error, masker))
    }
    this.#report(null)
    return undefined
  }

  #fail(lease: TaskLease, failure: Failure): Failure {
    lease.nack(failure.text, this.#retryOf(lease, failure))
    this.#deps.log.warn('the task failed', { error: failure.text, attempt: lease.attempt, stack: failure.stack })
    this.#report(failure.text)
    return failure
  }

  /** What `run` asked for; otherwise the delay of the task's own policy. The master applies that of the automation. */
  #retryOf({ retry, attempt }: TaskLease, { settle }: Failure): Failure['settle'] {
    if (retry === undefined || settle.permanent === true || settle.retryInMs !== undefined) return settle
    return { retryInMs: retryDelayMs(retry, attempt, this.#deps.random.unit()) }
  }

  /** Reports a success only after a failure. */
  #report(failure: string | null): void {
    if (failure === null && !this.#failing) return
    this.#failing = failure !== null
    this.#deps.onError(failure)
  }
}

function outcomeOf(ending: Ending, failure: Failure | undefined): EndedRun['outcome'] {
  if (ending.how === 'abandoned') return 'released'
  return failure === undefined ? 'ok' : 'failed'
}
