/**
 * @module master/queue/attempt-limits
 * `Config.max_attempts` of each worker, which bounds the tasks that bring no limit of their own (D26). A config is read
 * once per generation, since a generation never falls and never stands for two configs (D46): what is known here holds
 * until the store says that a worker's generation is another one.
 */
import type { ConfigRow } from '../../storage/index.ts'

const MAX_REMEMBERED = 10_000

/** `gen`: of the config that it stands in. */
interface AttemptLimit {
  readonly gen: number
  readonly maxAttempts: number
}
type ReadConfigs = (workers: readonly string[]) => Promise<readonly (ConfigRow | null)[]>

export class AttemptLimits {
  readonly #fallback: number
  readonly #read: ReadConfigs
  readonly #known = new Map<string, AttemptLimit>()

  constructor(fallback: number, read: ReadConfigs) {
    this.#fallback = fallback
    this.#read = read
  }

  /** By worker; those that are not registered are missing. */
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

  /** What was known of this worker no longer holds. */
  forget(worker: string): void {
    this.#known.delete(worker)
  }

  #learn(worker: string, { gen, config }: ConfigRow): AttemptLimit {
    const { max_attempts: own } = JSON.parse(config) as { max_attempts?: number }
    const limit = { gen, maxAttempts: own ?? this.#fallback }
    this.#known.set(worker, limit)
    const [oldest] = this.#known.size > MAX_REMEMBERED ? this.#known.keys() : []
    if (oldest !== undefined) this.#known.delete(oldest)
    return limit
  }
}
