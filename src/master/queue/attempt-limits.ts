/**
 * @module master/queue/attempt-limits
 * Caches `Config.max_attempts` of each worker, the limit of tasks that have none of their own (D26). A config is read
 * once per generation. A generation never decreases and never names two configs (D46), so a cached value is valid until
 * the store reports another generation for the worker.
 */
import { BoundedMap } from '../../runtime/index.ts'
import type { ConfigRow } from '../../storage/index.ts'

const MAX_REMEMBERED = 10_000

/** `gen` is the generation of the config that contains the limit. */
interface AttemptLimit {
  readonly gen: number
  readonly maxAttempts: number
}
type ReadConfigs = (workers: readonly string[]) => Promise<readonly (ConfigRow | null)[]>

export class AttemptLimits {
  readonly #fallback: number
  readonly #read: ReadConfigs
  readonly #known = new BoundedMap<string, AttemptLimit>(MAX_REMEMBERED)

  constructor(fallback: number, read: ReadConfigs) {
    this.#fallback = fallback
    this.#read = read
  }

  /** The limits by worker. Unregistered workers are missing. */
  async of(workers: ReadonlySet<string>): Promise<ReadonlyMap<string, AttemptLimit>> {
    const limits = new Map<string, AttemptLimit>()
    const unread: string[] = []
    for (const worker of workers) {
      const known = this.#known.get(worker)
      if (known === undefined) unread.push(worker)
      else limits.set(worker, known)
    }
    const rows = unread.length === 0 ? [] : await this.#read(unread)
    for (const [at, worker] of unread.entries()) {
      const row = rows[at] ?? null
      if (row !== null) limits.set(worker, this.#learn(worker, row))
    }
    return limits
  }

  /** Whether the limit of this worker is cached. */
  knows(worker: string): boolean {
    return this.#known.get(worker) !== undefined
  }

  /** Removes the cached value of this worker. */
  forget(worker: string): void {
    this.#known.delete(worker)
  }

  #learn(worker: string, { gen, config }: ConfigRow): AttemptLimit {
    const { max_attempts: own } = JSON.parse(config) as { max_attempts?: number }
    const limit = { gen, maxAttempts: own ?? this.#fallback }
    this.#known.set(worker, limit)
    return limit
  }
}
