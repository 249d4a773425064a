/**
 * @module dashboard/workers/config-reads
 * Reads the rows of workers whose config changed, because the event has the generation but not the values. Events of a
 * second are one turn. A turn with more than 20 workers, as of an operation, reads none: the next round has them.
 */
import type { FleetEvent } from '../api/feed.ts'

const TURN_MS = 1_000
const MOST_READS = 20

export interface WorkerName {
  readonly type: string
  readonly id: string
}

export interface ConfigReadsDeps {
  readonly read: (workers: readonly WorkerName[]) => void
  /** Calls `act` after `ms`. @returns a function that cancels it. */
  readonly after: (ms: number, act: () => void) => () => void
}

export class ConfigReads {
  readonly #deps: ConfigReadsDeps
  readonly #due = new Map<string, WorkerName>()
  #cancel: (() => void) | undefined

  constructor(deps: ConfigReadsDeps) {
    this.#deps = deps
  }

  onEvents(events: readonly FleetEvent[]): void {
    for (const { name, data } of events) {
      const { type, worker_id: id } = data
      if (name === 'worker.config_changed' && type !== undefined && id !== undefined)
        this.#due.set(`${type}/${id}`, { type, id })
    }
    if (this.#due.size > 0) this.#cancel ??= this.#deps.after(TURN_MS, () => this.#turn())
  }

  end(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#due.clear()
  }

  #turn(): void {
    const workers = [...this.#due.values()]
    this.end()
    if (workers.length <= MOST_READS) this.#deps.read(workers)
  }
}
