/**
 * @module master/queue/attempt-limits
 * `Config.max_attempts` of each worker, which bounds the tasks that bring no limit of their own (D26). A config is read
 * once per generation, since a generation never falls and never stands for two configs (D46).
 */
import type { WorkerRow } from '../../storage/index.ts'

const MAX_REMEMBERED = 10_000

export class AttemptLimits {
  readonly #fallback: number
  readonly #byWorker = new Map<string, { readonly gen: number; readonly limit: number }>()

  constructor(fallback: number) {
    this.#fallback = fallback
  }

  of({ id, config: { gen, config } }: WorkerRow): number {
    const known = this.#byWorker.get(id)
    if (known?.gen === gen) return known.limit
    const { max_attempts: own } = JSON.parse(config) as { max_attempts?: number }
    const limit = own ?? this.#fallback
    this.#byWorker.delete(id)
    this.#byWorker.set(id, { gen, limit })
    const [oldest] = this.#byWorker.size > MAX_REMEMBERED ? this.#byWorker.keys() : []
    if (oldest !== undefined) this.#byWorker.delete(oldest)
    return limit
  }
}
