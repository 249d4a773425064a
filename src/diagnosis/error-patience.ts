/**
 * @module diagnosis/error-patience
 * Decides which workers are listed as being in ERROR. A worker whose state changes all the time is listed once and
 * stays listed, instead of coming and going with each failed run.
 *
 * Each worker has a leaky bucket: it fills by 1 a second in ERROR, and drains by 1/6 a second otherwise. A worker is
 * listed from a full bucket on, which is 10 s in ERROR, until its bucket is empty, which is a minute without ERROR.
 *
 * A worker that runs without ERROR under another config than before is fixed, and its bucket is emptied.
 *
 *   level   0   10 ─────────── 10   5    7    0
 *   listed  no  yes            yes  yes  yes  no
 */
import type { WorkerFacts } from './worker-facts.ts'

/** Seconds in ERROR after which a worker is listed. */
const LISTED_AFTER_SECONDS = 10
/** Seconds without ERROR after which a worker is not listed any more. */
const UNLISTED_AFTER_SECONDS = 60

type ErrorFacts = Pick<
  WorkerFacts,
  'automation_type' | 'worker_id' | 'connected' | 'state' | 'state_since' | 'applied_config_gen'
>

interface Bucket {
  level: number
  atSeconds: number
  /** When the worker entered ERROR for the first time since the bucket was empty. */
  readonly since: number
  isListed: boolean
  /** At `atSeconds`. */
  isInError: boolean
  /** The config under which the worker entered ERROR. */
  readonly gen: number | null
}

export class ErrorPatience {
  readonly #buckets = new Map<string, Bucket>()

  /** Fills and drains the buckets. Call it every few seconds with all workers. */
  update(workers: readonly ErrorFacts[], nowSeconds: number): void {
    const present = new Set<string>()
    for (const worker of workers) {
      const key = keyOf(worker)
      const bucket = this.#buckets.get(key)
      const isInError = worker.connected && worker.state === 'ERROR'
      if (bucket === undefined && !isInError) continue
      present.add(key)
      const updated = bucket ?? newBucket(worker)
      step(updated, worker, isInError, nowSeconds)
      if (updated.level > 0 || isInError) this.#buckets.set(key, updated)
      else this.#buckets.delete(key)
    }
    for (const key of this.#buckets.keys()) if (!present.has(key)) this.#buckets.delete(key)
  }

  /** @returns since when the worker is in ERROR, with interruptions, in unix seconds; null if it is not listed. */
  listedSince(worker: ErrorFacts): number | null {
    const bucket = this.#buckets.get(keyOf(worker))
    return bucket?.isListed === true ? bucket.since : null
  }
}

const keyOf = ({ automation_type: type, worker_id: id }: ErrorFacts): string => `${type}/${id}`

function newBucket({ state_since: since, applied_config_gen: gen }: ErrorFacts): Bucket {
  return { level: 0, atSeconds: since, since, isListed: false, isInError: true, gen }
}

/** Whether the worker was in ERROR between the last update and its last change of state, if that was in between. */
function shareBefore(before: boolean, now: boolean): number {
  if (before === now) return 1 / 2 // It changed at least twice.
  return before ? 1 : 0
}

function step(
  bucket: Bucket,
  { state_since: stateSince, applied_config_gen: gen, connected }: ErrorFacts,
  isInError: boolean,
  nowSeconds: number,
): void {
  const before = Math.max(0, stateSince - bucket.atSeconds)
  fill(bucket, before * shareBefore(bucket.isInError, isInError), before)
  const after = Math.max(0, nowSeconds - Math.max(bucket.atSeconds, stateSince))
  fill(bucket, isInError ? after : 0, after)
  bucket.atSeconds = nowSeconds
  bucket.isInError = isInError
  if (!isInError && connected && bucket.gen !== gen) bucket.level = 0
}

function fill(bucket: Bucket, errorSeconds: number, seconds: number): void {
  const drained = ((seconds - errorSeconds) * LISTED_AFTER_SECONDS) / UNLISTED_AFTER_SECONDS
  bucket.level = Math.max(0, Math.min(LISTED_AFTER_SECONDS, bucket.level + errorSeconds) - drained)
  if (bucket.level >= LISTED_AFTER_SECONDS) bucket.isListed = true
}
