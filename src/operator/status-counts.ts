/**
 * @module operator/status-counts
 * Counts the conditions and the drifts in the statuses of FleetWorkers as they change, so that a scrape of the metrics
 * takes the same time with ten FleetWorkers as with ten thousand.
 */
import type { FleetWorkerObject } from './fleetworker/index.ts'

type Status = FleetWorkerObject['status']

export class StatusCounts {
  /** The counted status by the uid of the object. */
  readonly #counted = new Map<string, Status>()
  readonly #conditions = new Map<string, Map<string, number>>()
  /** When each drift was detected, unix milliseconds, by the uid of the object. */
  readonly #driftsMs = new Map<string, number>()

  /** The number of objects by type of condition and its status. */
  get conditions(): ReadonlyMap<string, ReadonlyMap<string, number>> {
    return this.#conditions
  }

  /** When the oldest drift was detected, unix milliseconds; undefined if there is none. */
  get oldestDriftMs(): number | undefined {
    let oldestMs: number | undefined
    for (const ms of this.#driftsMs.values()) oldestMs = Math.min(ms, oldestMs ?? ms)
    return oldestMs
  }

  set(uid: string, status: Status): void {
    this.delete(uid)
    this.#counted.set(uid, status)
    this.#count(status, 1)
    const detected = status?.drift?.detectedTime
    if (detected !== undefined) this.#driftsMs.set(uid, Date.parse(detected))
  }

  delete(uid: string): void {
    this.#count(this.#counted.get(uid), -1)
    this.#counted.delete(uid)
    this.#driftsMs.delete(uid)
  }

  #count(status: Status, by: 1 | -1): void {
    for (const { type, status: value } of status?.conditions ?? []) {
      const known = this.#conditions.get(type) ?? new Map<string, number>()
      this.#conditions.set(type, known.set(value, (known.get(value) ?? 0) + by))
    }
  }
}
