/**
 * @module client/published/submit-queue
 * Sends submits of one automation type in batches. There is no timer: a single submit leaves at the end of its turn of
 * the event loop, and the size of a batch follows the load. Many waiting submits are divided between two batches: the
 * client writes and reads one while the master stores the other. The tasks of one call stay together, in order.
 *
 *   submit ─┐                                    at most 1,000 tasks, 900 KiB
 *   submit ─┼─▶ waiting ──end of the turn, fewer than two batches under way──▶ batch ──▶ one result per submit
 *   submit ─┘      └ abort: taken out               └ the master finds it too large: halved, and sent again
 *
 * A batch is repeated as a whole, so each of its tasks needs an idempotency key to be recognised.
 */
import type { BatchResults } from '../../protocol/index.ts'
import { MAX_TASKS_PER_BATCH } from '../../protocol/plain.ts'
import { endOfTurn, webTime } from '../../runtime/web/index.ts'
import { MasterError } from '../master-error.ts'
import { errorOf, type MasterResponse } from '../response.ts'
import type { TaskText } from './task-text.ts'
import type { TaskRoutes } from '../task-routes.ts'
import { untilAborted } from '../signals.ts'

const MAX_BATCH_BYTES = 900 * 1_024
const MAX_UNDER_WAY = 2
/** Fewer waiting submits are not divided: a second request would cost more than it saves. */
const MIN_DIVIDED = 128
/** The delay before a task is sent again that a live master of an older release does not know. */
const UPGRADING_RETRY_MS = 5_000

type ItemResult = BatchResults['results'][number]
/** The result of a task that the master accepted or knew already. */
export type Accepted = Exclude<ItemResult, { error: unknown }>

/** A submit that has not settled yet. */
interface Waiting {
  readonly task: TaskText
  /** Whether it belongs to the call of the submit before it. */
  readonly isPart: boolean
  /** When it gives up waiting for a batch, by the monotonic clock. */
  readonly untilMs: number
  isAborted: boolean
  readonly resolve: (result: Accepted) => void
  readonly reject: (error: unknown) => void
}

interface Batch {
  readonly submits: readonly Waiting[]
  readonly bytes: number
  /** Aborts the request when the last of its submits was aborted. */
  readonly abandoned: AbortController
}

/** The submits of one automation type. */
export class SubmitQueue {
  readonly #tasks: TaskRoutes
  readonly #type: string
  readonly #timeoutMs: number
  /** In the order of their arrival. */
  #waiting = new Set<Waiting>()
  readonly #underWay = new Map<Waiting, Batch>()
  #batches = 0
  #isScheduled = false
  #maxBytes = MAX_BATCH_BYTES

  /**
   * Creates an empty queue.
   * @param tasks The routes that submit.
   * @param timeoutMs How long a submit waits for a batch. A batch under way has the timeout of a call.
   */
  constructor(tasks: TaskRoutes, type: string, timeoutMs: number) {
    this.#tasks = tasks
    this.#type = type
    this.#timeoutMs = timeoutMs
  }

  /**
   * Sends a task with the next batch.
   * @param task The task, as text.
   * @param options `signal` aborts it. `isPart`: it belongs to the call of the submit before it.
   * @returns the result of the master.
   * @throws {MasterError}, or the reason of the signal.
   */
  submit(task: TaskText, { signal, isPart }: { signal: AbortSignal | undefined; isPart: boolean }): Promise<Accepted> {
    return untilAborted(signal, (resolve, reject) => {
      const untilMs = webTime.monotonicMs() + this.#timeoutMs
      const submit: Waiting = { task, isPart, untilMs, isAborted: false, resolve, reject }
      this.#waiting.add(submit)
      this.#schedule()
      return () => this.#forget(submit)
    })
  }

  #forget(submit: Waiting): void {
    submit.isAborted = true
    this.#waiting.delete(submit)
    const batch = this.#underWay.get(submit)
    this.#underWay.delete(submit)
    if (batch?.submits.every((each) => !this.#underWay.has(each)) === true)
      batch.abandoned.abort(new MasterError('TIMED_OUT', 'every submit of the batch was aborted'))
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    endOfTurn(() => {
      this.#isScheduled = false
      this.#sendWaiting()
    })
  }

  #sendWaiting(): void {
    while (this.#batches < MAX_UNDER_WAY && this.#waiting.size > 0) {
      const batch = this.#take()
      if (batch.submits.length === 0) continue
      this.#batches += 1
      void this.#send(batch).finally(() => {
        this.#batches -= 1
        this.#sendWaiting()
      })
    }
  }

  /** Takes the submits of the next batch out of the waiting ones. Empty if all of them have waited too long. */
  #take(): Batch {
    const submits: Waiting[] = []
    const { size } = this.#waiting
    const share = this.#batches > 0 || size < MIN_DIVIDED ? size : Math.ceil(size / MAX_UNDER_WAY)
    let bytes = 0
    const nowMs = webTime.monotonicMs()
    for (const submit of this.#waiting) {
      const isFull = submits.length === MAX_TASKS_PER_BATCH || bytes + submit.task.bytes > this.#maxBytes
      const isShared = submits.length >= share && !submit.isPart
      if ((isFull || isShared) && submits.length > 0) break
      this.#waiting.delete(submit)
      if (submit.untilMs < nowMs) {
        const sentence = `not sent within ${this.#timeoutMs / 1_000} s, because earlier submits are under way`
        submit.reject(new MasterError('TIMED_OUT', sentence, { isSent: false }))
        continue
      }
      submits.push(submit)
      bytes += submit.task.bytes + 1
    }
    return { submits, bytes, abandoned: new AbortController() }
  }

  async #send(batch: Batch): Promise<void> {
    const { submits, abandoned } = batch
    for (const submit of submits) this.#underWay.set(submit, batch)
    const isRepeatable = submits.every(({ task }) => task.isRepeatable)
    const texts = submits.map(({ task }) => task.text)
    try {
      const repeat = isRepeatable ? 'always' : 'when refused'
      const options = { signal: abandoned.signal }
      this.#settle(submits, await this.#tasks.submitTexts(this.#type, texts, repeat, options))
    } catch (error) {
      if (submits.length > 1 && isTooLarge(error)) this.#halve(batch)
      else for (const { reject } of submits) reject(error)
    } finally {
      for (const submit of submits) this.#underWay.delete(submit)
    }
  }

  /** The master accepts less in one body than this queue assumed. Nothing of the batch was queued. */
  #halve({ submits, bytes }: Batch): void {
    this.#maxBytes = Math.max(1, Math.floor(bytes / 2))
    const left = submits.filter((submit) => this.#underWay.has(submit))
    this.#waiting = new Set([...left, ...this.#waiting])
  }

  #settle(submits: readonly Waiting[], { body, requestId }: MasterResponse<BatchResults>): void {
    for (const [at, submit] of submits.entries()) {
      const result = body.results[at]
      if (result === undefined) submit.reject(new MasterError('FOREIGN', 'the response has fewer results than tasks'))
      else if ('error' in result) this.#failed(submit, errorOf(result.error.status, result.error, { requestId }))
      else submit.resolve(result)
    }
  }

  /** Sends the task again while an upgrade of the masters may end in time. Nothing was queued. */
  #failed(submit: Waiting, error: MasterError): void {
    if (!error.isUpgrading || webTime.monotonicMs() + UPGRADING_RETRY_MS > submit.untilMs) return submit.reject(error)
    webTime.after(UPGRADING_RETRY_MS, () => {
      if (submit.isAborted) return
      this.#waiting.add(submit)
      this.#schedule()
    })
  }
}

/** Whether a part of the batch may be accepted: its body had too many bytes or too many values. */
function isTooLarge(error: unknown): boolean {
  if (!(error instanceof MasterError)) return false
  return error.code === 'TOO_LARGE' || error.faults.some(({ keyword }) => keyword === 'maxValues')
}
